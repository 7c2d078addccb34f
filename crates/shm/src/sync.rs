//! The atomics all of BCL uses, so that loom can stand in for them in the models of `tests/loom.rs`.

#[cfg(not(loom))]
pub use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
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
