//! How much is done for each size. Both processes work it out from the same arguments.

use super::arguments::Options;

/// About so many bytes are moved for a size by default, and between so few and so many messages.
const BYTES_PER_SIZE: usize = 1 << 30;
const FEWEST: u64 = 100;
const MOST: u64 = 200_000;
/// Messages of which every byte is checked, before the clock runs and after.
pub const CHECKED: u64 = 4;

/// The rounds for one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub warmup: u64,
    pub batches: u64,
    /// Round trips between two looks at the clock.
    pub per_batch: u64,
}

impl Plan {
    pub fn new(options: &Options, size: usize) -> Self {
        Self::of(options.iterations, options.warmup, size)
    }

    fn of(iterations: Option<u64>, warmup: Option<u64>, size: usize) -> Self {
        let fitting = (BYTES_PER_SIZE / size.max(1)) as u64;
        let iterations = iterations.unwrap_or(fitting.clamp(FEWEST, MOST));
        let per_batch = batch(size).min(iterations);
        Self {
            warmup: warmup.unwrap_or(iterations / 10),
            batches: iterations / per_batch,
            per_batch,
        }
    }

    /// What is really measured: whole batches.
    pub fn iterations(&self) -> u64 {
        self.batches * self.per_batch
    }
}

/// Reading the clock takes some 25 ns: nothing for a long message, a tenth of a short one's round trip.
fn batch(size: usize) -> u64 {
    match size {
        0..0x1000 => 100,
        0x1000..0x10000 => 10,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_make_up_the_iterations() {
        let plan = Plan::of(Some(1000), None, 8);
        assert_eq!((plan.batches, plan.per_batch, plan.warmup), (10, 100, 100));
        assert_eq!(Plan::of(Some(1050), None, 8).iterations(), 1000);
        assert_eq!(Plan::of(Some(7), Some(0), 8).iterations(), 7);
        assert_eq!(Plan::of(Some(7), None, 1 << 20).per_batch, 1);
    }

    #[test]
    fn long_messages_are_sent_less_often() {
        assert_eq!(Plan::of(None, None, 0).iterations(), MOST);
        assert_eq!(Plan::of(None, None, 8).iterations(), MOST);
        assert_eq!(Plan::of(None, None, 4 << 20).iterations(), 256);
        assert_eq!(Plan::of(None, None, 1 << 30).iterations(), FEWEST);
    }
}
