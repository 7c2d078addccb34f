//! What things are called: operations, messages, and where packets go.

use std::net::SocketAddr;

use bcl_types::{Atomic, OpId};

/// Where a packet goes, or came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// The UDP address.
    pub to: SocketAddr,
    /// Which of two links, 0 or 1.
    pub rail: u8,
}

/// A message for a normal channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalSend {
    /// The port's name for it, and for the memory that it lends.
    pub op: OpId,
    /// Channel, not 0.
    pub channel: u16,
    /// How much of the memory.
    pub len_bytes: u64,
    /// 64 bits of the sender's own ([WIRE-2.12]).
    pub immediate: u64,
}

/// A message on a normal channel that waits for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId {
    /// Place in a table of the endpoint.
    pub slot: u32,
    /// Tells it from other messages that were in this place before.
    pub number: u32,
}

/// A system message that lies in the pool until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SystemHandle {
    /// Place in a table of the endpoint.
    pub slot: u32,
    /// Tells it from other messages that were in this place before.
    pub number: u32,
    /// Length in bytes.
    pub len_bytes: u32,
}

/// A posted buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The posting operation; bytes are placed by this name.
    pub op: OpId,
    /// How long a message may be.
    pub capacity_bytes: u64,
}

/// A one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rma {
    /// The port's name for it, and for the memory that it lends.
    pub op: OpId,
    /// Open channel of the peer.
    pub window: u16,
    /// Where in the window.
    pub offset: u64,
    /// What to do.
    pub action: Action,
}

/// What is to be done to the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write the lent memory to the window.
    Put {
        /// How much.
        len_bytes: u64,
    },
    /// Read from the window into the lent memory.
    Get {
        /// How much.
        len_bytes: u64,
    },
    /// Change a word.
    Atomic(Atomic),
}

impl Action {
    /// Bytes of the window that are touched.
    pub fn len_bytes(&self) -> u64 {
        match *self {
            Self::Put { len_bytes } | Self::Get { len_bytes } => len_bytes,
            Self::Atomic(_) => 8,
        }
    }
}

/// A piece of a put that a peer does to one of our windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPut {
    /// Which window.
    pub window: u16,
    /// Where the whole put begins.
    pub start: u64,
    /// How long the whole put is: the first piece decides whether all of it is permitted ([SEM-5.1]).
    pub len_bytes: u64,
    /// Where this piece goes, counted from the beginning of the window.
    pub offset: u64,
    /// The put is complete with this piece: time to notify the owner, if the window wants that.
    pub is_last: bool,
}
