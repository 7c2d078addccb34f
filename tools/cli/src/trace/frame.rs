//! From a frame of a network to the datagrams in it. Frames are anybody's bytes: nothing here panics.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const UDP: u8 = 17;

/// What frames begin with, by the numbers of pcap's link types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Ethernet, with or without VLAN tags.
    Ethernet,
    /// An IP packet at once.
    Ip,
    /// 4 bytes that name the family, as BSD's loopback has it.
    Family,
    /// Linux' "cooked" capture of all interfaces, in two versions.
    Cooked,
    Cooked2,
}

impl Link {
    /// The number of [`Link::Ip`].
    pub const IP: u32 = 101;

    pub fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Family,
            1 => Self::Ethernet,
            12 | Self::IP | 228 | 229 => Self::Ip,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            _ => return None,
        })
    }

    /// The IP packet in a frame; what is not IP is told later, by its version.
    pub fn ip(self, frame: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Ethernet => {
                let mut rest = frame.get(12..)?;
                while matches!(be16(rest, 0)?, 0x8100 | 0x88a8) {
                    rest = rest.get(4..)?;
                }
                matches!(be16(rest, 0)?, 0x0800 | 0x86dd).then(|| rest.get(2..))?
            }
            Self::Ip => Some(frame),
            Self::Family => frame.get(4..),
            Self::Cooked => frame.get(16..),
            Self::Cooked2 => frame.get(20..),
        }
    }
}

/// A UDP datagram as it was found in an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: &'a [u8],
    /// The payload is longer, but this is all that was captured or that fitted one fragment.
    pub is_cut: bool,
}

impl<'a> Datagram<'a> {
    /// From an IP packet; `None` if it holds no UDP header: another protocol, or a later fragment.
    pub fn of_ip(packet: &'a [u8]) -> Option<Self> {
        let (source, destination, udp) = match packet.first()? >> 4 {
            4 => of_ipv4(packet)?,
            6 => of_ipv6(packet)?,
            _ => return None,
        };
        let len = usize::from(be16(udp, 4)?).checked_sub(8)?;
        let captured = udp.get(8..)?;
        Some(Self {
            source: SocketAddr::new(source, be16(udp, 0)?),
            destination: SocketAddr::new(destination, be16(udp, 2)?),
            payload: captured.get(..len).unwrap_or(captured),
            is_cut: captured.len() < len,
        })
    }
}

/// Addresses, and what follows the header.
fn of_ipv4(packet: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let header_len = usize::from(packet.first()? & 0xf) * 4;
    let is_first_fragment = be16(packet, 6)? & 0x1fff == 0;
    if header_len < 20 || *packet.get(9)? != UDP || !is_first_fragment {
        return None;
    }
    // What follows the packet in its frame is padding. A length of 0 is that of a run of segments that the
    // kernel has put together.
    let len = match usize::from(be16(packet, 2)?) {
        0 => packet.len(),
        len => len.min(packet.len()),
    };
    let address = |at: usize| -> Option<[u8; 4]> { packet.get(at..at + 4)?.try_into().ok() };
    Some((
        Ipv4Addr::from(address(12)?).into(),
        Ipv4Addr::from(address(16)?).into(),
        packet.get(header_len..len)?,
    ))
}

/// As [`of_ipv4`], over the extension headers that may stand before UDP.
fn of_ipv6(packet: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let address = |at: usize| -> Option<[u8; 16]> { packet.get(at..at + 16)?.try_into().ok() };
    let source = Ipv6Addr::from(address(8)?).into();
    let destination = Ipv6Addr::from(address(24)?).into();
    let mut next = *packet.get(6)?;
    let mut rest = packet.get(40..)?;
    loop {
        let header_len = match next {
            UDP => return Some((source, destination, rest)),
            // Hop-by-hop, routing, destination options.
            0 | 43 | 60 => 8 + 8 * usize::from(*rest.get(1)?),
            // A fragment: only the first has the header of UDP.
            44 if be16(rest, 2)? & 0xfff8 == 0 => 8,
            _ => return None,
        };
        next = *rest.first()?;
        rest = rest.get(header_len..)?;
    }
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(payload: &[u8]) -> Vec<u8> {
        let len = (8 + payload.len()) as u16;
        let ports = [20_007u16, 20_008, len, 0].map(u16::to_be_bytes).concat();
        [&ports[..], payload].concat()
    }

    fn ipv4(protocol: u8, fragment: u16, content: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend((20 + content.len() as u16).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        [&packet[..], content].concat()
    }

    #[test]
    fn a_datagram_is_found_behind_ethernet_vlan_and_padding() {
        let packet = [&ipv4(UDP, 0x4000, &udp(b"payload"))[..], &[0; 9]].concat();
        for tags in [&[][..], &[0x81, 0, 0, 5][..]] {
            let frame = [&[0; 12][..], tags, &[8, 0], &packet].concat();
            let packet = Link::Ethernet.ip(&frame).unwrap();
            let found = Datagram::of_ip(packet).unwrap();
            assert_eq!(found.source, "10.0.0.1:20007".parse().unwrap());
            assert_eq!(found.destination, "10.0.0.2:20008".parse().unwrap());
            assert_eq!((found.payload, found.is_cut), (&b"payload"[..], false));
        }
    }

    #[test]
    fn what_is_no_datagram_is_passed_over_and_what_is_cut_is_told() {
        assert_eq!(Datagram::of_ip(&ipv4(6, 0, &udp(b"tcp"))), None);
        assert_eq!(
            Datagram::of_ip(&ipv4(UDP, 1, &udp(b"later fragment"))),
            None
        );
        let packet = ipv4(UDP, 0, &udp(b"payload"));
        let found = Datagram::of_ip(&packet[..packet.len() - 3]).unwrap();
        assert_eq!((found.payload, found.is_cut), (&b"payl"[..], true));
        for len in 0..27 {
            assert_eq!(Datagram::of_ip(&packet[..len]), None);
        }
    }

    #[test]
    fn extension_headers_of_ipv6_are_passed_over() {
        let datagram = udp(b"six");
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, 60, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([UDP, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend(&datagram);
        let found = Datagram::of_ip(&packet).unwrap();
        assert_eq!(found.payload, b"six");
        assert_eq!(found.source.port(), 20_007);
        assert!(found.source.is_ipv6());
    }
}
