//! What has happened.

use bcl_tier::SystemHandle;
use bcl_types::{Address, Cause, Device, OpError};

use crate::buffer::Buffer;

/// An event of a port ([SEM-3]).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A send is complete. In the send queue.
    Sent {
        /// As given to the send.
        cookie: u64,
        /// Receiver.
        to: Address,
        /// Channel; 0 is the system channel.
        channel: u16,
        /// Length of the message in bytes.
        len_bytes: u64,
        /// How it went.
        result: Result<(), OpError>,
        /// The memory that was sent, if a buffer was given.
        buffer: Option<Buffer>,
    },
    /// A message on the system channel. In the receive queue.
    Message(SystemMessage),
    /// A posted buffer is done with. In the receive queue.
    Received {
        /// As given to the post.
        cookie: u64,
        /// Sender; for a canceled post the port itself.
        from: Address,
        /// Channel.
        channel: u16,
        /// Length of the message in bytes, even if it did not fit.
        len_bytes: u64,
        /// What its sender has given along; 0 if nothing, or if no message was met.
        immediate: u64,
        /// How it went.
        result: Result<(), OpError>,
        /// The memory that was posted, if a buffer was given.
        buffer: Option<Buffer>,
    },
    /// A one-sided operation is complete. In the send queue.
    RmaDone {
        /// As given to the operation.
        cookie: u64,
        /// Owner of the window.
        peer: Address,
        /// Open channel.
        window: u16,
        /// What an atomic found there.
        value: u64,
        /// How it went.
        result: Result<(), OpError>,
        /// The memory that was written from or read to, if a buffer was given.
        buffer: Option<Buffer>,
    },
    /// A peer has written into a window bound with [`Access::NOTIFY`](bcl_types::Access::NOTIFY). In the receive queue.
    RmaArrived {
        /// Who.
        from: Address,
        /// Open channel.
        window: u16,
        /// Where in the window.
        offset: u64,
        /// How much.
        len_bytes: u64,
    },
    /// A connection with a peer is up. In the receive queue.
    PeerUp {
        /// Who.
        peer: Address,
        /// What moves the messages.
        device: Device,
        /// How long messages are copied, and why so.
        copy: String,
    },
    /// A peer is gone; everything that was pending with it has been reported. In the receive queue.
    PeerGone {
        /// Who.
        peer: Address,
        /// Why.
        cause: Cause,
    },
}

/// Which event queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// Completions of sends and one-sided operations.
    Send,
    /// Arrivals, completions of posts, news of peers.
    Recv,
    /// Both; the receive queue first, but what became of a send that failed comes in its turn ([SEM-3.2]).
    Any,
}

/// A message on the system channel, held in place until it is released.
///
/// Not a copy: the port's `data` shows it, and `release` gives it back. A held message takes room from its sender and from nobody else.
#[derive(Debug)]
#[must_use = "a message that is never released takes room from its sender"]
pub struct SystemMessage {
    pub(crate) from: Address,
    pub(crate) handle: SystemHandle,
    /// The port that holds it, by its number in this process.
    pub(crate) port: u64,
}

impl SystemMessage {
    /// Sender.
    pub fn from(&self) -> Address {
        self.from
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.handle.len_bytes as usize
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What its sender has given along; 0 if nothing.
    pub fn immediate(&self) -> u64 {
        self.handle.immediate
    }

    /// Its name at the port, and its place.
    pub fn handle(&self) -> &SystemHandle {
        &self.handle
    }

    /// Name and place, for bindings to other languages.
    pub fn into_raw(self) -> (Address, SystemHandle) {
        (self.from, self.handle)
    }
}
