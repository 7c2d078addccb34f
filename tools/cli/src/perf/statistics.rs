//! Minimum and percentiles of samples.

/// Of a set of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub min: f64,
    pub p50: f64,
    pub p99: f64,
}

impl Summary {
    /// `None` of no samples.
    pub fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        Some(Self {
            min: *samples.first()?,
            p50: percentile(&samples, 50)?,
            p99: percentile(&samples, 99)?,
        })
    }
}

/// The smallest sample that `percent` of all are not above (nearest rank).
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let summary = Summary::of(samples).unwrap();
        assert_eq!((summary.min, summary.p50, summary.p99), (1.0, 100.0, 198.0));
    }

    #[test]
    fn few_samples_have_percentiles_too() {
        let one = Summary::of(vec![3.0]).unwrap();
        assert_eq!((one.min, one.p50, one.p99), (3.0, 3.0, 3.0));
        let two = Summary::of(vec![2.0, 1.0]).unwrap();
        assert_eq!((two.min, two.p50, two.p99), (1.0, 1.0, 2.0));
        assert_eq!(Summary::of(Vec::new()), None);
    }
}
