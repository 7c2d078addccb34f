//! Copies between memory that this process has mapped.
//!
//! The C library copies more than some KiB by `rep movsb`. On some processors (AMD's Zen 3 and 4) that takes thirty times as long, 3
//! GB/s instead of 90 on the EPYC where this was measured (2026-11-27), if the target lies 1 to 31 bytes behind the source,
//! whole pages apart. That is no accident: memory of `malloc` lies 16 bytes into a page if it is long, and 16 bytes
//! behind its neighbour if that is some pages long, and rings lie at the beginning of pages.

use std::ptr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The C library has loops of its own for less.
const LONG_BYTES: usize = 1024;
/// Places so far apart are the same to `rep movsb`.
pub const PAGE_BYTES: usize = 4096;
/// Targets so far behind their source and less are slow.
const NEAR_BYTES: usize = 32;

/// Whether `rep movsb`, by which the C library and the kernel copy, is slow on some processors from there to there.
#[inline]
fn is_slow(from: usize, to: usize) -> bool {
    let distance = to.wrapping_sub(from) % PAGE_BYTES;
    (1..NEAR_BYTES).contains(&distance)
}

/// Whether the kernel copies slowly from there to there, as far as the processor is concerned, which is tried once.
pub fn is_slow_by_kernel(from: usize, to: usize) -> bool {
    static IS_SLOW_HERE: OnceLock<bool> = OnceLock::new();
    is_slow(from, to)
        && *IS_SLOW_HERE.get_or_init(|| {
            let (from, mut to) = (Aligned([0; 2 * PAGE_BYTES]), Aligned([0; 2 * PAGE_BYTES]));
            let near = time_of(&from, &mut to, NEAR_BYTES / 2);
            let far = time_of(&from, &mut to, 2 * NEAR_BYTES);
            near > 4 * far
        })
}

/// Memory at the beginning of a page.
#[repr(align(4096))]
struct Aligned([u8; 2 * PAGE_BYTES]);

/// How long `rep movsb` takes for a page, to so far behind it, at best.
fn time_of(from: &Aligned, to: &mut Aligned, distance: usize) -> Duration {
    let once = |_| {
        let begun = Instant::now();
        rep_movsb(&from.0[..PAGE_BYTES], &mut to.0[distance..][..PAGE_BYTES]);
        begun.elapsed()
    };
    (0..8).map(once).min().unwrap_or_default()
}

#[cfg(target_arch = "x86_64")]
fn rep_movsb(from: &[u8], to: &mut [u8]) {
    let len_bytes = from.len().min(to.len());
    // SAFETY: both slices are at least so long; the direction flag is clear, as the ABI has it.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") len_bytes => _,
            inout("rsi") from.as_ptr() => _,
            inout("rdi") to.as_mut_ptr() => _,
            options(nostack, preserves_flags),
        );
    }
}

/// There is no such instruction, and none that is known to be slow.
#[cfg(not(target_arch = "x86_64"))]
fn rep_movsb(_: &[u8], _: &mut [u8]) {}

/// Copies bytes, at the speed of the memory wherever they lie.
///
/// # Safety
/// As of [`ptr::copy_nonoverlapping`].
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, len_bytes: usize) {
    if len_bytes >= LONG_BYTES && is_slow(from.addr(), to.addr()) {
        // SAFETY: by the contract.
        unsafe { copy_by_blocks(from, to, len_bytes) }
    } else {
        // SAFETY: by the contract.
        unsafe { ptr::copy_nonoverlapping(from, to, len_bytes) }
    }
}

/// # Safety
/// As of [`copy`].
#[cfg(target_arch = "x86_64")]
unsafe fn copy_by_blocks(from: *const u8, to: *mut u8, len_bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_storeu_si128};
    const PARTS: usize = 8;
    const BLOCK_BYTES: usize = PARTS * size_of::<__m128i>();
    let blocks = len_bytes / BLOCK_BYTES;
    for at in 0..blocks {
        // SAFETY: by the contract: block `at` is inside both ranges, and the loads and stores need no alignment.
        unsafe {
            let from = from.add(at * BLOCK_BYTES).cast::<__m128i>();
            let to = to.add(at * BLOCK_BYTES).cast::<__m128i>();
            let block: [__m128i; PARTS] =
                std::array::from_fn(|part| _mm_loadu_si128(from.add(part)));
            for (part, bytes) in block.into_iter().enumerate() {
                _mm_storeu_si128(to.add(part), bytes);
            }
        }
    }
    let done = blocks * BLOCK_BYTES;
    // SAFETY: by the contract; it is shorter than what is slow.
    unsafe { ptr::copy_nonoverlapping(from.add(done), to.add(done), len_bytes - done) }
}

