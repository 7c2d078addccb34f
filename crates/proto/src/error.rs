//! How an operation, or a peer, came to its end.

use std::fmt;

use crate::time::Span;

/// Why a peer is no longer there ([SEM-7.2]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// It closed its port.
    Closed,
    /// Nothing was heard of it for this long although it should have answered.
    Silent(Span),
    /// It has started anew under the same address, or has given up the connection on its side.
    Restarted,
    /// It broke the protocol and was cut off ([SEM-7.7]).
    Protocol,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "it closed its port"),
            Self::Silent(span) => write!(f, "nothing was heard of it for {span}"),
            Self::Restarted => write!(f, "it has started anew"),
            Self::Protocol => write!(f, "it broke the protocol"),
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The message is longer than the buffer posted for it; both sides are told and nothing was written.
    #[error("the message is {len_bytes} bytes long but the posted buffer holds {capacity_bytes}")]
    Truncated {
        /// Length of the message.
        len_bytes: u64,
        /// Length of the posted buffer.
        capacity_bytes: u64,
    },
    /// The peer's node says that nobody has this port open.
    #[error("nobody has this port open")]
    NoPort,
    /// The peer belongs to a job with another key.
    #[error("the peer belongs to another job: its job key differs")]
    KeyMismatch,
    /// The peer speaks another version of the protocol.
    #[error("the peer speaks version {theirs} and this library speaks version {ours}")]
    VersionMismatch {
        /// Version of this library.
        ours: u8,
        /// Version of the peer.
        theirs: u8,
    },
    /// The driver knows no way to the peer, or nothing answered there.
    #[error("no answer from the peer's node")]
    Unreachable,
    /// The peer is gone.
    #[error("the peer is gone: {0}")]
    PeerGone(Cause),
    /// The window does not permit this access.
    #[error("the owner of the window does not permit this access")]
    RmaDenied,
    /// The access reaches outside the window.
    #[error("the access reaches outside the window, or an atomic is not 8-byte aligned")]
    RmaRange,
    /// Nothing is bound to this open channel.
    #[error("the peer has bound no memory to this open channel")]
    NoWindow,
    /// The port was closed.
    #[error("canceled")]
    Canceled,
    /// The memory that was lent is not there.
    #[error("the memory given is not mapped")]
    Fault,
    /// The peer broke the protocol; the connection was cut.
    #[error("the peer broke the protocol and was cut off")]
    Protocol,
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
