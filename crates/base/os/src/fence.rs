//! An asymmetric fence: the side that sleeps pays for the side that sends.
//!
//! A receiver that goes to sleep and a sender that publishes run Dekker's protocol: each writes its own
//! word and then reads the other's, and at least one of them has to see the other's write. That needs
//! a full fence between the two steps on both sides. Senders are many and fast, sleepers are slow
//! already, so the sleeper buys the senders' fence with `membarrier(2)`, which makes every CPU that runs
//! a registered process pass a fence. Where the kernel or a container forbids the call, senders fence.

use crate::sync::{Ordering, fence};

/// Registers this process so that other processes' [`heavy`] covers its senders.
///
/// Returns whether it worked. Call once a process before sending; repeating is harmless.
pub fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// The sleeper's half: returns true when registered senders need no fence of their own.
#[inline(never)]
pub fn heavy() -> bool {
    fence(Ordering::SeqCst);
    membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}

/// The sender's half, between publishing and looking whether the receiver sleeps.
#[inline(always)]
pub fn light(needs_fence: bool) {
    if needs_fence || cfg!(loom) {
        fence(Ordering::SeqCst);
    } else {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }
}

fn membarrier(command: libc::c_int) -> bool {
    if cfg!(any(loom, miri)) {
        return false;
    }
    // SAFETY: membarrier takes three integers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
