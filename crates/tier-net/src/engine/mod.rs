//! The protocol of a port, where its packets come from, and the memory lent to it. Whoever holds the station's lock
//! drives it.
//!
//! [`open`] makes it; the program's calls are in `requests`, what happens without them in `turns`; both end with sending
//! what there is to send, in `batches`. `statistics` shows it to people.

mod batches;
pub mod open;
mod requests;
mod statistics;
mod turns;

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bcl_node::Nodes;
use bcl_port::Shared;
use bcl_proto::{Endpoint, Time};
use bcl_types::Address;

use crate::clock::now_ns;
use crate::deferred::Deferred;
use crate::lent::Lent;
use crate::udp::UdpSource;
use batches::Unsent;

/// See the module.
#[derive(Debug)]
pub struct Engine {
    endpoint: Endpoint,
    udp: UdpSource,
    lent: Lent,
    deferred: Deferred,
    shared: Arc<Shared>,
    nodes: Nodes,
    /// Where our packets come from.
    ip: IpAddr,
    /// Whether the last turn has found packets.
    is_busy: bool,
    unsent: Unsent,
}

/// The port as the protocol sees it, borrowed apart from the protocol.
macro_rules! bridge {
    ($self:ident, $up:expr) => {
        &mut $crate::bridge::Bridge {
            up: $up,
            lent: &mut $self.lent,
            shared: &$self.shared,
            nodes: &$self.nodes,
            ip: $self.ip,
        }
    };
}
use bridge;

fn now() -> Time {
    Time(now_ns())
}

impl Engine {
    /// To be slept on: one for each source of packets, readable when it has some.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 1] {
        [self.udp.descriptor()]
    }

    /// Connections, and attempts at one.
    pub fn peers(&self) -> u32 {
        self.endpoint.peer_count() as u32
    }

    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.endpoint.next_timeout().map(|time| time.0)
    }

    pub fn knows(&self, peer: Address) -> bool {
        self.endpoint.knows(peer)
    }

    /// Whether all that was sent has arrived.
    pub fn is_drained(&self) -> bool {
        self.endpoint.is_drained() && self.unsent.is_empty()
    }
}
