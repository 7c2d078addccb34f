//! Chance from the seed in the configuration.

/// SplitMix64 (Steele, Lea, Flood 2014) under two seed words.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
    salt: u64,
}

impl Random {
    pub fn new([state, salt]: [u64; 2]) -> Self {
        Self { state, salt }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // What comes out goes over the network; the words that it is made of stay unknown by the hash's key.
        bcl_wire::siphash24([self.salt, self.state], &[self.state ^ self.salt])
    }
}
