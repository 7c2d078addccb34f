//! The protocol of a port, where its packets come from, and the memory lent to it. Whoever holds the station's lock
//! drives it.
//!
//! [`open`] makes it; the program's calls are in `requests`, what happens without them in `turns`; both end with sending
//! what there is to send, in `batches`. `statistics` shows it to people.

mod batches;
mod gathered;
pub mod open;
mod requests;
mod statistics;
mod turns;

pub use turns::Look;

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bcl_node::Nodes;
use bcl_proto::{Endpoint, Time};
use bcl_tier::Shared;
use bcl_types::Address;

use crate::bridge::path_to;
use crate::clock::now_ns;
use crate::deferred::Deferred;
use crate::interface::Interface;
use crate::lent::Lent;
use crate::link::Reach;
use crate::udp::UdpSource;
use batches::Unsent;

/// All of a port that its lock protects.
#[derive(Debug)]
pub struct Engine {
    endpoint: Endpoint,
    udp: UdpSource,
    interface: Option<Interface>,
    reach: Reach,
    lent: Lent,
    deferred: Deferred,
    shared: Arc<Shared>,
    nodes: Nodes,
    /// Where our packets come from.
    ip: IpAddr,
    /// Whether the last turn has found packets.
    is_busy: bool,
    /// Until when somebody has looked for packets, or slept until some came.
    looked_at: Time,
    /// When what is due was looked for last.
    looked_at_clock: Time,
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
            reach: &$self.reach,
        }
    };
}
use bridge;

fn now() -> Time {
    Time(now_ns())
}

impl Engine {
    /// To be slept on: what is readable when a packet has come, or an answer of the agent.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.udp.descriptors().chain(self.agent())
    }

    /// Readable when the agent has answered.
    pub fn agent(&self) -> Option<BorrowedFd<'_>> {
        self.interface.as_ref().map(Interface::agent)
    }

    /// To be slept on as well, by who [listens](Self::listen): readable when there are records in it.
    pub fn ring(&self) -> Option<BorrowedFd<'_>> {
        self.interface.as_ref().map(Interface::ring)
    }

    /// Whether sleeping on the ring is of no use: what lies in it has to wait for room.
    #[inline]
    pub fn ring_is_stuck(&self) -> bool {
        self.interface.as_ref().is_some_and(Interface::is_stuck)
    }

    /// Somebody is going to sleep on the descriptors: to be said before the last look.
    pub fn listen(&mut self) {
        self.udp.listen();
        if let Some(interface) = &mut self.interface {
            interface.listen();
        }
    }

    /// ... and does so no longer.
    pub fn stop_listening(&mut self) {
        self.udp.stop_listening();
        if let Some(interface) = &mut self.interface {
            interface.stop_listening();
        }
    }

    /// The interface program's side of the port.
    pub fn interface(&mut self) -> Option<&mut Interface> {
        self.interface.as_mut()
    }

    /// A window was unbound.
    pub fn on_unbound(&mut self, window: u16) {
        self.endpoint.on_unbound(window);
    }

    /// Connections, and attempts at one.
    pub fn peers(&self) -> u32 {
        self.endpoint.peer_count() as u32
    }

    pub fn next_timeout_ns(&mut self) -> Option<u64> {
        let interface = self.interface.as_ref();
        let interface = interface.and_then(|interface| interface.next_timeout());
        let timeouts = self.endpoint.next_timeout().into_iter().chain(interface);
        timeouts.map(|time| time.0).min()
    }

    pub fn knows(&self, peer: Address) -> bool {
        self.endpoint.knows(peer)
    }

    /// Whether the peer's node and number are such that packets reach it.
    pub fn finds(&self, peer: Address) -> bool {
        path_to(&self.nodes, peer).is_some()
    }

    /// Whether all that was sent has arrived.
    pub fn is_drained(&self) -> bool {
        self.endpoint.is_drained() && self.unsent.is_empty()
    }
}
