//! The addresses of all hosts that are made here.

use std::io::{Error, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::tool::run;

/// The blocks in the order in which they are tried: the first two octets of a /16, and the first part of a /64. The
/// last two stand for themselves where a machine routes all private addresses: they are for measurements of networks
/// (RFC 2544).
const BLOCKS: [([u8; 2], u16); 5] = [
    ([10, 77], 0xfd77),
    ([172, 29], 0xfd78),
    ([192, 168], 0xfd79),
    ([198, 18], 0xfd7a),
    ([198, 19], 0xfd7b),
];

/// A /16 of IPv4 and a /64 of IPv6 that no interface and no route of this machine had when it was chosen: 10.77.0.0/16
/// and fd77::/64, or the next ones that are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    v4: [u8; 2],
    v6: u16,
}

impl Block {
    /// Bits of an IPv4 address that all of the block have in common.
    pub const V4_PREFIX_BITS: u8 = 16;
    /// Bits of an IPv4 address that all of a part of the block have in common.
    pub const PART_PREFIX_BITS: u8 = 24;
    /// Bits of an IPv6 address that all of the block have in common.
    pub const V6_PREFIX_BITS: u8 = 64;

    /// The first that is free, in the network of the calling thread.
    ///
    /// # Errors
    /// When `ip` cannot tell the routes, and when each block has a route.
    pub fn free() -> Result<Self> {
        let mut taken = Vec::new();
        for family in ["-4", "-6"] {
            let shown = run(&format!("ip {family} route show table all"))?;
            taken.extend(shown.lines().filter_map(destination));
        }
        Self::first_without(&taken).ok_or_else(|| {
            Error::other(format!(
                "no addresses for hosts: this machine has routes into each of {}; run this in a network of its own, \
                 as 'unshare --net' makes one",
                BLOCKS.map(|([first, second], _)| format!("{first}.{second}.0.0/16")).join(", ")
            ))
        })
    }

    /// Host `host` of part `part`: `10.77.part.host`.
    pub fn v4(self, part: u8, host: u8) -> Ipv4Addr {
        let [first, second] = self.v4;
        [first, second, part, host].into()
    }

    /// `fd77::host`.
    pub fn v6(self, host: u16) -> Ipv6Addr {
        [self.v6, 0, 0, 0, 0, 0, 0, host].into()
    }

    fn first_without(taken: &[Net]) -> Option<Self> {
        let blocks = BLOCKS.map(|(v4, v6)| Self { v4, v6 });
        blocks
            .into_iter()
            .find(|block| !taken.iter().any(|net| net.overlaps(block)))
    }
}

/// What a route leads to.
struct Net {
    address: IpAddr,
    bits: u8,
}

impl Net {
    fn overlaps(&self, block: &Block) -> bool {
        let (apart_from, block_bits) = match self.address {
            IpAddr::V4(address) => {
                let apart = address.to_bits() ^ block.v4(0, 0).to_bits();
                (apart.leading_zeros(), Block::V4_PREFIX_BITS)
            }
            IpAddr::V6(address) => {
                let apart = address.to_bits() ^ block.v6(0).to_bits();
                (apart.leading_zeros(), Block::V6_PREFIX_BITS)
            }
        };
        apart_from >= u32::from(self.bits.min(block_bits))
    }
}

/// What the route in this line of `ip route` leads to. A default route leads to nothing of its own, and what every
/// interface has of IPv6 (fe80::/64, ff00::/8) is in nobody's way.
fn destination(line: &str) -> Option<Net> {
    // The kind of a route stands before its destination, unless it is the usual one.
    line.split_whitespace().take(2).find_map(net)
}

fn net(word: &str) -> Option<Net> {
    let (address, bits) = match word.split_once('/') {
        Some((address, bits)) => (address.parse().ok()?, bits.parse().ok()?),
        None => {
            let address: IpAddr = word.parse().ok()?;
            (address, if address.is_ipv4() { 32 } else { 128 })
        }
    };
    // As 0.0.0.0/0 some write the default route.
    (bits > 0).then_some(Net { address, bits })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "\
default via 192.0.2.1 dev eth0
10.0.0.0/8 via 192.0.2.9 dev eth0 proto static
172.17.0.0/16 dev docker0 proto kernel scope link src 172.17.0.1 linkdown
192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.2
local 192.0.2.2 dev eth0 table local proto kernel scope host src 192.0.2.2
broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.2
unreachable default dev lo table unspec metric 4294967295 error 4294967183
fe80::/64 dev eth0 proto kernel metric 256 pref medium
local fd77::5 dev eth0 table local proto kernel metric 0 pref medium
multicast ff00::/8 dev eth0 table local proto kernel metric 256 pref medium
";

    fn chosen(routes: &str) -> Option<Ipv4Addr> {
        let taken: Vec<Net> = routes.lines().filter_map(destination).collect();
        Block::first_without(&taken).map(|block| block.v4(0, 0))
    }

    #[test]
    fn routes_are_read_with_what_they_lead_to() {
        let read = |line: &str| destination(line).map(|net| (net.address.to_string(), net.bits));
        let mut lines = MACHINE.lines();
        assert_eq!(read(lines.next().unwrap()), None);
        assert_eq!(read(lines.next().unwrap()), Some(("10.0.0.0".into(), 8)));
        let rest: Vec<_> = lines.filter_map(read).collect();
        assert_eq!(rest.len(), 7);
        assert_eq!(rest[2], ("192.0.2.2".into(), 32));
        assert_eq!(rest[5], ("fd77::5".into(), 128));
        assert_eq!(read("0.0.0.0/0 dev tun0"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn the_first_block_without_a_route_is_taken() {
        let first = Some(Ipv4Addr::new(10, 77, 0, 0));
        let second = Some(Ipv4Addr::new(172, 29, 0, 0));
        assert_eq!(chosen(""), first);
        assert_eq!(chosen("10.76.0.0/16 dev a\n10.78.0.0/15 dev a"), first);
        for taken in [
            "10.0.0.0/8 dev a",
            "local 10.77.200.3 dev a",
            "10.77.3.0/24 dev a",
            "10.64.0.0/12 dev a",
            "fd77::/16 dev a",
            "local fd77::5 dev a",
            MACHINE,
        ] {
            assert_eq!(chosen(taken), second, "{taken}");
        }
        // Another network of the same /16 is another block.
        assert_eq!(chosen("fd77:0:0:1::/64 dev a"), first);
        let private = "10.0.0.0/8 dev a\n172.16.0.0/12 dev a\n192.168.0.0/16 dev a";
        assert_eq!(chosen(private), Some(Ipv4Addr::new(198, 18, 0, 0)));
        // As a VPN routes everything.
        assert_eq!(chosen("0.0.0.0/1 dev tun0\n128.0.0.0/1 dev tun0"), None);
    }

    #[test]
    fn hosts_have_addresses_of_the_block() {
        let block = Block::first_without(&[]).unwrap();
        assert_eq!(block.v4(1, 44).to_string(), "10.77.1.44");
        assert_eq!(block.v6(300).to_string(), "fd77::12c");
    }
}
