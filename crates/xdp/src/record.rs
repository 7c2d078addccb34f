//! What the interface program says of a packet ([MCP-6.1]).

use std::net::{Ipv6Addr, SocketAddr};

/// Bytes in front of the payload.
pub const HEAD_BYTES: usize = 96;
/// Bytes of the packet's header, the last ones of a record's head.
pub const HEADER_BYTES: usize = 64;

const SOURCE_PORT_AT: usize = 16;
const FLAGS_AT: usize = 18;
const LEN_AT: usize = 20;
const ACK_AT: usize = 24;
const PLACE_AT: usize = 28;
const HEADER_AT: usize = 32;

const PLACED: u16 = 1;
const ACKED: u16 = 2;

/// A packet that has been checked, and taken if it is a sequenced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it came from.
    pub from: SocketAddr,
    /// Its payload, or its effect, is where it belongs already; what follows the header is empty.
    pub is_placed: bool,
    /// The interface program has acknowledged all that it has taken, with this packet.
    pub is_acked: bool,
    /// What the program may acknowledge from now on.
    pub ack: u32,
    /// Of a placed PUT or ATOMIC: where in the window the access began, in bytes.
    pub place: u32,
    /// The packet's header.
    pub header: &'a [u8; HEADER_BYTES],
    /// Its payload.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// From the bytes of a ring; `None` if they are none.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let flags = u16::from_le_bytes(field(head, FLAGS_AT));
        let len_bytes = u32::from_le_bytes(field(head, LEN_AT)) as usize;
        let source = Ipv6Addr::from(field::<16>(head, 0)).to_canonical();
        let source_port = u16::from_le_bytes(field(head, SOURCE_PORT_AT));
        Some(Self {
            from: SocketAddr::new(source, source_port),
            is_placed: flags & PLACED != 0,
            is_acked: flags & ACKED != 0,
            ack: u32::from_le_bytes(field(head, ACK_AT)),
            place: u32::from_le_bytes(field(head, PLACE_AT)),
            header: head[HEADER_AT..].first_chunk()?,
            payload: rest.get(..len_bytes)?,
        })
    }
}

#[inline]
fn field<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|index| head[at + index])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(len_bytes: u32, flags: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; HEAD_BYTES];
        bytes[..16].copy_from_slice(&"::ffff:10.0.0.7".parse::<Ipv6Addr>().unwrap().octets());
        bytes[16..18].copy_from_slice(&20_001u16.to_le_bytes());
        bytes[18..20].copy_from_slice(&flags.to_le_bytes());
        bytes[20..24].copy_from_slice(&len_bytes.to_le_bytes());
        bytes[24..28].copy_from_slice(&66u32.to_le_bytes());
        bytes[28..32].copy_from_slice(&77u32.to_le_bytes());
        bytes[32] = 0x42;
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn each_field_is_where_the_rule_says() {
        // The rest of the record is what is left of its size class.
        let bytes = bytes(3, 2, &[1, 2, 3, 9, 9]);
        let record = Record::parse(&bytes).expect("a record");
        assert_eq!(record.from, "10.0.0.7:20001".parse().unwrap());
        assert!(record.is_acked && !record.is_placed);
        assert_eq!((record.ack, record.place), (66, 77));
        assert_eq!(record.header[0], 0x42);
        assert_eq!(record.payload, [1, 2, 3]);
        let placed = self::bytes(0, 1, &[]);
        let record = Record::parse(&placed).expect("a record");
        assert!(record.is_placed && !record.is_acked && record.payload.is_empty());
    }

    #[test]
    fn what_says_to_be_longer_than_it_is_is_none() {
        assert_eq!(Record::parse(&bytes(4, 0, &[1, 2, 3])), None);
        assert_eq!(Record::parse(&[0; HEAD_BYTES - 1]), None);
    }
}
