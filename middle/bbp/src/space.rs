//! Room for messages in a member's data ([BBP-3.1]).

/// Messages begin at cache lines.
const LINE_BYTES: u32 = 64;

/// Which parts are taken.
#[derive(Debug)]
pub struct Space {
    len_bytes: u32,
    /// From and to, in order.
    taken: Vec<(u32, u32)>,
}

impl Space {
    pub fn new(len_bytes: u32) -> Self {
        let taken = Vec::new();
        Self { len_bytes, taken }
    }

    /// Takes the first part that is long enough; `None` if there is none.
    pub fn take(&mut self, len_bytes: u32) -> Option<u32> {
        let len_bytes = len_bytes.checked_next_multiple_of(LINE_BYTES)?;
        let mut start = 0;
        let mut at = 0;
        while let Some((taken, end)) = self.taken.get(at)
            && taken - start < len_bytes
        {
            (start, at) = (*end, at + 1);
        }
        let end = start
            .checked_add(len_bytes)
            .filter(|end| *end <= self.len_bytes)?;
        self.taken.insert(at, (start, end));
        Some(start)
    }

    /// Takes what a message has taken before; false if it is not free.
    pub fn retake(&mut self, start: u32, len_bytes: u32) -> bool {
        let end = len_bytes
            .checked_next_multiple_of(LINE_BYTES)
            .and_then(|len_bytes| start.checked_add(len_bytes));
        let Some(end) = end.filter(|end| *end <= self.len_bytes) else {
            return false;
        };
        let at = self.taken.partition_point(|(taken, _)| *taken < start);
        let is_free = self.taken[..at]
            .last()
            .is_none_or(|(_, before)| *before <= start)
            && self.taken.get(at).is_none_or(|(after, _)| end <= *after);
        if is_free {
            self.taken.insert(at, (start, end));
        }
        is_free
    }

    /// Gives back what begins there.
    pub fn give_back(&mut self, start: u32) {
        if let Ok(at) = self.taken.binary_search_by_key(&start, |(start, _)| *start) {
            self.taken.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_taken_is_taken_by_one(steps in vec((any::<bool>(), 1_u32..3000, any::<prop::sample::Index>()), 1..80)) {
            const LEN: u32 = 8192;
            let mut space = Space::new(LEN);
            let mut held: Vec<(u32, u32)> = Vec::new();
            for (is_taken, len, which) in steps {
                if is_taken {
                    let got = space.take(len);
                    let longest_gap = gaps(&held, LEN).max();
                    prop_assert_eq!(got.is_some(), longest_gap >= Some(len.next_multiple_of(64)));
                    if let Some(start) = got {
                        prop_assert!(start % 64 == 0 && start + len <= LEN);
                        prop_assert!(held.iter().all(|(other, other_len)| start + len <= *other || other + other_len <= start));
                        held.push((start, len));
                    }
                } else if !held.is_empty() {
                    let (start, len) = held.swap_remove(which.index(held.len()));
                    space.give_back(start);
                    prop_assert!(space.retake(start, len));
                    prop_assert!(!space.retake(start, len));
                    space.give_back(start);
                }
            }
        }
    }

    fn gaps(held: &[(u32, u32)], len: u32) -> impl Iterator<Item = u32> {
        let mut held = held.to_vec();
        held.sort_unstable();
        held.push((len, 0));
        let mut start = 0;
        held.into_iter().map(move |(next, next_len)| {
            let gap = next - start;
            start = (next + next_len).next_multiple_of(64);
            gap
        })
    }
}
