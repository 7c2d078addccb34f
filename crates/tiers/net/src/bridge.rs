//! What the protocol tells the port, and asks of it: memory goes by name there and by address here.

use std::net::{IpAddr, SocketAddr};

use bcl_node::Nodes;
use bcl_os::sync::bump;
use bcl_proto as proto;
use bcl_tier::page::Counter;
use bcl_tier::{Arrival, Shared, Upcalls};
use bcl_types::{Access, Address, Atomic, Cause, OpError, OpId, Refusal};
use bcl_udp::mtu;
use bcl_wire::udp_port;

use crate::lent::{Lent, Memory};
use crate::link::Reach;
use crate::{link, names};

/// The port while the protocol is at work: `up` is the program's, or keeps the news for it.
#[derive(Debug)]
pub struct Bridge<'a, U> {
    pub up: &'a mut U,
    pub lent: &'a mut Lent,
    pub shared: &'a Shared,
    pub nodes: &'a Nodes,
    /// Where our packets come from.
    pub ip: IpAddr,
    pub reach: &'a Reach,
}

/// Where packets for a peer go, if its number is one that other nodes reach.
pub fn path_to(nodes: &Nodes, peer: Address) -> Option<SocketAddr> {
    let ip: IpAddr = *nodes.addresses(peer.node).first()?;
    Some(SocketAddr::new(ip, udp_port::of_port(peer.port)?))
}

impl<U: Upcalls> proto::Upcalls for Bridge<'_, U> {
    fn path_to(&mut self, peer: Address) -> Option<proto::Path> {
        // A key that everybody knows would let anybody on the network answer in the peer's place.
        if self.shared.key().is_secret() && !self.shared.key_of(peer).is_secret() {
            return None;
        }
        let to = path_to(self.nodes, peer)?;
        Some(proto::Path { to, rail: 0 })
    }

    fn secret_of(&mut self, peer: Address) -> Option<[u8; 32]> {
        Some(self.shared.key_of(peer).packet_secret())
    }

    fn datagram_bytes(&mut self, path: proto::Path) -> Option<u16> {
        let mtu = mtu::kernel_mtu(self.ip, path.to.ip()).ok()?;
        let longest = mtu::largest_datagram_bytes(mtu, path.to.ip());
        Some(u16::try_from(longest).unwrap_or(u16::MAX))
    }

    fn passes_interface(&mut self, path: proto::Path) -> bool {
        self.reach.sees(self.ip, path.to.ip())
    }

    fn is_full(&self) -> bool {
        self.up.is_full()
    }

    fn owes_arrivals(&self) -> bool {
        self.up.owes_arrivals()
    }

    fn stranger(&mut self) {
        bump(self.shared.page.counter(Counter::RefusedKey), 1);
    }

    #[inline]
    fn system(
        &mut self,
        from: Address,
        message: proto::SystemHandle,
        immediate: u64,
        bytes: &[u8],
    ) {
        bump(self.shared.page.counter(Counter::SystemReceived), 1);
        self.count_in(message.len_bytes.into());
        let handle = names::handle_to_port(message, immediate, bytes);
        self.up.system(from, handle);
    }

    fn arrived(
        &mut self,
        from: Address,
        message: proto::MessageId,
        channel: u16,
        len_bytes: u64,
        immediate: u64,
    ) -> Option<proto::Target> {
        let target = self.up.arrived(&Arrival {
            message: names::message_to_port(message),
            from,
            channel,
            len_bytes,
            immediate,
        })?;
        self.lent.lend(target.op, Memory::Target(target.memory));
        Some(proto::Target {
            op: target.op,
            capacity_bytes: target.memory.len_bytes() as u64,
        })
    }

    fn withdrawn(&mut self, message: proto::MessageId, channel: u16) {
        let name = names::message_to_port(message);
        self.up.withdrawn(name, channel);
    }

    #[inline]
    fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        self.lent.place(op, offset, bytes)
    }

    fn fetch(&mut self, op: OpId, offset: u64, into: &mut [u8]) -> bool {
        self.lent.gather(op, offset, into)
    }

    fn received(
        &mut self,
        from: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.lent.give_back(op);
        if result.is_ok() {
            bump(self.shared.page.counter(Counter::NormalReceived), 1);
            self.count_in(len_bytes);
        }
        self.up.received(from, channel, op, len_bytes, result);
    }

    fn sent(
        &mut self,
        to: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.lent.give_back(op);
        if result.is_ok() {
            let kind = match channel {
                0 => Counter::SystemSent,
                _ => Counter::NormalSent,
            };
            bump(self.shared.page.counter(kind), 1);
            bump(self.shared.page.counter(Counter::BytesSent), len_bytes);
        }
        self.up.sent(to, channel, op, len_bytes, result);
    }

    fn rma_done(
        &mut self,
        peer: Address,
        window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        self.lent.give_back(op);
        self.up.rma_done(peer, window, op, value, result);
    }

    fn window_put(
        &mut self,
        from: Address,
        put: proto::WindowPut,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let windows = self.shared.windows();
        let window = windows.get(put.window).ok_or(Refusal::NoWindow)?;
        // Every piece is held against the whole put: all of it is permitted, or nothing is written ([SEM-5.1]).
        window
            .permits(put.start, put.len_bytes, Access::PUT)
            .and_then(|()| window.put(put.offset, bytes))?;
        let notifies = window.notifies();
        drop(windows);
        if put.is_last {
            self.served(notifies, from, put.window, put.start, put.len_bytes);
        }
        Ok(())
    }

    fn window_written(&mut self, from: Address, window: u16, start: u64, len_bytes: u64) {
        self.served(true, from, window, start, len_bytes);
    }

    fn window_get(
        &mut self,
        from: Address,
        window: u16,
        offset: u64,
        into: &mut [u8],
    ) -> Result<(), Refusal> {
        let windows = self.shared.windows();
        let bound = windows.get(window).ok_or(Refusal::NoWindow)?;
        bound.get(offset, into)?;
        drop(windows);
        self.served(false, from, window, offset, into.len() as u64);
        Ok(())
    }

    fn window_atomic(
        &mut self,
        from: Address,
        window: u16,
        offset: u64,
        atomic: Atomic,
    ) -> Result<u64, Refusal> {
        let windows = self.shared.windows();
        let bound = windows.get(window).ok_or(Refusal::NoWindow)?;
        let found = bound.atomic(offset, atomic)?;
        let notifies = bound.notifies();
        drop(windows);
        self.served(notifies, from, window, offset, 8);
        Ok(found)
    }

    fn peer_up(&mut self, peer: Address) {
        let info = link::of_new(self.reach, self.ip, path_to(self.nodes, peer));
        self.up.peer_up(peer, &info);
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.up.peer_gone(peer, cause);
    }

    fn peer_unreached(&mut self, peer: Address) {
        self.up.peer_unreached(peer);
    }
}

impl<U: Upcalls> Bridge<'_, U> {
    fn count_in(&self, len_bytes: u64) {
        bump(self.shared.page.counter(Counter::BytesReceived), len_bytes);
    }

    /// A peer has been served; its owner hears of it if it wants to.
    fn served(&mut self, notifies: bool, from: Address, window: u16, offset: u64, len_bytes: u64) {
        bump(self.shared.page.counter(Counter::RmaServed), 1);
        if notifies {
            self.up.rma_arrived(from, window, offset, len_bytes);
        }
    }
}
