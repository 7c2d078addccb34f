//! Operations under way: what the program called them and what it lent them.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::slab::Slab;
use bcl_tier::Piece;

/// What an operation keeps until it ends.
#[derive(Debug)]
pub enum Held {
    /// Nothing: its caller vouches for the memory.
    Nothing,
    /// Memory that comes back with the event.
    Buffer(Buffer),
    /// The table of the pieces that its memory lies in.
    Pieces(#[expect(dead_code, reason = "kept for its address")] Arc<[Piece]>),
}

impl Held {
    /// The memory that comes back.
    #[inline]
    pub fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer),
            Self::Nothing | Self::Pieces(_) => None,
        }
    }
}

impl From<Option<Buffer>> for Held {
    #[inline]
    fn from(buffer: Option<Buffer>) -> Self {
        buffer.map_or(Self::Nothing, Self::Buffer)
    }
}

/// One operation.
#[derive(Debug)]
pub struct Op {
    pub cookie: u64,
    pub held: Held,
    /// What the sender of the message that has met a posted buffer has given along.
    pub immediate: u64,
}

impl Op {
    #[inline]
    pub fn new(cookie: u64, held: impl Into<Held>) -> Self {
        Self {
            cookie,
            held: held.into(),
            immediate: 0,
        }
    }

    /// Whether its end brings memory back.
    #[inline]
    pub fn has_buffer(&self) -> bool {
        matches!(self.held, Held::Buffer(_))
    }
}

/// All of them, by name.
pub type Ops = Slab<Op>;
