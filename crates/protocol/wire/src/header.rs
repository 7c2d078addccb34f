//! The 64 bytes that every packet begins with ([WIRE-1]).

use crate::bytes::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};
use crate::kind::{Flags, Kind};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 64;
/// First two bytes of every packet: "BC".
pub const MAGIC: u16 = u16::from_le_bytes(*b"BC");
/// The version described here.
pub const VERSION: u8 = 1;
/// Longest payload of a packet: what fits a jumbo frame, and the key of the check.
pub const PAYLOAD_MAX: usize = 8896;
/// One-sided operations of a connection that can be under way: slots 0 to 63 ([WIRE-2.7]).
pub const SLOTS: u16 = 64;
/// Longest message of a normal channel that may leave before it is asked for, in bytes ([WIRE-6.2]).
pub const PUSHED_MAX: u64 = 65_536;
/// Most that one GET asks for ([WIRE-2.7]).
pub const READ_MAX: u32 = 65_536;
/// Pieces of a packet begin at multiples of this, and end there or with the packet ([WIRE-2.11]).
pub const PIECE_UNIT: usize = 64;

/// A header as plain values. What a field means depends on the kind; unused fields are 0 ([WIRE-2]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What the packet says.
    pub kind: Kind,
    /// Bits that go with it.
    pub flags: Flags,
    /// Bytes after the header.
    pub payload_len_bytes: u16,
    /// Number that the receiver of this packet gave the connection; 0 if not known yet.
    pub to_connection: u32,
    /// Number that the sender of this packet gave the connection.
    pub from_connection: u32,
    /// Port number of the sender.
    pub from_port: u16,
    /// Port number of the receiver.
    pub to_port: u16,
    /// Channel of a message, 0 for the system channel; number of a window.
    pub channel: u16,
    /// Which of two links the packet took.
    pub rail: u8,
    /// Counts the sequenced packets of this direction.
    pub sequence: u32,
    /// All sequenced packets of the other direction before this have arrived.
    pub ack: u32,
    /// Counts the messages of this direction; number of a one-sided operation or probe.
    pub message: u32,
    /// Place of a one-sided operation among those under way.
    pub slot: u16,
    /// Multicast group, or 0.
    pub group: u16,
    /// Place of the payload in its message or window; immediate data; detail of a refusal; what an atomic found.
    pub offset: u64,
    /// Length of the message or access in bytes; reason or status.
    pub length: u64,
    /// The keyed check ([WIRE-3]).
    pub check: u64,
}

impl Header {
    /// A header of this kind, all else 0.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            flags: Flags::NONE,
            payload_len_bytes: 0,
            to_connection: 0,
            from_connection: 0,
            from_port: 0,
            to_port: 0,
            channel: 0,
            rail: 0,
            sequence: 0,
            ack: 0,
            message: 0,
            slot: 0,
            group: 0,
            offset: 0,
            length: 0,
            check: 0,
        }
    }

    /// Whether this packet takes a sequence number: as its kind does, unless it may be lost.
    #[inline]
    pub fn is_sequenced(&self) -> bool {
        self.kind.is_sequenced() && !self.flags.contains(Flags::UNRELIABLE)
    }

    /// Where the payload of a DATA or BODY lies in its message ([WIRE-2.5]).
    #[inline]
    pub fn place(&self) -> u64 {
        match self.flags.contains(Flags::IMMEDIATE) {
            true => 0,
            false => self.offset,
        }
    }

    /// What the sender has given along with a message, in the first packet that tells of it; 0 if nothing ([WIRE-2.12]).
    #[inline]
    pub fn immediate(&self) -> u64 {
        match self.kind {
            Kind::Rts => self.offset,
            Kind::Data if self.flags.contains(Flags::IMMEDIATE) => self.offset,
            _ => 0,
        }
    }

    /// The form that travels.
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        put_u16(&mut bytes, 0, MAGIC);
        bytes[2] = VERSION;
        bytes[3] = self.kind.number();
        put_u16(&mut bytes, 4, self.flags.number());
        put_u16(&mut bytes, 6, self.payload_len_bytes);
        put_u32(&mut bytes, 8, self.to_connection);
        put_u32(&mut bytes, 12, self.from_connection);
        put_u16(&mut bytes, 16, self.from_port);
        put_u16(&mut bytes, 18, self.to_port);
        put_u16(&mut bytes, 20, self.channel);
        bytes[22] = self.rail;
        put_u32(&mut bytes, 24, self.sequence);
        put_u32(&mut bytes, 28, self.ack);
        put_u32(&mut bytes, 32, self.message);
        put_u16(&mut bytes, 36, self.slot);
        put_u16(&mut bytes, 38, self.group);
        put_u64(&mut bytes, 40, self.offset);
        put_u64(&mut bytes, 48, self.length);
        put_u64(&mut bytes, CHECK_AT, self.check);
        bytes
    }

    /// From the form that travels, whose kind and flags have been looked at.
    pub(crate) fn from_bytes(bytes: &[u8; HEADER_LEN], kind: Kind, flags: Flags) -> Self {
        Self {
            kind,
            flags,
            payload_len_bytes: get_u16(bytes, 6),
            to_connection: get_u32(bytes, 8),
            from_connection: get_u32(bytes, 12),
            from_port: get_u16(bytes, 16),
            to_port: get_u16(bytes, 18),
            channel: get_u16(bytes, 20),
            rail: bytes[22],
            sequence: get_u32(bytes, 24),
            ack: get_u32(bytes, 28),
            message: get_u32(bytes, 32),
            slot: get_u16(bytes, 36),
            group: get_u16(bytes, 38),
            offset: get_u64(bytes, 40),
            length: get_u64(bytes, 48),
            check: get_u64(bytes, CHECK_AT),
        }
    }
}

/// Where the check stands: last, so that what it covers lies in one piece before it.
pub(crate) const CHECK_AT: usize = 56;
