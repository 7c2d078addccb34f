//! The multicast group of a region ([REFLECT-9.6]). That there is none is no fault: packets go to hosts one by one then.

use std::env;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use bcl_node::own_addresses;
use bcl_types::scrambled;
use bcl_udp::Socket;

use super::places::{Places, ports_of};
use crate::error::Error;

/// Whether IP multicast is used where the network has it.
const VARIABLE: &str = "BCL_MULTICAST";
/// Groups for use within an organization (RFC 2365), of which a region has one by its number;
const V4_FROM: u32 = u32::from_be_bytes([239, 192, 0, 0]);
const V4_BITS: u32 = 18;
/// and those of IPv6, of one link, not assigned to anybody (RFC 4291).
const V6_FROM: u128 = 0xff12 << 112;
/// Apart from what ports are chosen by.
const SALT: u64 = 3 << 48;

/// What the environment says.
pub fn is_wanted() -> Result<bool, Error> {
    match env::var(VARIABLE).as_deref() {
        Err(_) | Ok("auto") => Ok(true),
        Ok("off") => Ok(false),
        Ok(other) => Err(Error::Configuration(format!(
            "{VARIABLE}: '{other}' is no way to send; write auto, or off to send to each host by itself"
        ))),
    }
}

/// Joins it, and has the socket send to it too.
pub fn join(socket: &Socket, places: &Places, region: u64) -> io::Result<Socket> {
    let others = &places.others;
    let own = own_addresses()?;
    let is_here = |ip: &IpAddr| ip.is_loopback() || own.contains(ip);
    socket.send_to_groups(others.iter().any(is_here))?;
    Socket::join(address_of(region, places.own), places.own)
}

fn address_of(region: u64, own: IpAddr) -> SocketAddr {
    let hash = scrambled(region ^ SALT);
    let ip: IpAddr = match own {
        IpAddr::V4(_) => Ipv4Addr::from(V4_FROM | hash as u32 >> (32 - V4_BITS)).into(),
        IpAddr::V6(_) => Ipv6Addr::from(V6_FROM | u128::from(hash)).into(),
    };
    let port = ports_of(region).next();
    SocketAddr::new(ip, port.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_region_has_a_group_for_itself_nearly_always() {
        let addresses = (0..1000).map(|region| address_of(region, Ipv4Addr::LOCALHOST.into()));
        let mut addresses: Vec<_> = addresses.collect();
        let is_in = |address: &SocketAddr| matches!(address.ip(), IpAddr::V4(v4) if v4.octets()[0] == 239 && v4.octets()[1] & 0xfc == 192);
        assert!(addresses.iter().all(is_in));
        addresses.sort_unstable();
        addresses.dedup();
        assert!(addresses.len() > 998);
        let six = address_of(1, Ipv6Addr::LOCALHOST.into());
        assert!(six.ip().is_multicast() && six.is_ipv6());
    }
}
