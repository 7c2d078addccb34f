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

/// Who is where. It lies in the page that is empty in every child, which has neither the threads nor the forks of its
/// parent.
pub(crate) struct Gate {
    /// Threads that keep forks off.
    holders: AtomicU32,
    /// Forks that wait or are under way.
    forks: AtomicU32,
}

impl Gate {
    pub(crate) const fn new() -> Self {
        Self {
            holders: AtomicU32::new(0),
            forks: AtomicU32::new(0),
        }
    }

    /// As in a process that has just begun.
    pub(crate) fn clear(&self) {
        self.holders.store(0, Ordering::SeqCst);
        self.forks.store(0, Ordering::SeqCst);
    }

    fn enter(&self) {
        loop {
            self.holders.fetch_add(1, Ordering::SeqCst);
            if self.forks.load(Ordering::SeqCst) == 0 {
                return;
            }
            self.holders.fetch_sub(1, Ordering::SeqCst);
            wait_until(|| self.forks.load(Ordering::SeqCst) == 0);
        }
    }
}

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

/// How long somebody's child may take to run for the first time on a busy machine.
const CHILDHOOD: Duration = Duration::from_millis(200);

/// Takes what only one can have, and waits for a moment if somebody has it: when its owner has given it back, or has been
/// killed, a child that was forked just before still has it until it runs, and closes what is not its own.
///
/// # Errors
/// What the last attempt says.
pub fn outlast_children<T, E>(
    mut take: impl FnMut() -> Result<T, E>,
    is_taken: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let deadline = Instant::now() + CHILDHOOD;
    loop {
        match take() {
            Err(error) if is_taken(&error) && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

/// Runs `act` while no `fork` of this process happens. For what takes microseconds and waits for no other thread.
pub fn held_off<R>(act: impl FnOnce() -> R) -> R {
    struct Hold {
        generation: u64,
    }
    impl Drop for Hold {
        fn drop(&mut self) {
            // A handler of a signal may have forked here: in its child nobody is counted.
            if DEPTH.get() == 1 && self.generation == process::generation() {
                process::gate().holders.fetch_sub(1, Ordering::SeqCst);
            }
            DEPTH.set(DEPTH.get() - 1);
        }
    }
    let generation = process::generation();
    DEPTH.set(DEPTH.get() + 1);
    if DEPTH.get() == 1 {
        process::gate().enter();
    }
    let hold = Hold { generation };
    let result = act();
    drop(hold);
    if DEPTH.get() == 0 {
        fd::hook::reached();
    }
    result
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

extern "C" fn before() {
    let gate = process::gate();
    gate.forks.fetch_add(1, Ordering::SeqCst);
    // Who forks may itself be holding forks off, in a handler of a signal.
    let own = u32::from(DEPTH.get() > 0);
    wait_until(|| gate.holders.load(Ordering::SeqCst) <= own);
}

extern "C" fn after() {
    process::gate().forks.fetch_sub(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    process::begin_in_child();
    fd::close_inherited();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is held for three looks is had; what is held for ever, or is wrong otherwise, is an error.
    #[test]
    fn what_is_given_back_in_a_moment_is_waited_for() {
        let mut looks = 0;
        let taken = outlast_children(
            || {
                looks += 1;
                if looks > 3 { Ok(looks) } else { Err("taken") }
            },
            |error| *error == "taken",
        );
        assert_eq!(taken, Ok(4));
        let taken = outlast_children(|| Err::<(), _>("taken"), |error| *error == "taken");
        assert_eq!(taken, Err("taken"));
        let mut looks = 0;
        let wrong = outlast_children(
            || {
                looks += 1;
                Err::<(), _>("wrong")
            },
            |error| *error == "taken",
        );
        assert_eq!((wrong, looks), (Err("wrong"), 1));
    }
}
