//! What has come of an operation.

use bcl_types::{Address, OpError};

/// An operation has ended ([ADI-1.4]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// As given to the operation.
    pub context: u64,
    /// As given to the operation.
    pub mark: u8,
    /// Which kind of operation.
    pub kind: Ended,
    /// Receiver, sender, or who owns the memory; of a receive that no message has met, the endpoint itself.
    pub peer: Address,
    /// Space; of one-sided operations 0.
    pub space: u8,
    /// Tag of the message; of a receive that no message has met, the one that it wanted; of one-sided operations 0.
    pub tag: u64,
    /// Completion data that came with the message.
    pub data: Option<u64>,
    /// Length of the message in bytes, even if it did not fit.
    pub len_bytes: u64,
    /// Of a receive into memory in one piece, the address at which the message begins; else 0.
    pub start: usize,
    /// The memory is the program's again. Only of a multi-receive buffer, which ends with its last message, this can be false.
    pub released: bool,
    /// How it went.
    pub result: Result<(), OpError>,
}

impl Completion {
    /// Of an operation that went well, with this context and mark. The rest is what it mostly is.
    #[inline]
    pub(crate) fn new(kind: Ended, peer: Address, (context, mark): (u64, u8)) -> Self {
        Self {
            context,
            mark,
            kind,
            peer,
            space: 0,
            tag: 0,
            data: None,
            len_bytes: 0,
            start: 0,
            released: true,
            result: Ok(()),
        }
    }
}

/// Kinds of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A send: the memory may be used again.
    Send,
    /// A receive.
    Receive,
    /// What was put is in the peer's memory.
    Put,
    /// What was in the peer's memory is in ours.
    Get,
    /// The peer's memory was changed.
    Atomic,
    /// A peer has put something into our memory, and has given data along ([ADI-8.2]). Context and mark are 0.
    Written,
    /// None of the program's: what was sent to the peer is lost, though its sends are complete ([ADI-6.3]). Context and mark are 0.
    Lost,
}

/// A message that waits, as a probe sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// Sender.
    pub from: Address,
    /// Tag.
    pub tag: u64,
    /// Completion data.
    pub data: Option<u64>,
    /// Length in bytes.
    pub len_bytes: u64,
}
