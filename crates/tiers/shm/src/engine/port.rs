//! All connections of one port: the shm tier as the library above sees it.

mod notices;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bcl_node::Folder;
use bcl_os::cancel;
use bcl_os::sleep::Sleeper;
use bcl_os::sync::{Ordering, bump};
use bcl_tier::page::Counter;
use bcl_tier::{
    Claim, Depths, LinkInfo, MessageId, NormalSend, RmaOp, Shared, SystemHandle, Target, Tier,
    Upcalls, WaitSet,
};
use bcl_types::{Address, Cause, Device, OpError, OpId, SYSTEM_MAX};

use super::incoming::{Context, Incoming};
use super::link::Link;
use super::peer::Peer;
use super::peers::Peers;
use super::stage::Stages;
use super::ways;
use crate::service::{Service, ShmShared};

/// Polls between two looks at the peers that were quiet, when others keep the port busy.
const POLLS_PER_COLD_TURN: u32 = 16;

/// The shm tier of one port. Not for two threads at once; the port above sees to that.
#[derive(Debug)]
pub struct ShmPort {
    /// The one of `shared`, a step nearer: each message is counted in its page.
    port: Arc<Shared>,
    shared: Arc<ShmShared>,
    service: Service,
    stages: Stages,
    folder: Arc<Folder>,
    /// Until the port is closed.
    claim: Option<Claim>,
    peers: Peers,
    polls: u32,
    sleeper: Sleeper,
}

/// What the halves of a connection need of the port, borrowed apart from its peers.
macro_rules! context {
    ($self:ident, $slot:expr, $from:expr) => {
        Context {
            slot: $slot,
            from: $from,
            counters: &$self.port.page,
            service: &$self.service,
            stages: &$self.stages,
        }
    };
}
use context;

impl ShmPort {
    pub(crate) fn new(
        shared: Arc<ShmShared>,
        service: Service,
        folder: Arc<Folder>,
        claim: Claim,
    ) -> Self {
        Self {
            port: Arc::clone(&shared.port),
            shared,
            service,
            stages: Stages::default(),
            folder,
            claim: Some(claim),
            peers: Peers::default(),
            polls: 0,
            sleeper: Sleeper::default(),
        }
    }
}

impl Tier for ShmPort {
    #[inline]
    fn knows(&mut self, peer: Address) -> bool {
        self.peers.find(peer).is_some()
    }

    fn finds(&self, peer: Address) -> bool {
        self.folder.holds(peer)
    }

    #[inline]
    fn send_system<U: Upcalls>(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        let slot = self.peer_for(to);
        let Some(peer) = self.peers.get_mut(slot) else {
            return false;
        };
        let handled = peer.incoming.handled();
        let sent = match &mut peer.link {
            Some(link) => {
                let counters = &self.port.page;
                peer.out
                    .try_system(link, handled, data, immediate, counters)
            }
            None => Ok(false),
        };
        if sent == Ok(true) {
            if let Some(link) = &mut peer.link {
                link.after_cells(&self.port.page);
            }
            return true;
        }
        let op = name(up);
        peer.out.queue_system(op, data, immediate);
        if sent.is_err() {
            self.cut(slot, up);
        }
        false
    }

    fn unreliable_max(&mut self, _to: Address, _up: &mut impl Upcalls) -> usize {
        SYSTEM_MAX
    }

    /// [SHM-4.3]
    #[inline]
    fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> Result<bool, usize> {
        if data.len() > SYSTEM_MAX {
            return Err(SYSTEM_MAX);
        }
        let slot = self.peer_for(to);
        let Some(peer) = self.peers.get_mut(slot) else {
            return Ok(false);
        };
        let handled = peer.incoming.handled();
        let Some(link) = &mut peer.link else {
            return Ok(false);
        };
        match peer.out.try_system(link, handled, data, 0, &self.port.page) {
            Ok(true) => {
                link.after_cells(&self.port.page);
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(_) => {
                self.cut(slot, up);
                Ok(false)
            }
        }
    }

    #[inline]
    fn send_normal(&mut self, to: Address, send: NormalSend, up: &mut impl Upcalls) {
        let slot = self.peer_for(to);
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let handled = peer.incoming.handled();
        let started = match &mut peer.link {
            Some(link) => peer.out.try_normal(link, handled, &send),
            None => Ok(false),
        };
        match started {
            Ok(true) => {
                if let Some(link) = &mut peer.link {
                    link.after_cells(&self.port.page);
                }
            }
            Ok(false) => peer.out.queue_normal(send),
            Err(_) => {
                peer.out.queue_normal(send);
                self.cut(slot, up);
            }
        }
    }

    fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        let peer = self
            .peers
            .find(to)
            .and_then(|slot| self.peers.get_mut(slot));
        let Some(send) = peer.and_then(|peer| peer.out.cancel_normal(|op| wanted(up, op))) else {
            return false;
        };
        let len_bytes = send.source.memory.len_bytes() as u64;
        up.sent(to, send.channel, send.op, len_bytes, Err(OpError::Canceled));
        true
    }

