//! A packet on its way out, with its payload by reference.

use bcl_types::OpId;
use bcl_wire::CheckKey;

use crate::names::Path;

/// Longest payload that travels inside a [`Transmit`].
pub const INLINE_MAX: usize = 104;

/// A packet to be sent: the driver finds the payload, has the endpoint seal the header, and sends both.
///
/// Consecutive packets to one path that have the same length (the last may be shorter) can go out in one
/// `UDP_SEGMENT` send: the endpoint hands out runs of one peer, up to 64, before it turns to the next.
#[derive(Debug, Clone)]
pub struct Transmit {
    /// Where to.
    pub path: Path,
    /// What follows the header.
    pub payload: Payload,
    /// It must not be sent together with others in one `UDP_SEGMENT` send.
    pub is_single: bool,
    /// The network may cut it and put it together again: the path takes less than what has to pass everywhere ([WIRE-14.7]).
    pub may_be_cut: bool,
    pub(crate) header: [u8; crate::HEADER_BYTES],
    pub(crate) key: CheckKey,
    pub(crate) job: Whose,
}

/// Whose keys a packet is sealed with ([WIRE-3.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Our port's.
    Ours,
    /// Those of a connection, by its id,
    Connection(u32),
    /// or those of the question whether it is still there.
    Question(u32),
}

/// Where the payload of a packet lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// In the endpoint: see [`Endpoint::bytes`](crate::Endpoint::bytes).
    Own(Own),
    /// In memory that an operation has lent.
    Lent {
        /// Which operation.
        op: OpId,
        /// Where in its memory.
        offset: u64,
        /// How much.
        len_bytes: u16,
    },
}

/// Payload that the endpoint holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// In the packet itself.
    Inline {
        /// The first `len_bytes` of these.
        bytes: [u8; INLINE_MAX],
        /// How many.
        len_bytes: u8,
    },
    /// In one of its buffers.
    Buffer {
        /// Place in a table of the endpoint.
        slot: u32,
        /// Tells it from other buffers that were in this place before.
        number: u32,
        /// Where in the buffer.
        offset: u32,
        /// How much.
        len_bytes: u16,
    },
    /// Nowhere: zeros.
    Padding {
        /// How many.
        len_bytes: u16,
    },
}

impl Payload {
    /// Nothing.
    pub const EMPTY: Self = Self::Own(Own::Inline {
        bytes: [0; INLINE_MAX],
        len_bytes: 0,
    });

    /// Its length.
    pub fn len_bytes(&self) -> usize {
        match *self {
            Self::Own(Own::Inline { len_bytes, .. }) => usize::from(len_bytes),
            Self::Own(Own::Buffer { len_bytes, .. } | Own::Padding { len_bytes })
            | Self::Lent { len_bytes, .. } => usize::from(len_bytes),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len_bytes() == 0
    }
}

impl Transmit {
    /// Whether it has to leave by itself: it shows what becomes of one datagram of its length, which between virtual
    /// hosts is not what becomes of the same datagram in a `UDP_SEGMENT` send.
    #[inline]
    pub fn is_alone(&self) -> bool {
        matches!(self.payload, Payload::Own(Own::Padding { .. }))
    }

    /// Length of the datagram.
    pub fn len_bytes(&self) -> usize {
        crate::HEADER_BYTES + self.payload.len_bytes()
    }
}
