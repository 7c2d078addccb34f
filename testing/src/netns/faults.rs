//! What a bad network does, and what it has done.

use std::ops::RangeInclusive;
use std::time::Duration;

/// What happens to packets. Rates are in packets of a million.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The same seed and the same packets give the same faults.
    pub seed: u64,
    /// Packets that never arrive.
    pub loss_ppm: u32,
    /// Packets that arrive with one bit of their payload turned, unnoticed by any checksum below the program.
    pub corruption_ppm: u32,
    /// Packets that arrive twice.
    pub duplication_ppm: u32,
    /// Packets that arrive late, so that others overtake them.
    pub lateness_ppm: u32,
    /// How late they arrive.
    pub late_by: RangeInclusive<Duration>,
}

/// How many packets met with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// UDP and TCP packets.
    pub seen: u64,
    /// Of these, lost.
    pub lost: u64,
    /// Corrupted.
    pub corrupted: u64,
    /// Duplicated.
    pub duplicated: u64,
    /// Held back.
    pub late: u64,
}

/// A rate of a million parts, from one of a hundred.
pub(super) const PPM_OF_PERCENT: u32 = 10_000;

impl Faults {
    /// None at all.
    pub const NONE: Self = Self {
        seed: 0,
        loss_ppm: 0,
        corruption_ppm: 0,
        duplication_ppm: 0,
        lateness_ppm: 0,
        late_by: Duration::from_micros(200)..=Duration::from_millis(2),
    };

    /// Each kind of fault at the same rate, in percent.
    pub fn all(percent: u32, seed: u64) -> Self {
        let rate_ppm = percent * PPM_OF_PERCENT;
        Self {
            seed,
            loss_ppm: rate_ppm,
            corruption_ppm: rate_ppm,
            duplication_ppm: rate_ppm,
            lateness_ppm: rate_ppm,
            ..Self::NONE
        }
    }

    /// Loss alone.
    pub fn loss(loss_ppm: u32, seed: u64) -> Self {
        Self {
            seed,
            loss_ppm,
            ..Self::NONE
        }
    }

    /// Whether XDP is not enough.
    pub(super) fn need_tc(&self) -> bool {
        self.duplication_ppm > 0 || self.lateness_ppm > 0
    }
}