    #[inline]
    fn rma(&mut self, to: Address, op: RmaOp, up: &mut impl Upcalls) {
        let slot = self.peer_for(to);
        let ctx = context!(self, slot, to);
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let Some(link) = &mut peer.link else {
            peer.rma.queue(op);
            return;
        };
        let started = peer.rma.start(link, &mut peer.out, op, &ctx, up);
        let worked = if peer.out.has_work() {
            started.and(peer.work(&ctx, up).map(drop))
        } else {
            started
        };
        if worked.is_err() {
            self.cut(slot, up);
        }
    }

    fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Upcalls) -> bool {
        // Its sender may have ended, and the message with it ([SEM-7.4]).
        if self.shared.has_notices() {
            self.take_notices(up);
        }
        let Some(peer) = self.peers.get_mut(message.slot) else {
            return false;
        };
        let ctx = context!(self, message.slot, peer.address);
        let Some(link) = peer
            .link
            .as_mut()
            .filter(|link| link.id == message.link && !peer.gone)
        else {
            return false;
        };
        let found = peer
            .incoming
            .accept(link, &mut peer.out, message.number, target, &ctx, up);
        if peer.work(&ctx, up).is_err() {
            self.cut(message.slot, up);
        }
        found
    }

    #[inline]
    fn release(&mut self, message: &SystemHandle) -> bool {
        let Some(peer) = self.peers.get_mut(message.slot) else {
            return false;
        };
        let Some(link) = peer.link.as_mut().filter(|link| link.id == message.link) else {
            return false;
        };
        if !peer.incoming.inbox.release(&mut link.pair, message.number) {
            return false;
        }
        link.after_returns(&self.port.page);
        if peer.gone && peer.incoming.inbox.unreleased() == 0 {
            let _off = cancel::Off::new();
            self.peers.remove(message.slot);
        }
        true
    }

    #[inline]
    fn poll(&mut self, up: &mut impl Upcalls) -> bool {
        let mut moved = false;
        if self.shared.has_notices() {
            moved |= self.take_notices(up);
        }
        for position in 0..self.peers.hot() {
            moved |= self.poll_at(position, up);
        }
        self.polls = self.polls.wrapping_add(1);
        if !moved || self.polls.is_multiple_of(POLLS_PER_COLD_TURN) {
            for position in self.peers.next_cold() {
                if self.poll_at(position, up) {
                    self.peers.touch(position);
                    moved = true;
                }
            }
        }
        moved
    }

    fn arm(&mut self, up: &mut impl Upcalls) -> bool {
        let mut hopes_for_more = false;
        for peer in self.peers.all() {
            hopes_for_more |= peer.wish();
        }
        let page = &self.port.page;
        if self.is_armed() {
            if !hopes_for_more {
                return true;
            }
            // A peer that has looked before we wished for more did not ring: fall asleep anew.
            self.sleeper.awake(page.sleep_epoch());
        }
        if !self.sleeper.fall_asleep(page.sleep_epoch()) {
            page.senders_fence().store(1, Ordering::Relaxed);
        }
        if self.poll_all(up) || self.awaits_stream() {
            self.disarm();
            return false;
        }
        true
    }

    #[inline]
    fn is_armed(&self) -> bool {
        self.sleeper.is_asleep()
    }

    fn disarm(&mut self) {
        if self.is_armed() {
            self.sleeper.awake(self.port.page.sleep_epoch());
            self.port.bell.silence();
        }
    }

    /// Peers ring the bell.
    fn wait_set(&self) -> Option<Arc<dyn WaitSet>> {
        None
    }

    fn links(&self) -> Vec<(Address, LinkInfo)> {
        let peers = self.peers.all().filter(|peer| !peer.gone);
        peers
            .filter_map(|peer| Some((peer.address, describe(peer.link.as_ref()?, &peer.incoming))))
            .collect()
    }

    fn publish(&self, depths: &mut Depths) {
        depths.peer_memory_bytes += self.stages.len_bytes();
        ways::show(&self.port.page);
        for peer in self.peers.all() {
            depths.pending_sends += peer.pending();
            depths.unexpected += peer.incoming.unexpected();
            depths.unreleased += peer.incoming.inbox.unreleased();
            if let Some(link) = &peer.link {
                depths.peer_memory_bytes += link.segment_len_bytes;
                depths.peers += 1;
            }
        }
    }

    /// There is nothing to linger for: what was sent lies with the receiver.
    fn close(&mut self, _linger: Duration) {
        for peer in self.peers.all() {
            if let Some(link) = &peer.link {
                link.pair.my_wishes().closing.store(1, Ordering::SeqCst);
            }
        }
        self.service.close_port(&self.shared);
        self.claim = None;
    }
}

