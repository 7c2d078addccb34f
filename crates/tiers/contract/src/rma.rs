//! One-sided operations, as the program wants them and each tier carries them out.

use bcl_types::{Access, Atomic, OpId};

/// What is to be done to the peer's memory. Our memory stays put until the operation completes.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// Write to the window.
    Put {
        /// Our memory.
        from: *const u8,
        /// How much of it.
        len_bytes: usize,
    },
    /// Read from the window.
    Get {
        /// Our memory.
        to: *mut u8,
        /// How much of it.
        len_bytes: usize,
    },
    /// Change a word.
    Atomic(Atomic),
}

// SAFETY: the poster vouches for the memory until the operation completes, whichever thread moves it.
unsafe impl Send for Action {}

impl Action {
    /// What the owner must permit.
    pub fn need(&self) -> Access {
        match self {
            Self::Put { .. } => Access::PUT,
            Self::Get { .. } => Access::GET,
            Self::Atomic(_) => Access::ATOMIC,
        }
    }

    /// Bytes of the window that are touched.
    pub fn len_bytes(&self) -> u64 {
        match self {
            Self::Put { len_bytes, .. } | Self::Get { len_bytes, .. } => *len_bytes as u64,
            Self::Atomic(_) => 8,
        }
    }

    /// Whether the window changes.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Get { .. })
    }
}

/// A one-sided operation.
#[derive(Debug, Clone, Copy)]
pub struct RmaOp {
    /// The port's name for it.
    pub op: OpId,
    /// Open channel of the peer.
    pub window: u16,
    /// Where in the window.
    pub offset: u64,
    /// What to do.
    pub action: Action,
}
