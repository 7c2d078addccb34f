//! Bytes from the network become a header and a payload, or an error ([WIRE-1.3]).

use crate::bytes::{get_u16, get_u32};
use crate::header::{HEADER_LEN, Header, MAGIC, PAYLOAD_MAX, VERSION};
use crate::kind::{Flags, Kind};
use crate::rules;

/// Why bytes are no packet. Only [`Version`](Self::Version) is ever answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseError {
    /// Not ours: too short, or another first word.
    Foreign,
    /// Ours, of another version.
    Version {
        /// The packet's.
        theirs: u8,
    },
    /// The length of the datagram is not what the header says.
    Length,
    /// No such kind.
    Kind(u8),
    /// Bits or fields that must be 0.
    Reserved,
    /// A field that does not fit the kind, or the other fields.
    Field {
        /// What the packet says that it is.
        kind: Kind,
        /// Name of the field in [`Header`], or `payload` for its length.
        field: &'static str,
    },
}

impl core::fmt::Display for ParseError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Foreign => f.write_str("not a packet of BCL"),
            Self::Version { theirs } => {
                write!(f, "version {theirs}; version {VERSION} is spoken here")
            }
            Self::Length => f.write_str("the length is not what the header says"),
            Self::Kind(number) => write!(f, "no such kind: {number}"),
            Self::Reserved => f.write_str("reserved bits are set"),
            Self::Field { kind, field } => write!(f, "its {field} is one that no {kind} has"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Header and payload of a datagram. The check is not looked at; see [`verify`](crate::verify).
#[inline]
pub fn parse(datagram: &[u8]) -> Result<(Header, &[u8]), ParseError> {
    let (head, payload) = datagram
        .split_first_chunk::<HEADER_LEN>()
        .ok_or(ParseError::Foreign)?;
    Ok((read(head, Some(payload.len()))?, payload))
}

/// As [`parse`], for a header whose payload is elsewhere.
#[inline]
pub fn parse_header(head: &[u8; HEADER_LEN]) -> Result<Header, ParseError> {
    read(head, None)
}

#[inline]
fn read(head: &[u8; HEADER_LEN], payload_len: Option<usize>) -> Result<Header, ParseError> {
    if get_u16(head, 0) != MAGIC {
        return Err(ParseError::Foreign);
    }
    if head[2] != VERSION {
        return Err(ParseError::Version { theirs: head[2] });
    }
    let kind = Kind::from_number(head[3]).ok_or(ParseError::Kind(head[3]))?;
    let flags = Flags::from_number(get_u16(head, 4)).ok_or(ParseError::Reserved)?;
    let header = Header::from_bytes(head, kind, flags);
    let len_bytes = usize::from(header.payload_len_bytes);
    if payload_len.is_some_and(|len| len != len_bytes) || len_bytes > PAYLOAD_MAX {
        return Err(ParseError::Length);
    }
    if head[23] != 0 {
        return Err(ParseError::Reserved);
    }
    match rules::broken(&header) {
        Some(field) => Err(ParseError::Field { kind, field }),
        None => Ok(header),
    }
}

/// What has the same place in every version, so that a packet of another one can be refused ([WIRE-1.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    /// Version of the packet.
    pub version: u8,
    /// Whether it is a [`Kind::Refuse`], which has the same number in every version.
    pub is_refusal: bool,
    /// Number that the receiver of the packet gave the connection.
    pub to_connection: u32,
    /// Number that the sender of the packet gave the connection.
    pub from_connection: u32,
    /// Port number of the sender.
    pub from_port: u16,
    /// Port number of the receiver.
    pub to_port: u16,
}

impl Preamble {
    /// From a datagram; `None` if it is not ours.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let head = datagram.first_chunk::<HEADER_LEN>()?;
        (get_u16(head, 0) == MAGIC).then(|| Self {
            version: head[2],
            is_refusal: head[3] == Kind::Refuse.number(),
            to_connection: get_u32(head, 8),
            from_connection: get_u32(head, 12),
            from_port: get_u16(head, 16),
            to_port: get_u16(head, 18),
        })
    }
}

/// What a REFUSE for its version says to a packet of version `theirs`: it names both ([WIRE-1.5]).
pub const fn version_detail(theirs: u8) -> u64 {
    theirs as u64 | (VERSION as u64) << 8
}

/// The version that was refused and the one that is spoken, from such a detail.
pub const fn versions_of_detail(detail: u64) -> (u8, u8) {
    (detail as u8, (detail >> 8) as u8)
}
