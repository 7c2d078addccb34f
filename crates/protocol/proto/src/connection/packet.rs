//! A packet before it is sent, and for as long as it may have to be sent again.

use bcl_types::OpId;
use bcl_wire::{Flags, Header, Kind};

use crate::slab::Name;
use crate::transmit::{INLINE_MAX, Own, Payload};

/// What is particular to a packet; the rest of its header is the connection's.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    pub kind: Kind,
    pub flags: Flags,
    pub channel: u16,
    pub slot: u16,
    pub message: u32,
    pub offset: u64,
    pub length: u64,
    pub payload: Content,
}

/// Where the payload lies.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    None,
    Lent { op: OpId, at: u64, len: u16 },
    Buffer { name: Name, at: u32, len: u16 },
    Words([u64; 3]),
    Padding { len: u16 },
}

impl Packet {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            flags: Flags::NONE,
            channel: 0,
            slot: 0,
            message: 0,
            offset: 0,
            length: 0,
            payload: Content::None,
        }
    }

    /// What takes the place of a packet whose memory has gone back to the program: the receiver has had
    /// it already, or will discard it with the rest of its message ([WIRE-6.6]).
    pub fn empty(&self) -> Self {
        Self {
            message: self.message,
            channel: self.channel,
            ..Self::new(Kind::Data)
        }
    }

    /// A read that asks for the same, and that only a program answers ([WIRE-11.7]).
    pub fn unpadded(self) -> Self {
        Self {
            flags: Flags::NONE,
            payload: Content::None,
            ..self
        }
    }

    pub fn len_bytes(&self) -> u16 {
        match self.payload {
            Content::None => 0,
            Content::Lent { len, .. } | Content::Buffer { len, .. } | Content::Padding { len } => {
                len
            }
            Content::Words(_) => 24,
        }
    }

    /// The fields of the header that this packet decides.
    #[inline]
    pub fn header(&self) -> Header {
        let mut header = Header::new(self.kind);
        header.flags = self.flags;
        header.payload_len_bytes = self.len_bytes();
        header.channel = self.channel;
        header.slot = self.slot;
        header.message = self.message;
        header.offset = self.offset;
        header.length = self.length;
        header
    }

    #[inline]
    pub fn payload(&self) -> Payload {
        match self.payload {
            Content::None => Payload::EMPTY,
            Content::Lent { op, at, len } => Payload::Lent {
                op,
                offset: at,
                len_bytes: len,
            },
            Content::Buffer { name, at, len } => Payload::Own(Own::Buffer {
                slot: name.slot,
                number: name.number,
                offset: at,
                len_bytes: len,
            }),
            Content::Padding { len } => Payload::Own(Own::Padding { len_bytes: len }),
            Content::Words(words) => {
                let mut bytes = [0; 24];
                for (place, word) in bytes.chunks_mut(8).zip(words) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
                inline(&bytes)
            }
        }
    }
}

/// A payload that travels in the packet itself; at most [`INLINE_MAX`] bytes of it.
pub fn inline(payload: &[u8]) -> Payload {
    let len = payload.len().min(INLINE_MAX);
    let mut bytes = [0; INLINE_MAX];
    bytes[..len].copy_from_slice(&payload[..len]);
    Payload::Own(Own::Inline {
        bytes,
        len_bytes: len as u8,
    })
}
