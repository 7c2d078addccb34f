//! What can be told of the network between nodes without a port: for tools such as `bcl doctor`.
//!
//! Sockets, routes and MTUs as the `udp` tier sees them, and which UDP ports belong to it.

use std::ops::RangeInclusive;

pub use bcl_proto::MtuSearch;
pub use bcl_tier_net::packet_secret;
pub use bcl_udp::mtu::{kernel_mtu, largest_datagram_bytes};
pub use bcl_udp::route::{Doubt, Interface, Route, RouteError, interfaces, route_to};
pub use bcl_udp::{
    BindError, Buffers, Datagram, HEADER_BYTES, Received, Report, SendError, Settings, Socket,
    Trouble,
};

use bcl_wire::JobKeys;
use bcl_wire::udp_port::{LAST_PORT, UDP_BASE};

use crate::JobKey;

/// The UDP ports by which nodes reach each other, for one rule of a firewall.
pub const UDP_PORTS: RangeInclusive<u16> = UDP_BASE + 1..=UDP_BASE + LAST_PORT;

/// A name of the job that `key` belongs to, which tells nothing of the key: the one that its packets carry
/// ([WIRE-3.3]).
pub fn job_id(key: &JobKey) -> u64 {
    JobKeys::derive(&packet_secret(key)).id()
}

#[test]
fn jobs_differ_by_key() {
    let key = |digit: &str| JobKey::from_hex(&digit.repeat(64)).unwrap();
    assert_eq!(job_id(&key("1")), job_id(&key("1")));
    assert_ne!(job_id(&key("1")), job_id(&key("2")));
}