impl ShmPort {
    #[inline]
    fn poll_at(&mut self, position: usize, up: &mut impl Upcalls) -> bool {
        let Some(&slot) = self.peers.connected().get(position) else {
            return false;
        };
        let Some(peer) = self.peers.get_mut(slot) else {
            return false;
        };
        let ctx = context!(self, slot, peer.address);
        match peer.poll(&ctx, up) {
            Ok(moved) => moved,
            Err(_) => {
                self.cut(slot, up);
                true
            }
        }
    }

    /// A round over all peers, with everything that `poll` does only now and then.
    fn poll_all(&mut self, up: &mut impl Upcalls) -> bool {
        let mut moved = self.shared.has_notices() && self.take_notices(up);
        for slot in self.peers.connected().to_vec() {
            let Some(peer) = self.peers.get_mut(slot) else {
                continue;
            };
            let ctx = context!(self, slot, peer.address);
            let polled = peer
                .poll(&ctx, up)
                .and_then(|moved| Ok(moved | peer.work(&ctx, up)?));
            match polled {
                Ok(peer_moved) => moved |= peer_moved,
                Err(_) => {
                    self.cut(slot, up);
                    moved = true;
                }
            }
        }
        moved
    }

    /// Whether a peer may let us wait for what the kernel could copy.
    fn awaits_stream(&self) -> bool {
        self.peers
            .all()
            .any(|peer| !peer.gone && peer.incoming.awaits_stream())
    }

    #[inline]
    fn peer_for(&mut self, address: Address) -> u32 {
        match self.peers.find(address) {
            Some(slot) => slot,
            None => self.contact(address),
        }
    }

    #[cold]
    fn contact(&mut self, address: Address) -> u32 {
        let _off = cancel::Off::new();
        let slot = self.peers.add(Peer::new(address), true);
        self.service.connect(&self.shared, address);
        slot
    }

    /// The peer broke the protocol: nothing it says is believed any more. The thread lets go of our memory
    /// before the operations fail and give it back to the program.
    #[cold]
    fn cut(&mut self, slot: u32, up: &mut impl Upcalls) {
        let _off = cancel::Off::new();
        bump(self.port.page.counter(Counter::ProtocolErrors), 1);
        if let Some(link) = self.peers.get_mut(slot).and_then(|peer| peer.link.as_ref()) {
            self.service.drop_link(link.id);
        }
        self.end(slot, Cause::Protocol, OpError::Protocol, up);
    }

    fn end(&mut self, slot: u32, cause: Cause, error: OpError, up: &mut impl Upcalls) {
        self.peers.retire(slot);
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let address = peer.address;
        let ctx = context!(self, slot, address);
        peer.on_gone(cause, error, &ctx, up);
        peer.gone = true;
        let was_up = peer.link.is_some();
        let held = peer.incoming.inbox.unreleased() > 0;
        if !held {
            self.peers.remove(slot);
        }
        match was_up {
            true => up.peer_gone(address, cause),
            false => up.peer_unreached(address),
        }
    }
}

fn describe(link: &Link, incoming: &Incoming) -> LinkInfo {
    LinkInfo {
        device: Device::Shm,
        copy: link.describe_copy() + &incoming.describe_ways(),
    }
}
