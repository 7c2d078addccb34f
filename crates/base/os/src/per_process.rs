//! A static of which each process has its own.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::process;

/// A value for each process: a child that is forked finds a new one, for a thread that the child does not have may hold a
/// lock of the old one for ever. The old one is left alone: what it stands for is the parent's.
pub struct PerProcess<T: 'static> {
    current: AtomicPtr<(u64, T)>,
    make: fn() -> T,
}

impl<T> PerProcess<T> {
    /// One that `make` makes when a process first looks.
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            current: AtomicPtr::new(ptr::null_mut()),
            make,
        }
    }

    /// This process's.
    pub fn get(&'static self) -> &'static T {
        let generation = process::generation();
        let seen = self.current.load(Ordering::Acquire);
        // SAFETY: null, or a value that was leaked below and is never freed.
        let known = unsafe { seen.as_ref() };
        if let Some((_, value)) = known.filter(|(of, _)| *of == generation) {
            return value;
        }
        let new = Box::into_raw(Box::new((generation, (self.make)())));
        let exchanged =
            self.current
                .compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire);
        // SAFETY: both were leaked; the one that lost is freed by who made it, before anybody has seen it.
        unsafe {
            match exchanged {
                Ok(_) => &(*new).1,
                Err(first) => {
                    drop(Box::from_raw(new));
                    &(*first).1
                }
            }
        }
    }
}

// SAFETY: threads get nothing but shared references to `T`.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
