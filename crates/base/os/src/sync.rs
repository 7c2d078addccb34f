//! The atomics all of BCL uses, so that loom can stand in for them in the models of `tests/loom.rs`.

#[cfg(loom)]
use loom::cell::UnsafeCell;

#[cfg(not(loom))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

/// Adds to a counter that only the calling thread writes.
///
/// A plain load and store: readers may lag, but the writer pays no locked instruction on its path.
#[inline]
pub fn bump(counter: &AtomicU64, by: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(by),
        Ordering::Relaxed,
    );
}

/// A word that its writer hands over by the release of *another* word, and gets back the same way.
///
/// It is an atomic, because a peer that does not keep the order shall spoil a value and not the
/// program. In models it is a plain cell, so that loom complains where the order has a hole.
#[derive(Debug)]
#[repr(transparent)]
pub struct Guarded {
    #[cfg(not(loom))]
    word: AtomicU64,
    #[cfg(loom)]
    word: UnsafeCell<u64>,
}

#[cfg(not(loom))]
impl Guarded {
    /// A word with a first value.
    pub fn new(value: u64) -> Self {
        Self {
            word: AtomicU64::new(value),
        }
    }

    /// Reads, after an acquire that covers the writer's release.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// Writes, before a release.
    #[inline(always)]
    pub fn set(&self, value: u64) {
        self.word.store(value, Ordering::Relaxed);
    }
}

#[cfg(loom)]
#[allow(missing_docs)]
impl Guarded {
    pub fn new(value: u64) -> Self {
        Self {
            word: UnsafeCell::new(value),
        }
    }

    pub fn get(&self) -> u64 {
        // SAFETY: loom fails the model if a write is concurrent.
        self.word.with(|word| unsafe { *word })
    }

    pub fn set(&self, value: u64) {
        // SAFETY: loom fails the model if another access is concurrent.
        self.word.with_mut(|word| unsafe { *word = value });
    }
}
