//! Which sequenced packets have been taken: the receiver's side ([WIRE-5]).

use bcl_wire::serial::{before, distance};

/// Packets that a sender may be ahead of the oldest that is missing ([WIRE-5.2]).
pub const RECEIVE_WINDOW: u32 = 1024;
const WORDS: usize = RECEIVE_WINDOW as usize / 64;

/// What the receiver remembers of a sender's sequence: 132 bytes.
#[derive(Debug, Clone, Default)]
pub struct ReceiveWindow {
    /// Oldest that is missing.
    expected: u32,
    /// Of those from `expected` on, by sequence modulo 1,024: which were taken.
    taken: [u64; WORDS],
    /// How many bits are set.
    ahead: u32,
}

/// What a sequence number means to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The oldest that is missing.
    Next,
    /// One after that.
    Early,
    /// Taken before.
    Duplicate,
    /// Further ahead than is kept track of.
    Beyond,
}

impl ReceiveWindow {
    /// Of which all before `expected` was taken, and nothing else.
    pub fn new(expected: u32) -> Self {
        Self {
            expected,
            ..Self::default()
        }
    }

    /// As somebody else has left it.
    pub fn resume(&mut self, expected: u32, taken: [u64; WORDS]) {
        *self = Self {
            expected,
            taken,
            ahead: taken.iter().map(|word| word.count_ones()).sum(),
        };
    }

    /// Somebody else takes what comes, and says that all before `expected` was taken.
    pub fn on_told(&mut self, expected: u32) {
        if before(self.expected, expected) {
            self.expected = expected;
        }
    }

    /// The bits, by sequence modulo 1,024.
    pub fn taken(&self) -> [u64; WORDS] {
        self.taken
    }

    /// The oldest that is missing.
    #[inline]
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Whether something was taken out of order.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.ahead > 0
    }

    /// What a packet of this sequence is to the receiver.
    #[inline]
    pub fn standing(&self, sequence: u32) -> Standing {
        match distance(sequence, self.expected) {
            0 if self.ahead == 0 || !self.has(sequence) => Standing::Next,
            1.. if sequence.wrapping_sub(self.expected) >= RECEIVE_WINDOW => Standing::Beyond,
            1.. if !self.has(sequence) => Standing::Early,
            _ => Standing::Duplicate,
        }
    }

    /// Whether a sequence that is not before `expected` was taken.
    #[inline]
    pub fn has(&self, sequence: u32) -> bool {
        let (word, bit) = place(sequence);
        self.taken[word] & bit != 0
    }

    /// Takes one out of order.
    pub fn mark(&mut self, sequence: u32) {
        let (word, bit) = place(sequence);
        self.taken[word] |= bit;
        self.ahead += 1;
    }

    /// The oldest missing one has been taken, or had been: the next is expected.
    #[inline]
    pub fn advance(&mut self) {
        if self.ahead > 0 {
            let (word, bit) = place(self.expected);
            if self.taken[word] & bit != 0 {
                self.taken[word] &= !bit;
                self.ahead -= 1;
            }
        }
        self.expected = self.expected.wrapping_add(1);
    }

    /// For ACK: bit i of word w says whether `expected + 1 + 64 w + i` was taken.
    pub fn selective(&self) -> [u64; 4] {
        std::array::from_fn(|word| {
            (0..64u32)
                .filter(|bit| self.has(self.expected.wrapping_add(1 + 64 * word as u32 + bit)))
                .fold(0, |bits, bit| bits | 1 << bit)
        })
    }
}

#[inline]
fn place(sequence: u32) -> (usize, u64) {
    let index = sequence % RECEIVE_WINDOW;
    (index as usize / 64, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a plain set, across the wrap of the numbers.
        #[test]
        fn as_a_set_would(start in prop_oneof![Just(u32::MAX - 100), any::<u32>()], picks in prop::collection::vec(0u32..1200, 0..400)) {
            let mut window = ReceiveWindow { expected: start, ..ReceiveWindow::default() };
            let mut set = BTreeSet::new();
            let mut low = 0u32;
            for pick in picks {
                let sequence = start.wrapping_add(pick);
                let expected = if pick < low || set.contains(&pick) {
                    Standing::Duplicate
                } else if pick == low {
                    Standing::Next
                } else if pick - low >= RECEIVE_WINDOW {
                    Standing::Beyond
                } else {
                    Standing::Early
                };
                prop_assert_eq!(window.standing(sequence), expected);
                match expected {
                    Standing::Next => {
                        set.insert(pick);
                        window.advance();
                        low += 1;
                        while set.contains(&low) {
                            prop_assert!(window.has(window.expected()));
                            window.advance();
                            low += 1;
                        }
                    }
                    Standing::Early => {
                        set.insert(pick);
                        window.mark(sequence);
                    }
                    _ => {}
                }
                prop_assert_eq!(window.expected(), start.wrapping_add(low));
                prop_assert_eq!(window.has_gaps(), set.range(low..).next().is_some());
            }
        }
    }
}
