//! Where the hypervisor has put the two cores, as far as it can be seen: by how long a cache line takes from one to the other.
//!
//! Processors of a virtual machine move. While both share a third-level cache, a line passes in some 50 ns; while they do not,
//! in 200 to 300, and all that goes from process to process takes up to three times as long, ours and the others'. So only
//! figures of the same placement are compared.

use crate::cores::Cores;
use crate::error::Result;
use crate::limits::cache_line;

/// Hand-overs of the line that tell: a few milliseconds.
const ROUND_TRIPS: usize = 10_000;
/// Times that differ by this much are of different placements.
const APART: f64 = 2.0;

/// A range of times in us, with its beginning and without its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    from_us: f64,
    below_us: f64,
}

/// How long a cache line takes from core to core now, in us.
///
/// # Errors
/// When a thread cannot be pinned.
pub fn look_us(cores: Cores) -> Result<f64> {
    cache_line::measure_us(cores, ROUND_TRIPS)
}

/// Whether two such times are of one placement.
pub fn are_alike(one_us: f64, other_us: f64) -> bool {
    one_us.max(other_us) <= APART * one_us.min(other_us)
}

impl Placement {
    /// Whatever it was.
    pub const ANY: Self = Self {
        from_us: 0.0,
        below_us: f64::INFINITY,
    };

    /// Those that there were: one, or a near and a far one.
    pub fn among(lines_us: impl Iterator<Item = f64>) -> Vec<Self> {
        let (nearest, farthest) = lines_us.fold((f64::INFINITY, 0.0_f64), |(low, high), line| {
            (low.min(line), high.max(line))
        });
        let from_to = |from_us, below_us| Self { from_us, below_us };
        if farthest <= APART * nearest || !nearest.is_finite() {
            return vec![Self::ANY];
        }
        let border = (nearest * farthest).sqrt();
        vec![from_to(0.0, border), from_to(border, f64::INFINITY)]
    }

    /// Whether such a time is of it.
    pub fn has(self, line_us: f64) -> bool {
        (self.from_us..self.below_us).contains(&line_us)
    }
}

#[test]
fn there_are_two_only_if_times_are_far_apart() {
    let count = |lines_us: &[f64]| Placement::among(lines_us.iter().copied()).len();
    assert_eq!(count(&[]), 1);
    assert_eq!(count(&[0.05, 0.06, 0.09]), 1);
    assert_eq!(count(&[0.05, 0.29, 0.06]), 2);
    let all = Placement::among([0.05, 0.29, 0.06].into_iter());
    let of = |line_us| all.iter().position(|placement| placement.has(line_us));
    assert_eq!([0.05, 0.06, 0.29].map(of), [Some(0), Some(0), Some(1)]);
    assert!(are_alike(0.05, 0.09) && !are_alike(0.05, 0.29));
}
