//! What a link does to packets that it should not.

use bcl_types::Random;

/// How often something happens, in parts of a million packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u32);

impl Rate {
    /// Never.
    pub const NEVER: Self = Self(0);

    /// `parts` of a million.
    pub const fn per_million(parts: u32) -> Self {
        Self(parts)
    }

    /// `parts` of a hundred.
    pub const fn percent(parts: u32) -> Self {
        Self(parts * 10_000)
    }

    /// Draws. A rate of 0 draws nothing, so that switching one fault off leaves the others where they were.
    pub fn strikes(self, random: &mut Random) -> bool {
        self.0 > 0 && random.below(1_000_000) < u64::from(self.0)
    }
}

/// Losses that come together: within a burst everything is lost. Bursts end by time and not by packets: else a sender
/// that is careful meets long ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bursts {
    /// How often a packet begins a burst.
    pub begin: Rate,
    /// The longest that one lasts.
    pub longest_ns: u64,
}

/// The faults of one link; the default has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Lost by itself.
    pub loss: Rate,
    /// Lost with its neighbours.
    pub bursts: Option<Bursts>,
    /// Arrives twice.
    pub duplicate: Rate,
    /// Some bits are flipped.
    pub corrupt: Rate,
    /// The end is missing.
    pub truncate: Rate,
    /// Held back so that later packets overtake it.
    pub reorder: Rate,
    /// The longest time for which it is held back.
    pub reorder_by_ns: u64,
    /// The longest additional delay, which keeps the order.
    pub jitter_ns: u64,
}

impl Faults {
    /// Everything at once at the same rate.
    pub fn all(rate: Rate, reorder_by_ns: u64) -> Self {
        Self {
            loss: rate,
            bursts: None,
            duplicate: rate,
            corrupt: rate,
            truncate: rate,
            reorder: rate,
            reorder_by_ns,
            jitter_ns: reorder_by_ns / 4,
        }
    }

    /// Only losses.
    pub fn loss(rate: Rate) -> Self {
        Self {
            loss: rate,
            ..Self::default()
        }
    }
}

/// Flips one bit, or some within 32 bits of each other as a bad cable does, or one byte anywhere.
pub(super) fn flip(bytes: &mut [u8], random: &mut Random) {
    let bits = bytes.len() as u64 * 8;
    if bits == 0 {
        return;
    }
    let first = random.below(bits);
    let span = *random.pick(&[1, 8, 32]);
    bytes[(first / 8) as usize] ^= 1 << (first % 8);
    for bit in first + 1..bits.min(first + span) {
        if random.one_in(2) {
            bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn rates_are_met() {
    let mut random = Random::new(1);
    let struck = (0..100_000)
        .filter(|_| Rate::percent(30).strikes(&mut random))
        .count();
    assert!((29_000..31_000).contains(&struck), "{struck} of 100000");
    assert!(!Rate::NEVER.strikes(&mut random));
}

#[test]
fn a_flip_changes_something() {
    let mut random = Random::new(2);
    for len in 1..200 {
        let mut bytes = vec![0; len];
        flip(&mut bytes, &mut random);
        assert!(bytes.iter().any(|byte| *byte != 0), "length {len}");
    }
    flip(&mut [], &mut random);
}
