//! What has come of a log beyond what is missing.

/// So many pieces are remembered; what would make more is not kept, and comes again.
const PIECES_MAX: usize = 64;

/// Ranges beyond a position, in order, none touching the next.
#[derive(Debug, Default)]
pub(crate) struct Early {
    pieces: Vec<(u64, u64)>,
}

impl Early {
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Where the last of them ends.
    pub fn end(&self) -> Option<u64> {
        self.pieces.last().map(|piece| piece.1)
    }

    /// Whether this range, which is not empty, can be remembered: it is, or was before.
    pub fn add(&mut self, start: u64, end: u64) -> bool {
        // Those that it touches become one with it.
        let first = self.pieces.partition_point(|piece| piece.1 < start);
        let last = self.pieces.partition_point(|piece| piece.0 <= end);
        if first == last {
            if self.pieces.len() == PIECES_MAX {
                return false;
            }
            self.pieces.insert(first, (start, end));
            return true;
        }
        let start = start.min(self.pieces[first].0);
        let end = end.max(self.pieces[last - 1].1);
        self.pieces.splice(first..last, [(start, end)]);
        true
    }

    /// Whether all of it has come.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.any(|piece| piece.0 <= start && end <= piece.1)
    }

    /// All before `have` is there: how far it goes on from there without a gap.
    pub fn advance(&mut self, have: u64) -> u64 {
        let touching = self.pieces.partition_point(|piece| piece.0 <= have);
        let taken = self.pieces.drain(..touching);
        taken.fold(have, |have, piece| have.max(piece.1))
    }

    /// What is missing from `have` up to `head`, the first of it.
    pub fn missing(&self, have: u64, head: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let starts = std::iter::once(have).chain(self.pieces.iter().map(|piece| piece.1));
        let ends = self.pieces.iter().map(|piece| piece.0).chain([head]);
        starts.zip(ends).filter(|(start, end)| start < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_types::Random;

    #[test]
    fn pieces_are_those_of_a_set_of_bytes() {
        let mut random = Random::new(7);
        for _ in 0..200 {
            let (mut early, mut bytes, mut have) = (Early::default(), [false; 256], 0);
            for _ in 0..40 {
                let start = have + 1 + random.below(200);
                let end = (start + 1 + random.below(30)).min(256);
                if start < end && early.add(start, end) {
                    bytes[start as usize..end as usize].fill(true);
                    assert!(early.covers(start, end));
                }
                let missing: Vec<u64> = early
                    .missing(have, 256)
                    .flat_map(|(start, end)| start..end)
                    .collect();
                let expected: Vec<u64> = (have..256).filter(|at| !bytes[*at as usize]).collect();
                assert_eq!(missing, expected);
                if random.below(8) == 0 && have < 200 {
                    let step = have + 1 + random.below(20);
                    bytes[..step as usize].fill(true);
                    have = early.advance(step);
                    let next = (0..256).find(|at| !bytes[*at as usize]).unwrap_or(256);
                    assert_eq!(have, next);
                }
            }
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_remembered() {
        let mut early = Early::default();
        let taken = (1..1000)
            .filter(|piece| early.add(2 * piece, 2 * piece + 1))
            .count();
        assert_eq!(taken, PIECES_MAX);
        assert!(early.add(2, 2000));
    }
}
