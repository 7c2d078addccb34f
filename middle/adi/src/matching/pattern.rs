//! Which messages a receive takes.

/// A peer, by its place in the endpoint's table.
pub type PeerNumber = u32;

/// What a receive wants. Bits of the tag that are set in `ignore` may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// From whom; `None`: from anybody.
    pub source: Option<PeerNumber>,
    pub tag: u64,
    pub ignore: u64,
}

impl Pattern {
    #[inline]
    pub fn fits(&self, source: PeerNumber, tag: u64) -> bool {
        self.source.is_none_or(|wanted| wanted == source) && (self.tag ^ tag) & !self.ignore == 0
    }

    #[inline]
    pub fn shape(&self) -> Shape {
        Shape {
            ignore: self.ignore,
            any_source: self.source.is_none(),
        }
    }
}

/// What patterns that differ only in source and tag have in common. Programs use few: those of one shape are looked up by
/// a [`Key`], and only shapes are gone through one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub ignore: u64,
    pub any_source: bool,
}

impl Shape {
    /// That of patterns which take everything.
    pub const EVERYTHING: Self = Self {
        ignore: u64::MAX,
        any_source: true,
    };

    /// What a message from there with this tag is looked up by; the same as that of the patterns of this shape which take it.
    #[inline]
    pub fn key(&self, source: PeerNumber, tag: u64) -> Key {
        Key {
            source: if self.any_source { ANYBODY } else { source },
            tag: tag & !self.ignore,
        }
    }

    /// That of a pattern of this shape.
    #[inline]
    pub fn key_of(&self, pattern: &Pattern) -> Key {
        self.key(pattern.source.unwrap_or(ANYBODY), pattern.tag)
    }
}

const ANYBODY: PeerNumber = PeerNumber::MAX;

/// What of source and tag counts for a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    source: PeerNumber,
    tag: u64,
}
