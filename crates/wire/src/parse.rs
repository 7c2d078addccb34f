//! Bytes from the network become a header and a payload, or an error ([WIRE-1.3]).

use crate::body;
use crate::bytes::get_u16;
use crate::header::{HEADER_LEN, Header, MAGIC, PAYLOAD_MAX, VERSION};
use crate::kind::{Flags, Kind, NakReason, RefuseReason, RmaStatus};

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
    /// Fields that do not fit each other or the kind.
    Fields(Kind),
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
            Self::Fields(kind) => write!(f, "fields that no {kind:?} has"),
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
    if get_u16(head, 0) != MAGIC {
        return Err(ParseError::Foreign);
    }
    if head[2] != VERSION {
        return Err(ParseError::Version { theirs: head[2] });
    }
    let kind = Kind::from_number(head[3]).ok_or(ParseError::Kind(head[3]))?;
    let flags = Flags::from_number(get_u16(head, 4)).ok_or(ParseError::Reserved)?;
    let header = Header::from_bytes(head, kind, flags);
    if usize::from(header.payload_len_bytes) != payload.len() || payload.len() > PAYLOAD_MAX {
        return Err(ParseError::Length);
    }
    if head[23] != 0 || header.rail > 1 {
        return Err(ParseError::Reserved);
    }
    if !fits(&header) {
        return Err(ParseError::Fields(kind));
    }
    Ok((header, payload))
}

/// Whether the fields are ones that such a packet can have ([WIRE-2]).
#[inline]
fn fits(header: &Header) -> bool {
    let len = usize::from(header.payload_len_bytes);
    let inside = || {
        header
            .offset
            .checked_add(len as u64)
            .is_some_and(|end| end <= header.length)
    };
    match header.kind {
        Kind::Hello | Kind::Welcome | Kind::Confirm => len == body::Setup::LEN,
        Kind::Data | Kind::Body => inside(),
        Kind::Put => len > 0 || header.length == 0,
        Kind::Rts | Kind::Cts | Kind::Fin | Kind::Close => len == 0,
        Kind::Get => header.length <= PAYLOAD_MAX as u64,
        Kind::Atomic => len == body::AtomicBody::LEN,
        Kind::Answer => {
            u8::try_from(header.length).is_ok_and(|status| RmaStatus::from_number(status).is_some())
        }
        Kind::Ack => len == body::AckBody::LEN,
        Kind::Nak => {
            let reason = u8::try_from(header.length).ok();
            len == 0 && reason.and_then(NakReason::from_number).is_some()
        }
        Kind::Refuse => {
            let reason = u8::try_from(header.length).ok();
            len == 0 && reason.and_then(RefuseReason::from_number).is_some()
        }
        Kind::Probe | Kind::ProbeAnswer => true,
    }
}
