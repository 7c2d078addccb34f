//! The network tier: ports of other nodes, over UDP, without privileges.
//!
//! Read [`inner`] (the protocol, its socket and the memory lent to it), [`station`] (how the program and the
//! background thread share that), [`watcher`] (the thread) and [`NetPort`] (the face to the port's [`Tiers`]).
//!
//! [`Tiers`]: crate::tiers::Tiers

mod books;
mod clock;
mod deferred;
mod inner;
mod lent;
mod station;
mod translate;
mod watcher;

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use bcl_node::{Folder, Nodes};
use bcl_port::{LinkInfo, MessageId, RmaOp, Shared, Source, SystemHandle, Target};
use bcl_tier_shm::Config;
use bcl_types::{Address, OpId};

use crate::error::Error;
use crate::state::State;
use crate::tiers::Wish;
use inner::Inner;
pub use station::Station;

/// Polls without a packet after which the socket is looked at less often: a system call costs more than a look at
/// all shared-memory peers.
const PATIENT_POLLS: u32 = 4096;
/// Polls between two looks at the socket then.
const POLLS_PER_LOOK: u32 = 8;

/// See the module. Not for two threads at once; the port above sees to that.
#[derive(Debug)]
pub struct NetPort {
    station: Arc<Station>,
    own: Address,
    serves_own_node: bool,
    folder: Folder,
    quiet_polls: u32,
}

impl NetPort {
    /// Opens the UDP port that belongs to the port's number.
    pub fn open(config: &Config, wish: &Wish, shared: &Arc<Shared>) -> Result<Self, Error> {
        let own = shared.address;
        let folder =
            Folder::open(&config.folder).map_err(|error| Error::Folder(error.to_string()))?;
        let nodes = Nodes::load()?;
        let station = watcher::join(|mailbox| {
            let inner = Inner::open(&config.key, wish.dead_after, shared, nodes)?;
            Station::new(inner, Arc::clone(shared), mailbox).map_err(|errno| Error::System {
                what: "duplicating a socket",
                errno,
            })
        })?;
        Ok(Self {
            station,
            own,
            serves_own_node: wish.device == crate::options::Device::Udp,
            folder,
            quiet_polls: 0,
        })
    }

    pub fn station(&self) -> Arc<Station> {
        Arc::clone(&self.station)
    }

    /// Whether a peer is this tier's: one of another node that shared memory does not reach.
    #[inline]
    pub fn serves(&self, peer: Address, known_to_shm: impl FnOnce() -> bool) -> bool {
        if peer == self.own {
            return false;
        }
        if self.serves_own_node {
            return true;
        }
        peer.node != self.own.node
            && !known_to_shm()
            && (self.station.inspect(|inner| inner.knows(peer)) || !self.folder.holds(peer))
    }

    #[inline]
    pub fn send_system(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut State,
        name: impl FnOnce(&mut State) -> OpId,
    ) -> bool {
        self.quiet_polls = 0;
        self.station
            .visit(up, |inner, up| inner.send_system(to, data, up, name))
    }

    pub fn unreliable_max(&mut self, to: Address, up: &mut State) -> usize {
        self.station.visit(up, |inner, _| inner.unreliable_max(to))
    }

    pub fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut State,
    ) -> Result<bool, usize> {
        self.quiet_polls = 0;
        self.station
            .visit(up, |inner, up| inner.send_unreliable(to, data, up))
    }

    pub fn send_normal(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        op: OpId,
        up: &mut State,
    ) {
        self.quiet_polls = 0;
        self.station.visit(up, |inner, up| {
            inner.send_normal(to, channel, source, op, up)
        });
    }

    pub fn rma(&mut self, peer: Address, op: RmaOp, up: &mut State) {
        self.quiet_polls = 0;
        self.station.visit(up, |inner, up| inner.rma(peer, op, up));
    }

    pub fn accept(&mut self, message: MessageId, target: Target, up: &mut State) -> bool {
        self.quiet_polls = 0;
        self.station
            .visit(up, |inner, up| inner.accept(message, target, up))
    }

    /// Where a system message lies; it stays there until it is released.
    pub fn data(&self, message: &SystemHandle) -> *const u8 {
        self.station.data(message)
    }

    pub fn release(&mut self, message: &SystemHandle) -> bool {
        self.station.release(message)
    }

    /// Looks for packets, unless there is nobody who could send any or none have come for long.
    #[inline]
    pub fn poll(&mut self, up: &mut State) -> bool {
        if !self.station.is_worth_a_visit() {
            return false;
        }
        self.quiet_polls = self.quiet_polls.saturating_add(1);
        if self.quiet_polls > PATIENT_POLLS && self.quiet_polls % POLLS_PER_LOOK != 0 {
            return false;
        }
        self.poll_now(up)
    }

    /// Looks for packets. Returns whether anything moved.
    pub fn poll_now(&mut self, up: &mut State) -> bool {
        let moved = self.station.visit(up, |inner, up| inner.work(up));
        if moved {
            self.quiet_polls = 0;
        }
        moved
    }

    pub fn descriptor(&self, bell: BorrowedFd<'_>) -> Result<BorrowedFd<'_>, Error> {
        self.station.descriptor(bell)
    }

    pub fn links(&self) -> Vec<(Address, LinkInfo)> {
        self.station.inspect(Inner::links)
    }

    /// Adds this tier's queue depths to those in the port's page, and writes what else `bcl stat` shows of it.
    pub fn publish(&self) {
        self.station.inspect(Inner::publish);
    }

    /// Says goodbye to all peers, and waits up to `linger` until they have what was sent to them.
    pub fn close(&mut self, linger: Duration) {
        self.station.close(linger);
        watcher::leave(&self.station);
    }
}
