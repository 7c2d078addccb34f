//! Changing an element where it lies, so that nobody sees half of it, and no change of another is lost.
//!
//! Elements for which the processor has an operation are changed with that: the program may use it on them too. All others,
//! which are longer or not aligned, are changed one at a time in the whole process.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::element::Complex;

/// An element that can be changed in place.
pub trait Cell: Copy {
    /// Puts there what `change` makes of it, and returns what was there. `change` may be asked several times.
    ///
    /// # Safety
    /// `at` leads to an element, aligned or not, which can be written, or read if `change` leaves it as it is.
    unsafe fn update(at: *mut Self, change: impl Fn(Self) -> Self) -> Self;
}

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// # Safety
/// As of [`Cell::update`].
unsafe fn update_alone<T: Copy>(at: *mut T, change: impl Fn(T) -> T) -> T {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: by the contract.
    unsafe {
        let old = at.read_unaligned();
        at.write_unaligned(change(old));
        old
    }
}

/// # Safety
/// Both are as long, and any bytes are a value of either.
unsafe fn same_bytes<T, U>(value: T) -> U {
    // SAFETY: by the contract.
    unsafe { std::mem::transmute_copy(&value) }
}

macro_rules! cells {
    ($($type:ty as $bits:ty, $atomic:ty;)*) => {$(
        impl Cell for $type {
            unsafe fn update(at: *mut Self, change: impl Fn(Self) -> Self) -> Self {
                if !at.cast::<$atomic>().is_aligned() {
                    // SAFETY: by the contract.
                    return unsafe { update_alone(at, change) };
                }
                // SAFETY: numbers, of the same length.
                let value = |bits: $bits| unsafe { same_bytes::<$bits, $type>(bits) };
                // SAFETY: as above.
                let bits = |value: $type| unsafe { same_bytes::<$type, $bits>(value) };
                // SAFETY: aligned, and there by the contract.
                let cell = unsafe { <$atomic>::from_ptr(at.cast()) };
                let mut old = cell.load(Ordering::Acquire);
                loop {
                    let new = bits(change(value(old)));
                    if new == old {
                        // Nothing is written: it may be memory that can only be read.
                        return value(old);
                    }
                    match cell.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire) {
                        Ok(_) => return value(old),
                        Err(other) => old = other,
                    }
                }
            }
        }
    )*};
}

cells! {
    i8 as u8, AtomicU8;
    u8 as u8, AtomicU8;
    i16 as u16, AtomicU16;
    u16 as u16, AtomicU16;
    i32 as u32, AtomicU32;
    u32 as u32, AtomicU32;
    i64 as u64, AtomicU64;
    u64 as u64, AtomicU64;
    f32 as u32, AtomicU32;
    f64 as u64, AtomicU64;
    Complex<f32> as u64, AtomicU64;
}

macro_rules! long_cells {
    ($($type:ty),*) => {$(
        impl Cell for $type {
            unsafe fn update(at: *mut Self, change: impl Fn(Self) -> Self) -> Self {
                // SAFETY: by the contract.
                unsafe { update_alone(at, change) }
            }
        }
    )*};
}

long_cells!(i128, u128, Complex<f64>);
