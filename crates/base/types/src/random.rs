//! Chance from a seed.

/// A small generator (SplitMix64): the same numbers for the same seed. Who sees one of them can tell the next, so nothing
/// that is secret comes from here.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own, so that one part of a world that draws more leaves the others' draws alone.
    pub fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scrambled(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64() % bound
    }

    /// A number from `low` to `high`, both possible.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// An index into something of `len` items, which is not 0.
    pub fn index(&mut self, len: usize) -> usize {
        (self.next_u64() % len as u64) as usize
    }

    /// One of `items`, which are not empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }

    /// True once in `times` draws.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}

/// A number that looks as if it had nothing to do with the one it is made from, and is no other's.
pub fn scrambled(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[test]
fn a_seed_is_a_run() {
    let draw = |seed| {
        let mut random = Random::new(seed);
        let mut fork = random.fork();
        (random.next_u64(), fork.between(5, 9), fork.bytes(11))
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    assert!((5..=9).contains(&draw(7).1));
    assert_eq!(draw(7).2.len(), 11);
    // As SplitMix64 has it.
    assert_eq!(Random::new(0).next_u64(), 0xe220_a839_7b1d_cdaf);
}
