//! Contents by number, so that both ends know what a message must hold.

use bcl_types::Random;

/// `len` bytes that belong to `seed`.
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).bytes(len)
}

/// Panics unless `found` is what [`bytes`] gives, saying where it differs.
pub fn check(seed: u64, found: &[u8]) {
    let wanted = bytes(seed, found.len());
    if let Some(at) = wanted.iter().zip(found).position(|(a, b)| a != b) {
        panic!(
            "message {seed} of {} bytes is wrong from byte {at} on",
            found.len()
        );
    }
}

/// Words of a long message between two that are not zero: no divisor of a page, so that they wander through it.
const SPARSE_STEP: usize = 1021;

/// `len` bytes that belong to `seed`, nearly all zero: made quickly, and memory is only taken where they are not.
pub fn sparse(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (index, word) in bytes.chunks_exact_mut(8).enumerate().step_by(SPARSE_STEP) {
        word.copy_from_slice(&sparse_word(seed, index));
    }
    bytes
}

/// Panics unless every byte of `found` is what [`sparse`] gives.
pub fn check_sparse(seed: u64, found: &[u8]) {
    const ZEROS: [u8; 8 * SPARSE_STEP] = [0; 8 * SPARSE_STEP];
    for (number, stretch) in found.chunks(8 * SPARSE_STEP).enumerate() {
        let (word, zeros) = stretch.split_at(stretch.len().min(8));
        let index = number * SPARSE_STEP;
        let is_right = match word.len() {
            8 => word == sparse_word(seed, index),
            len => word == &ZEROS[..len],
        };
        assert!(
            is_right && zeros == &ZEROS[..zeros.len()],
            "message {seed} of {} bytes is wrong between bytes {} and {}",
            found.len(),
            8 * index,
            8 * index + stretch.len()
        );
    }
}

fn sparse_word(seed: u64, index: usize) -> [u8; 8] {
    Random::new(seed ^ index as u64).next_u64().to_le_bytes()
}
