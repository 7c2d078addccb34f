//! Bandwidth of a plain copy within one process.

use std::hint::black_box;
use std::time::Instant;

/// MB/s of copying `len_bytes` again and again from the same place to the same place, until about
/// `total_bytes` have been copied.
pub fn measure_mb_per_s(len_bytes: usize, total_bytes: usize) -> f64 {
    let from = vec![1u8; len_bytes];
    let mut to = vec![0u8; len_bytes];
    let copies = (total_bytes / len_bytes).max(1);
    let begin = Instant::now();
    for _ in 0..copies {
        black_box(&mut to).copy_from_slice(black_box(&from));
    }
    (copies * len_bytes) as f64 / 1e6 / begin.elapsed().as_secs_f64()
}

#[test]
fn copies_something() {
    assert!(measure_mb_per_s(1000, 10_000) > 0.0);
}
