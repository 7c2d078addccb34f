//! Fetching cache lines before they are written.
//!
//! The receiver holds copies of a ring's lines from the last round. Taking a line away from it costs as much
//! as a message, so it is done ahead of time, when the sender has nothing better to do.

/// Fetches the line at `address` for writing, if the processor can. Any address will do.
#[inline(always)]
pub fn for_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    // SAFETY: a prefetch is a hint; it faults on no address and changes nothing that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(loom))))]
    let _ = address;
}

/// Hands the line at `address` on to the cache that all cores share, where the receiver finds it sooner.
#[inline(always)]
pub fn demote<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
    // SAFETY: a hint, and no operation at all on processors that do not know it.
    unsafe {
        core::arch::asm!("cldemote [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri), not(loom))))]
    let _ = address;
}