/// # Safety
/// As of [`copy`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_by_blocks(from: *const u8, to: *mut u8, len_bytes: usize) {
    // SAFETY: by the contract.
    unsafe { ptr::copy_nonoverlapping(from, to, len_bytes) }
}

/// The same, and the bytes go to memory past the caches, where a reader on another core may find them sooner: whose cache a
/// line lies in has to be asked for it, and has to give it up before it is written again. Whoever then learns by an atomic that
/// the bytes are there finds them.
///
/// # Safety
/// As of [`copy`].
#[cfg(target_arch = "x86_64")]
pub unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len_bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const PARTS: usize = 4;
    const LINE_BYTES: usize = PARTS * size_of::<__m128i>();
    if !to.addr().is_multiple_of(LINE_BYTES) {
        // SAFETY: by the contract.
        return unsafe { copy(from, to, len_bytes) };
    }
    let lines = len_bytes / LINE_BYTES;
    for at in 0..lines {
        // SAFETY: by the contract: line `at` is inside both ranges, and stored to where it is aligned.
        unsafe {
            let from = from.add(at * LINE_BYTES).cast::<__m128i>();
            let to = to.add(at * LINE_BYTES).cast::<__m128i>();
            let line: [__m128i; PARTS] =
                std::array::from_fn(|part| _mm_loadu_si128(from.add(part)));
            for (part, bytes) in line.into_iter().enumerate() {
                _mm_stream_si128(to.add(part), bytes);
            }
        }
    }
    // SAFETY: every processor of this architecture has it. Such stores are in no order with others, unless told so.
    unsafe { _mm_sfence() };
    let done = lines * LINE_BYTES;
    // SAFETY: by the contract; it is shorter than a line.
    unsafe { ptr::copy_nonoverlapping(from.add(done), to.add(done), len_bytes - done) }
}

/// There is no such instruction that the language knows: [`copy`].
///
/// # Safety
/// As of [`copy`].
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len_bytes: usize) {
    // SAFETY: by the contract.
    unsafe { copy(from, to, len_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_is_copied_and_nothing_else(
            start in 0..64_usize,
            distance in 0..48_usize,
            len_bytes in 0..9000_usize,
            past_caches: bool,
        ) {
            let source: Vec<u8> = (0..10_000_u32).map(|at| (at * 7 % 251) as u8).collect();
            let mut target = vec![255; 3 * PAGE_BYTES];
            // So that the target lies so far behind the source, whole pages apart.
            let apart = source.as_ptr().addr().wrapping_add(start + distance);
            let to = apart.wrapping_sub(target.as_ptr().addr()) % PAGE_BYTES;
            let len_bytes = len_bytes.min(target.len() - to);
            // SAFETY: both ranges are inside their vectors.
            unsafe {
                let copy = if past_caches { copy_past_caches } else { copy };
                copy(source.as_ptr().add(start), target.as_mut_ptr().add(to), len_bytes)
            };
            prop_assert!(target[to..][..len_bytes] == source[start..][..len_bytes]);
            prop_assert!(target[..to].iter().chain(&target[to + len_bytes..]).all(|byte| *byte == 255));
        }
    }

    #[test]
    fn only_what_is_close_is_slow_by_the_kernel() {
        assert!(!is_slow_by_kernel(PAGE_BYTES, 2 * PAGE_BYTES));
        // Whichever it is here, it stays so.
        let slow = |distance| is_slow_by_kernel(PAGE_BYTES, 2 * PAGE_BYTES + distance);
        assert_eq!(slow(8), slow(16));
        assert!(!slow(64));
    }

    #[test]
    fn only_a_target_close_behind_its_source_is_slow() {
        let slow = |distance: usize| is_slow(PAGE_BYTES, 10 * PAGE_BYTES + distance);
        assert!(slow(1) && slow(16) && slow(31));
        assert!(!slow(0) && !slow(32) && !slow(4095));
    }
}
