//! What others may do to a window, memory bound to an open channel, and what they do ([SEM-5]).

use crate::end::OpError;

/// What others may do with a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access(u32);

impl Access {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Read.
    pub const GET: Self = Self(1);
    /// Write.
    pub const PUT: Self = Self(2);
    /// Fetch-and-add and compare-and-swap of 64-bit words.
    pub const ATOMIC: Self = Self(4);
    /// Not a permission: the owner gets an event when somebody has written.
    pub const NOTIFY: Self = Self(8);
    /// Everything, without notices.
    pub const ALL: Self = Self(7);

    /// Whether all of `other` is in this.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Number form, as in the C header.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// From number form; unknown bits are an error.
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits & !15 == 0).then_some(Self(bits))
    }

    /// Whether peers change the memory.
    pub fn lets_write(self) -> bool {
        self.0 & (Self::PUT.0 | Self::ATOMIC.0) != 0
    }

    /// Whether so many bytes at an offset of a window, of which this is permitted, may be accessed in this way
    /// ([SEM-5.1]).
    #[inline]
    pub fn check(
        self,
        window_bytes: u64,
        offset: u64,
        len_bytes: u64,
        need: Self,
    ) -> Result<(), Refusal> {
        if !self.contains(need) {
            return Err(Refusal::Denied);
        }
        match offset.checked_add(len_bytes) {
            Some(end) if end <= window_bytes => Ok(()),
            _ => Err(Refusal::Range),
        }
    }
}

impl std::ops::BitOr for Access {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What can be done to a 64-bit word: the atomics of the papers' open channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// Adds, wrapping.
    FetchAdd(u64),
    /// Stores `new` if the word is `expected`.
    CompareSwap {
        /// What must be there.
        expected: u64,
        /// What is stored then.
        new: u64,
    },
}

/// Why an access to a window is refused ([SEM-5.1]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Not this kind of access.
    Denied,
    /// Outside the window, or an atomic that is not aligned.
    Range,
    /// Nothing is bound there.
    NoWindow,
}

impl From<Refusal> for OpError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Denied => Self::RmaDenied,
            Refusal::Range => Self::RmaRange,
            Refusal::NoWindow => Self::NoWindow,
        }
    }
}
