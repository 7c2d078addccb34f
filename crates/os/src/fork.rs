//! Keeping forks off for a moment, and what happens in the child.
//!
//! A descriptor is made by the kernel before anybody can write down that it is ours; a fork in between would leave it with
//! the child for as long as that lives, and with it a port number, a name or a lock. So a `fork` waits until no thread is
//! at such a place, and threads that come to one wait until the fork is over. (`_Fork` and `clone` wait for nobody.)

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::Timespec;

use crate::{fd, process};

/// Threads that keep forks off.
static HOLDERS: AtomicU32 = AtomicU32::new(0);
/// Forks that wait or are under way.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// A fork waits no longer: who holds it off for so long is stopped.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks, once yielding has not helped.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000,
};

thread_local! {
    /// How deep this thread is in [`held_off`].
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs `act` while no `fork` of this process happens. For what takes microseconds and waits for no other thread.
pub fn held_off<R>(act: impl FnOnce() -> R) -> R {
    struct Hold;
    impl Drop for Hold {
        fn drop(&mut self) {
            if DEPTH.get() == 1 {
                HOLDERS.fetch_sub(1, Ordering::SeqCst);
            }
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    // In a child without the handlers of `fork`, the counters are its parent's until then.
    process::generation();
    DEPTH.set(DEPTH.get() + 1);
    if DEPTH.get() == 1 {
        enter();
    }
    let hold = Hold;
    let result = act();
    drop(hold);
    if DEPTH.get() == 0 {
        fd::hook::reached();
    }
    result
}

fn enter() {
    loop {
        HOLDERS.fetch_add(1, Ordering::SeqCst);
        if FORKS.load(Ordering::SeqCst) == 0 {
            return;
        }
        HOLDERS.fetch_sub(1, Ordering::SeqCst);
        wait_until(|| FORKS.load(Ordering::SeqCst) == 0);
    }
}

/// Yields at first, and gives up after [`PATIENCE`].
fn wait_until(is_so: impl Fn() -> bool) {
    let mut looks = 0u32;
    let mut deadline = None;
    while !is_so() {
        looks += 1;
        if looks < 64 {
            thread::yield_now();
            continue;
        }
        if Instant::now() > *deadline.get_or_insert_with(|| Instant::now() + PATIENCE) {
            return;
        }
        // Past the C library, where a thread that is to be canceled would end.
        let _ = rustix::thread::nanosleep(&PAUSE);
    }
}

/// Has forks of this process noticed, from now on; called once.
pub(crate) fn watch() {
    // SAFETY: the handlers change atomics and close descriptors, which is allowed around a fork.
    let _ = unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
}

/// Who forks may itself be holding forks off, in a handler of a signal.
fn held_by_this_thread() -> u32 {
    u32::from(DEPTH.get() > 0)
}

extern "C" fn before() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = held_by_this_thread();
    wait_until(|| HOLDERS.load(Ordering::SeqCst) <= own);
}

extern "C" fn after() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    begin_anew();
    process::begin_in_child();
    fd::close_inherited();
}

/// Of the parent's threads only one is here.
pub(crate) fn begin_anew() {
    FORKS.store(0, Ordering::SeqCst);
    HOLDERS.store(held_by_this_thread(), Ordering::SeqCst);
}
