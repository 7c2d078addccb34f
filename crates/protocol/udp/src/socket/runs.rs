//! Which datagrams of a batch can go through the kernel as one.

/// The kernel cuts one buffer into at most this many datagrams (`UDP_MAX_SEGMENTS` before Linux 6.9).
pub(super) const MAX_SEGMENTS: usize = 64;

/// The most that fits one buffer: an IPv4 packet of 65,535 B less its headers.
pub(super) const MAX_BYTES: usize = 65_507;

/// Consecutive datagrams that go as one buffer: all but the last have the same length, and the last is not longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) datagrams: usize,
    /// The length that the kernel cuts at.
    pub(super) segment_bytes: usize,
    total_bytes: usize,
}

impl Run {
    /// Of one datagram.
    pub(super) fn of_one(len: usize) -> Self {
        Self {
            datagrams: 1,
            segment_bytes: len,
            total_bytes: len,
        }
    }

    /// Takes one more, unless it does not fit: false.
    pub(super) fn add(&mut self, len: usize) -> bool {
        let is_even = self.total_bytes == self.datagrams * self.segment_bytes;
        let fits = is_even
            && len <= self.segment_bytes
            && self.total_bytes + len <= MAX_BYTES
            && self.datagrams < MAX_SEGMENTS;
        if fits {
            self.datagrams += 1;
            self.total_bytes += len;
        }
        fits
    }
}

/// The longest run that `lens` begins with; of one datagram if `together` is not wanted. `None` if there are none.
pub(super) fn first_run(lens: impl IntoIterator<Item = usize>, together: bool) -> Option<Run> {
    let mut lens = lens.into_iter();
    let mut run = Run::of_one(lens.next()?);
    while together && lens.next().is_some_and(|len| run.add(len)) {}
    Some(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(lens: &[usize]) -> Vec<usize> {
        let mut rest = lens;
        let mut counts = Vec::new();
        while let Some(run) = first_run(rest.iter().copied(), true) {
            counts.push(run.datagrams);
            rest = &rest[run.datagrams..];
        }
        counts
    }

    #[test]
    fn a_shorter_one_ends_a_run() {
        assert_eq!(counts(&[100, 100, 70, 100]), [3, 1]);
        assert_eq!(counts(&[70, 100, 100]), [1, 2]);
        assert_eq!(counts(&[]), []);
    }

    #[test]
    fn the_kernels_limits_end_a_run() {
        assert_eq!(counts(&[64; 130]), [64, 64, 2]);
        assert_eq!(counts(&[9000; 8]), [7, 1]);
    }

    proptest! {
        #[test]
        fn every_run_is_one_that_the_kernel_takes(
            lens in prop::collection::vec(prop_oneof![64..80_usize, 64..65_507_usize], 1..200)
        ) {
            let mut rest = &lens[..];
            while let Some(run) = first_run(rest.iter().copied(), true) {
                let (taken, later) = rest.split_at(run.datagrams);
                let (last, others) = taken.split_last().unwrap();
                prop_assert!(others.iter().all(|len| *len == run.segment_bytes));
                prop_assert!(*last <= run.segment_bytes);
                prop_assert!(taken.len() <= MAX_SEGMENTS);
                prop_assert!(taken.len() == 1 || taken.iter().sum::<usize>() <= MAX_BYTES);
                rest = later;
            }
        }
    }
}
