//! A quick hash for keys of two words, with a seed of its own in each process: peers choose tags, and must not choose
//! collisions.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers of one seed.
#[derive(Debug, Clone, Copy)]
pub struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    #[inline]
    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// Multiplies each word with what was there before, and folds the 128 bits of the product.
#[derive(Debug)]
pub struct Folded(u64);

/// Digits of the golden ratio: odd, and without a pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for Folded {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FACTOR);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
