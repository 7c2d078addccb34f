//! What the kernel knows of the way to a destination.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::address::unspecified_like;
use crate::options;
use crate::socket::open;

/// The MTU of the route to `to`, IP's headers included: the interface's, or less if a router has said so.
///
/// `from` is the address that our packets carry, for the route can depend on it; the wildcard if it does not matter.
/// Sends nothing.
pub fn kernel_mtu(from: IpAddr, to: IpAddr) -> io::Result<u32> {
    // Any port will do: connecting a UDP socket looks up the route and no more.
    const DISCARD: u16 = 9;
    let fd = open(to)?;
    let from = if from.is_ipv4() == to.is_ipv4() {
        from
    } else {
        unspecified_like(to)
    };
    rustix::net::bind(&fd, &SocketAddr::new(from, 0))?;
    rustix::net::connect(&fd, &SocketAddr::new(to, DISCARD))?;
    let option = match to {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mtu = options::get(fd.as_fd(), option)?;
    u32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[test]
fn loopback_has_the_mtu_of_its_interface() {
    let text = bcl_os::file::of_kernel("/sys/class/net/lo/mtu").unwrap();
    let loopback = IpAddr::from([127, 0, 0, 1]);
    let mtu = kernel_mtu(loopback, loopback).unwrap();
    // The kernel holds no route for more than fits IP's length field.
    assert_eq!(mtu, text.trim().parse::<u32>().unwrap().min(65_535));
}
