//! The peers of a port: found by address, polled by activity.
//!
//! A receiver with 500 peers must not look at 500 rings for each message. The few that were active last
//! are looked at in every poll; the others take turns, a few in each poll that finds nothing.

use std::collections::HashMap;

use bcl_types::Address;

use super::link::LinkId;
use super::peer::Peer;

/// Peers that every poll looks at.
const HOT_MAX: usize = 8;
/// Other peers looked at when the hot ones have nothing.
const COLD_PER_POLL: usize = 2;

/// All peers; the ones that were active last come first.
#[derive(Debug, Default)]
pub struct Peers {
    slots: Vec<Option<Box<Peer>>>,
    free: Vec<u32>,
    by_address: HashMap<Address, u32>,
    by_link: HashMap<LinkId, u32>,
    last: Option<(Address, u32)>,
    /// Connected peers; the first `hot` of them are looked at in every poll.
    connected: Vec<u32>,
    hot: usize,
    next_cold: usize,
    next_victim: usize,
}

impl Peers {
    /// The slot of a peer that has not gone, if it is known.
    #[inline]
    pub fn find(&mut self, address: Address) -> Option<u32> {
        match self.last {
            Some((last, slot)) if last == address => Some(slot),
            _ => {
                let slot = *self.by_address.get(&address)?;
                self.last = Some((address, slot));
                Some(slot)
            }
        }
    }

    /// Adds a peer; with `listed` it is found by its address.
    pub fn add(&mut self, peer: Peer, listed: bool) -> u32 {
        let address = peer.address;
        let peer = Some(Box::new(peer));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = peer;
                slot
            }
            None => {
                self.slots.push(peer);
                (self.slots.len() - 1) as u32
            }
        };
        if listed {
            self.by_address.insert(address, slot);
        }
        slot
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Peer> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    pub fn slot_of_link(&self, link: LinkId) -> Option<u32> {
        self.by_link.get(&link).copied()
    }

    /// A peer's connection is up: poll it from now on.
    pub fn connect(&mut self, slot: u32, link: LinkId) {
        self.by_link.insert(link, slot);
        self.connected.push(slot);
        self.touch(self.connected.len() - 1);
    }

    /// A peer is gone: it is no longer found nor polled, but keeps its slot.
    pub fn retire(&mut self, slot: u32) {
        self.last = None;
        self.by_address.retain(|_, other| *other != slot);
        self.by_link.retain(|_, other| *other != slot);
        if let Some(index) = self.connected.iter().position(|other| *other == slot) {
            if index < self.hot {
                self.hot -= 1;
                self.connected.swap(index, self.hot);
                self.connected.swap_remove(self.hot);
            } else {
                self.connected.swap_remove(index);
            }
        }
    }

    /// Forgets a retired peer.
    pub fn remove(&mut self, slot: u32) {
        if self
            .slots
            .get_mut(slot as usize)
            .is_some_and(|peer| peer.take().is_some())
        {
            self.free.push(slot);
        }
    }

    /// All peers that have not been removed.
    pub fn all(&self) -> impl Iterator<Item = &Peer> {
        self.slots.iter().flatten().map(|peer| &**peer)
    }

    /// Slots of all connected peers.
    pub fn connected(&self) -> &[u32] {
        &self.connected
    }

    /// How many of the connected are looked at in every poll.
    #[inline]
    pub fn hot(&self) -> usize {
        self.hot
    }

    /// Positions among the connected to look at when the hot ones have nothing.
    #[inline]
    pub fn next_cold(&mut self) -> impl Iterator<Item = usize> + use<> {
        let cold = self.connected.len() - self.hot;
        let count = cold.min(COLD_PER_POLL);
        let (start, first) = (self.next_cold, self.hot);
        self.next_cold = self.next_cold.wrapping_add(count);
        (0..count).map(move |step| first + start.wrapping_add(step) % cold)
    }

    /// The peer at this position was active: it becomes hot, in another's place if need be. It may have been cut off for
    /// what it did: then nobody may be there.
    pub fn touch(&mut self, position: usize) {
        if position < self.hot || position >= self.connected.len() {
            return;
        }
        if self.hot < HOT_MAX {
            self.connected.swap(position, self.hot);
            self.hot += 1;
        } else {
            self.next_victim = (self.next_victim + 1) % HOT_MAX;
            self.connected.swap(position, self.next_victim);
        }
    }
}
