//! Sets of members.

/// A set of members, of which there are 256 at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Members([u64; 4]);

impl Members {
    /// One alone.
    pub fn one(member: u16) -> Self {
        let mut set = Self::default();
        set.add(member);
        set
    }

    pub fn add(&mut self, member: u16) {
        let (word, bit) = place(member);
        self.0[word] |= bit;
    }

    pub fn remove(&mut self, member: u16) {
        let (word, bit) = place(member);
        self.0[word] &= !bit;
    }

    pub fn has(&self, member: u16) -> bool {
        let (word, bit) = place(member);
        self.0[word] & bit != 0
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<> {
        let words = (0..).step_by(64).zip(self.0);
        words.flat_map(|(first, word)| bits(word).map(move |bit| first + bit))
    }

    /// The first and the last; 0 and 0 if there are none.
    pub fn ends(&self) -> (u16, u16) {
        let words = (0..).zip(&self.0).filter(|(_, word)| **word != 0);
        let last = words.clone().last();
        let first = words.clone().next();
        (
            first.map_or(0, |(at, word)| at * 64 + word.trailing_zeros() as u16),
            last.map_or(0, |(at, word)| at * 64 + 63 - word.leading_zeros() as u16),
        )
    }

    /// As they are written down: the first so many words.
    pub fn words(&self, words: usize) -> &[u64] {
        &self.0[..words]
    }

    /// What was written down.
    pub fn of_words(words: &[u64]) -> Self {
        let mut set = Self::default();
        set.0[..words.len()].copy_from_slice(words);
        set
    }
}

impl Extend<u16> for Members {
    fn extend<I: IntoIterator<Item = u16>>(&mut self, members: I) {
        members.into_iter().for_each(|member| self.add(member));
    }
}

impl FromIterator<u16> for Members {
    fn from_iter<I: IntoIterator<Item = u16>>(members: I) -> Self {
        let mut set = Self::default();
        set.extend(members);
        set
    }
}

/// Which word of a set a member's bit is in, and the bit.
pub fn place(member: u16) -> (usize, u64) {
    (usize::from(member / 64), 1 << (member % 64))
}

/// The bits that are set, by number, from the lowest.
pub fn bits(word: u64) -> impl Iterator<Item = u16> {
    let mut left = word;
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros() as u16);
        left &= left.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_has_what_was_added_and_not_removed(
            added in btree_set(0_u16..256, 0..40),
            removed in btree_set(0_u16..256, 0..40),
        ) {
            let mut set: Members = added.iter().copied().collect();
            removed.iter().for_each(|member| set.remove(*member));
            let expected: Vec<u16> = added.difference(&removed).copied().collect();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!(set.len() as usize, expected.len());
            let ends = (expected.first(), expected.last());
            let expected_ends = (*ends.0.unwrap_or(&0), *ends.1.unwrap_or(&0));
            prop_assert_eq!(set.ends(), expected_ends);
            prop_assert_eq!(set.is_empty(), expected.is_empty());
            prop_assert!((0..256).all(|member| set.has(member) == expected.contains(&member)));
            prop_assert_eq!(Members::of_words(set.words(4)), set);
        }
    }
}
