//! How large a datagram may be on the way to a destination.
//!
//! The kernel knows the MTU of the interface and what routers have told it ([`kernel_mtu`]); what it does not
//! know the protocol above finds by trying.

mod kernel;

use std::net::IpAddr;

pub use kernel::kernel_mtu;

/// The largest datagram (without the headers of UDP and IP) that fits a packet of `mtu` bytes to `to`.
pub fn largest_datagram_bytes(mtu: u32, to: IpAddr) -> usize {
    const UDP_BYTES: u32 = 8;
    let ip_bytes = match to {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    };
    // An interface may take more, such as loopback, but the length field of IP has 16 bits.
    let packet_bytes = mtu.min(u32::from(u16::MAX));
    packet_bytes.saturating_sub(ip_bytes + UDP_BYTES) as usize
}

#[test]
fn headers_are_subtracted() {
    let v4 = IpAddr::from([10, 0, 0, 1]);
    assert_eq!(largest_datagram_bytes(1500, v4), 1472);
    assert_eq!(largest_datagram_bytes(65_536, v4), 65_507);
    assert_eq!(largest_datagram_bytes(20, v4), 0);
    assert_eq!(largest_datagram_bytes(1500, "::1".parse().unwrap()), 1452);
}
