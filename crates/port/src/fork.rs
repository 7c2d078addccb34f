//! Noticing that this process is the child of a `fork`: what it inherited is its parent's.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Once;

use bcl_shm::sync::{AtomicI32, AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Listening sockets that a child must not keep: while anybody holds one, the name looks alive after its owner
/// has died. More ports than there are places work all the same; only their names may outlive a forked owner.
static LISTENERS: [AtomicI32; 64] = [const { AtomicI32::new(NONE) }; 64];
const NONE: i32 = -1;

/// A number that differs between a process and the children it forks.
#[inline]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Begins to count; call before the first port opens.
pub fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler changes atomics and closes descriptors, which is allowed in a forked child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Has children close this descriptor. To be taken back before it is closed here.
pub fn close_in_children(listener: BorrowedFd<'_>) {
    replace(NONE, listener.as_raw_fd());
}

/// Takes a descriptor back.
pub fn forget(listener: BorrowedFd<'_>) {
    replace(listener.as_raw_fd(), NONE);
}

fn replace(old: i32, new: i32) {
    let swap = |place: &AtomicI32| {
        place
            .compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    };
    LISTENERS.iter().any(swap);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    for place in &LISTENERS {
        let fd = place.swap(NONE, Ordering::Relaxed);
        if fd != NONE {
            // SAFETY: the descriptor is the child's copy of its parent's listener. Its owner is the service thread,
            // which does not exist here, so nobody uses or closes it again.
            unsafe { libc::close(fd) };
        }
    }
}
