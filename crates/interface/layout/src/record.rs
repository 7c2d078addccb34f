//! A record of a port's ring: what the interface program says of a packet ([MCP-6.1]).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bcl_wire::HEADER_LEN;

/// Bytes in front of the payload.
pub const HEAD_BYTES: usize = 96;
/// What the kernel puts in front of each record: its length, and two bits.
pub const PREFIX_BYTES: usize = 8;
/// What records take in the ring, with that.
pub const SIZES: [usize; 3] = [256, 2048, 9216];

pub(crate) const SOURCE_PORT_AT: usize = 16;
pub(crate) const FLAGS_AT: usize = 18;
pub(crate) const LEN_AT: usize = 20;
pub(crate) const ACK_AT: usize = 24;
pub(crate) const PLACE_AT: usize = 28;
pub(crate) const HEADER_AT: usize = 32;

pub(crate) const PLACED: u16 = 1;
pub(crate) const ACKED: u16 = 2;
pub(crate) const EARLY: u16 = 4;
pub(crate) const BARE: u16 = 8;

/// A packet that has been checked, and taken if it is a sequenced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Where it came from.
    pub from: SocketAddr,
    /// Its payload, or its effect, is where it belongs already; what follows the header is empty.
    pub is_placed: bool,
    /// The interface program has acknowledged all that it has taken, with this packet.
    pub is_acked: bool,
    /// It came before others: nothing is to be done with it until `ack` of a record has passed it.
    pub is_early: bool,
    /// Nothing is to be done with it any more. It only says how far `ack` is now; what follows the header is empty.
    pub is_bare: bool,
    /// What the program may acknowledge from now on.
    pub ack: u32,
    /// Of a placed PUT or ATOMIC: where in the window the access began, in bytes.
    pub place: u32,
    /// The packet's header.
    pub header: &'a [u8; HEADER_LEN],
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
            is_early: flags & EARLY != 0,
            is_bare: flags & BARE != 0,
            ack: u32::from_le_bytes(field(head, ACK_AT)),
            place: u32::from_le_bytes(field(head, PLACE_AT)),
            header: head[HEADER_AT..].first_chunk()?,
            payload: rest.get(..len_bytes)?,
        })
    }

    /// What [`parse`](Self::parse) reads. There is room for it.
    pub fn write(&self, into: &mut [u8]) {
        let source = match self.from.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let bit = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
        let flags = bit(self.is_placed, PLACED)
            | bit(self.is_acked, ACKED)
            | bit(self.is_early, EARLY)
            | bit(self.is_bare, BARE);
        let (head, rest) = into.split_at_mut(HEAD_BYTES);
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &source.octets());
        put(SOURCE_PORT_AT, &self.from.port().to_le_bytes());
        put(FLAGS_AT, &flags.to_le_bytes());
        put(LEN_AT, &(self.payload.len() as u32).to_le_bytes());
        put(ACK_AT, &self.ack.to_le_bytes());
        put(PLACE_AT, &self.place.to_le_bytes());
        put(HEADER_AT, self.header);
        rest[..self.payload.len()].copy_from_slice(self.payload);
    }
}

/// What a record with such a payload takes in the ring.
pub fn cost(payload_len: usize) -> usize {
    let len = PREFIX_BYTES + HEAD_BYTES + payload_len;
    let [.., longest] = SIZES;
    SIZES
        .into_iter()
        .find(|size| *size >= len)
        .unwrap_or(longest)
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
        assert!(record.is_acked && !record.is_placed && !record.is_early && !record.is_bare);
        assert_eq!((record.ack, record.place), (66, 77));
        assert_eq!(record.header[0], 0x42);
        assert_eq!(record.payload, [1, 2, 3]);
        let placed = self::bytes(0, 1, &[]);
        let record = Record::parse(&placed).expect("a record");
        assert!(record.is_placed && !record.is_acked && record.payload.is_empty());
        let record = |flags| self::bytes(0, flags, &[]);
        assert!(Record::parse(&record(4)).expect("a record").is_early);
        assert!(Record::parse(&record(8)).expect("a record").is_bare);
    }

    #[test]
    fn what_says_to_be_longer_than_it_is_is_none() {
        assert_eq!(Record::parse(&bytes(4, 0, &[1, 2, 3])), None);
        assert_eq!(Record::parse(&[0; HEAD_BYTES - 1]), None);
    }
}
