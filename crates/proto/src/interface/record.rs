//! What the program is told of a packet ([MCP-6.1]).

use std::net::{Ipv6Addr, SocketAddr};

use bcl_wire::HEADER_LEN;

use super::Packet;

/// Bytes of a record before the payload.
pub const RECORD_HEAD_BYTES: usize = 96;

const PLACED: u16 = 1;
const ACKED: u16 = 2;

/// How a packet is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// With its payload.
    Whole,
    /// Its payload or effect is in a window's memory, where the access began here.
    Placed(u32),
}

/// A packet that has been checked, and taken if it is a sequenced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it came from.
    pub from: SocketAddr,
    /// Its payload, or its effect, is where it belongs already, and does not follow.
    pub is_placed: bool,
    /// All that was taken so far is acknowledged.
    pub is_acked: bool,
    /// What the program may acknowledge from now on.
    pub ack: u32,
    /// Of a placed PUT or ATOMIC: where in the window the access began.
    pub place: u32,
    /// The packet's header.
    pub header: &'a [u8; HEADER_LEN],
    /// Its payload.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// From the bytes of a ring; `None` if they are none.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<RECORD_HEAD_BYTES>()?;
        let word = |at: usize| {
            head[at..]
                .first_chunk()
                .map(|word| u32::from_le_bytes(*word))
        };
        let half = |at: usize| {
            head[at..]
                .first_chunk()
                .map(|half| u16::from_le_bytes(*half))
        };
        let source = Ipv6Addr::from(*head.first_chunk::<16>()?).to_canonical();
        let flags = half(18)?;
        Some(Self {
            from: SocketAddr::new(source, half(16)?),
            is_placed: flags & PLACED != 0,
            is_acked: flags & ACKED != 0,
            ack: word(24)?,
            place: word(28)?,
            header: head[32..].first_chunk()?,
            payload: rest.get(..word(20)? as usize)?,
        })
    }
}

/// Writes what [`Record::parse`] reads.
pub(super) fn write(into: &mut [u8], packet: &Packet<'_>, put: Put, ack: u32, is_acked: bool) {
    let (placed, place, payload) = match put {
        Put::Whole => (0, 0, packet.payload),
        Put::Placed(place) => (PLACED, place, &[][..]),
    };
    let flags = placed | if is_acked { ACKED } else { 0 };
    into[..16].copy_from_slice(&packet.from.ip().to_ipv6_mapped().octets());
    into[16..18].copy_from_slice(&packet.from.port().to_le_bytes());
    into[18..20].copy_from_slice(&flags.to_le_bytes());
    into[20..24].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    into[24..28].copy_from_slice(&ack.to_le_bytes());
    into[28..32].copy_from_slice(&place.to_le_bytes());
    into[32..96].copy_from_slice(&packet.datagram[..HEADER_LEN]);
    into[96..96 + payload.len()].copy_from_slice(payload);
}
