//! A seat: a host with a process, and what its program wants.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use bcl_types::Random;

use crate::World;
use crate::net::{CardId, HostId, Site};
use crate::oracle::{Ends, Expected, Life, Meeting, Seat, StreamKey};
use crate::party::{Party, Setup};
use crate::port::{first_address, first_ip};

use super::turns::{Deed, Turn};

/// How many buffers a program posts on each channel before anything comes, if it posts early.
const EARLY_POSTS: usize = 8;

/// A seat of a world.
pub(super) struct SeatState<P> {
    pub(super) card: CardId,
    pub(super) address: SocketAddr,
    pub(super) life: Life,
    /// Since when this process runs, or when the last one ended.
    pub(super) since_ns: u64,
    pub(super) party: Option<P>,
    /// When a packet of a seat may have been heard here first that a stranger had held back.
    pub(super) held_back_ns: BTreeMap<Seat, u64>,
    /// When it closed its port, if it has.
    pub(super) closed_ns: Option<u64>,
    /// What it would have done while it was stopped.
    pub(super) deferred: Vec<Deed>,
    /// The earliest timer in the schedule.
    pub(super) timer_ns: Option<u64>,
    /// Whether it waits for its card to take more.
    pub(super) will_flush: bool,
    /// Whether it is going to look at what an interface program has taken for it.
    pub(super) will_look: bool,
    /// Until when its program computes and looks at nothing.
    pub(super) naps_until_ns: u64,
    /// When its program began something, or was told something, the last time.
    pub(super) stirred_ns: u64,
    pub(super) ends: Ends<Pending>,
    /// How many messages its programs have wanted back, and how many they have got.
    pub(super) regrets: u64,
    pub(super) canceled: u64,
    /// Messages on normal channels that have begun, by name.
    pub(super) arriving: BTreeMap<u64, Arriving>,
    /// Compare-and-swaps under way, by owner: one at a time.
    pub(super) swapping: BTreeMap<Seat, u64>,
    pub(super) operations_left: u32,
    /// Whether its program has as much under way as it may.
    pub(super) waits_for_end: bool,
    pub(super) random: Random,
}

/// An operation under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) to: Seat,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Message { key: StreamKey, number: u64 },
    Window(Expected),
}

/// A message on a normal channel that has begun to arrive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arriving {
    pub(super) from: Seat,
    pub(super) channel: u16,
    pub(super) meeting: Meeting,
    /// Whether it met a buffer that had been posted before.
    pub(super) was_posted: bool,
    /// Whether the program gave it too small a buffer on purpose.
    pub(super) too_long: bool,
}

impl<P> SeatState<P> {
    /// Whether its program has no wishes left.
    pub(super) fn is_done(&self) -> bool {
        self.operations_left == 0 && self.ends.is_empty()
    }
}

impl<P: Party> World<P> {
    /// Puts hosts, links and first processes into an empty world.
    pub(super) fn build(&mut self) {
        for seat in 0..self.plan.seats {
            let host = self.net.add_host(self.plan.host);
            if self.plan.interfaces {
                self.net.watch(host);
            }
            let site = Site(match self.plan.trunk {
                Some(_) => (seat % 2) as u32,
                None => 0,
            });
            let ip = first_ip(seat);
            let (up, down) = (self.plan.uplink, self.plan.downlink);
            let card = self.net.add_card(host, ip, site, up, down);
            let random = self.random.fork();
            let is_idle = self.plan.traffic.all_to_one && seat == 0;
            self.seats.push(SeatState {
                card,
                address: first_address(seat),
                life: 0,
                since_ns: 0,
                party: None,
                held_back_ns: BTreeMap::new(),
                closed_ns: None,
                deferred: Vec::new(),
                timer_ns: None,
                will_flush: false,
                will_look: false,
                naps_until_ns: 0,
                stirred_ns: 0,
                ends: Ends::new(),
                regrets: 0,
                canceled: 0,
                arriving: BTreeMap::new(),
                swapping: BTreeMap::new(),
                operations_left: if is_idle {
                    0
                } else {
                    self.plan.traffic.operations
                },
                waits_for_end: false,
                random,
            });
        }
        if let Some(trunk) = self.plan.trunk {
            self.net.add_trunk(Site(0), Site(1), trunk);
            self.net.add_trunk(Site(1), Site(0), trunk);
        }
        for seat in 0..self.plan.seats {
            self.start(seat);
        }
        self.plan_first_turns();
    }

    /// A process begins on `seat`.
    pub(super) fn start(&mut self, seat: Seat) {
        let silent = self.plan.seats..self.plan.seats + self.plan.silent_peers;
        let silent = silent.map(first_address);
        let here = self.seats.iter().map(|seat| seat.address);
        let key = self.key(seat);
        let keys = &self.keys[self.job(seat)];
        if self.plan.own_keys {
            keys.borrow_mut().insert(seat, key);
        }
        let setup = Setup {
            seat,
            life: self.seats[seat].life,
            addresses: here.chain(silent).collect(),
            traffic: self
                .plan
                .tagged
                .as_ref()
                .unwrap_or(&self.plan.traffic)
                .clone(),
            key,
            keys: Rc::clone(keys),
            seed: self.random.next_u64(),
            dead_after_ns: self.plan.dead_after_ns,
            datagram_bytes: self.plan.datagram_bytes,
            window_bytes: self.windows.len_bytes(),
            interfaces: self.plan.interfaces,
        };
        let mut party = P::start(self.now_ns, &setup, &self.common);
        if self.plan.traffic.late_post_ns == 0 {
            for channel in 1..=self.plan.traffic.channels {
                for _ in 0..EARLY_POSTS {
                    party.post(self.now_ns, channel, self.plan.traffic.longest_bytes);
                }
            }
        }
        let state = &mut self.seats[seat];
        state.party = Some(party);
        state.since_ns = self.now_ns;
        let life = state.life;
        self.schedule
            .add(self.now_ns, Turn::Own(seat, life, Deed::Program));
    }

    /// The key of the process on `seat`: its job's, or one that no other process has.
    fn key(&self, seat: Seat) -> [u8; 32] {
        let mut key = [1 + self.job(seat) as u8; 32];
        if self.plan.own_keys {
            key[..8].copy_from_slice(&(seat as u64).to_le_bytes());
            key[8..12].copy_from_slice(&self.seats[seat].life.to_le_bytes());
        }
        key
    }

    /// Which job `seat` belongs to.
    pub(super) fn job(&self, seat: Seat) -> usize {
        if self.plan.two_jobs { seat % 2 } else { 0 }
    }
}

/// The host of a seat has its number.
pub(super) fn host(seat: Seat) -> HostId {
    HostId(seat)
}
