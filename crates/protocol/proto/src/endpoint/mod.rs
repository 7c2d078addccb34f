//! One port on the network: all its connections.

mod arriving;
mod entering;
mod refusing;
mod requests;
mod sending;
mod setting_up;
mod slots;
mod table;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use bcl_types::{Address, Cause, EAGER_MAX, SYSTEM_MAX};
use bcl_wire::JobKeys;

use crate::buffers::Buffers;
use crate::common::{Common, Context};
use crate::config::Config;
use crate::connection::unheard::DeafHosts;
use crate::connection::{End, Stage};
use crate::counters::{Depths, Drops, PeerInfo, Traffic};
use crate::names::Path;
use crate::secrets::Secrets;
use crate::setup::ended::{Ended, EndedList};
use crate::setup::token::Mint;
use crate::slab::Slab;
use crate::transmit::Transmit;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

pub use entering::{Entering, Told};
use slots::Slots;
use table::Table;

// A system message goes with its announcement, however long it is.
const _: () = assert!(SYSTEM_MAX <= EAGER_MAX);

/// Free memory kept for copies of what is sent.
const COPIES_KEPT_BYTES: usize = 4 << 20;
/// No timer is set to come sooner.
const OVERDUE_PAUSE: Span = Span::from_us(20);

/// The protocol's end at one port: it is told the time, packets and wishes, and says what to send and what has happened.
#[derive(Debug)]
pub struct Endpoint {
    common: Common,
    connections: Table,
    /// When which connection is due; entries that were overtaken stay until their time.
    timers: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Connections, by place and id, to which something has happened since their timers were set, and when it did: to set one takes
    /// its time, for which no packet is to wait.
    untimed: Vec<(u32, u32, Time)>,
    /// Connections that have something to send, by place and id; the first has the turn.
    ready: VecDeque<(u32, u32)>,
    /// Packets that the first has sent in its turn.
    turn_packets: u32,
    /// Connections, by place and id, to come back to in the next turn.
    next_turn: Vec<(u32, u32)>,
    /// A connection whose packets were taken, and of which nothing has followed yet.
    unsettled: Option<u32>,
    /// Answers that belong to no connection.
    replies: VecDeque<Transmit>,
    mint: Mint,
    ended: EndedList,
    /// Attempts at connections so far.
    attempts: u32,
    refused_at: Time,
    slots: Slots,
}

impl Endpoint {
    /// A port that knows nobody yet, whose keys are derived from this secret.
    pub fn new(config: Config, secret: &[u8; 32]) -> Self {
        let mut secrets = Secrets::new(config.seed);
        let mint = Mint::new(&mut secrets);
        let common = Common {
            keys: Arc::new(JobKeys::derive(secret)),
            pool: Buffers::new(config.pool_bytes, config.pool_bytes),
            stash: Buffers::new(config.stash_bytes, config.stash_bytes),
            copies: Buffers::new(usize::MAX, COPIES_KEPT_BYTES),
            waiting: Slab::default(),
            drops: Drops::default(),
            past: Traffic::default(),
            secrets,
            spent: Vec::new(),
            to_enter: VecDeque::new(),
            to_take_back: VecDeque::new(),
            deaf_hosts: DeafHosts::default(),
            to_remove: VecDeque::new(),
            overdue: Vec::new(),
            entered: 0,
            departed: Vec::new(),
            away: Span::ZERO,
            is_closing: false,
            config,
        };
        Self {
            common,
            connections: Table::default(),
            timers: BinaryHeap::new(),
            untimed: Vec::new(),
            ready: VecDeque::new(),
            turn_packets: 0,
            next_turn: Vec::new(),
            unsettled: None,
            replies: VecDeque::new(),
            mint,
            ended: EndedList::default(),
            attempts: 0,
            refused_at: Time(0),
            slots: Slots::default(),
        }
    }

    /// Its own address.
    pub fn address(&self) -> Address {
        self.common.config.address
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called, if nothing happens before.
    #[inline]
    pub fn next_timeout(&mut self) -> Option<Time> {
        self.set_timers();
        self.timers.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Time has passed.
    pub fn on_timeout(&mut self, now: Time, up: &mut impl Upcalls) {
        self.free_spent();
        while let Some(Reverse((at, place, id))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            if connection.id != id || connection.noted.timer != Some(at) {
                continue;
            }
            connection.noted.timer = None;
            let mut result = Ok(());
            if connection.deadline(now, &self.common.config) <= now {
                let common = &mut self.common;
                result = connection.on_time(&mut Context { now, common, up });
            }
            self.follow_up(place, now, result, up);
        }
    }

    /// After something has happened to a connection: when is it due, has it something to send, is it over?
    #[inline]
    fn follow_up(&mut self, place: u32, now: Time, result: Result<(), End>, up: &mut impl Upcalls) {
        if let Err(end) = result {
            return self.end(place, now, end, up);
        }
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        if connection.wants_next_turn() {
            self.next_turn.push((place, connection.id));
        }
        if !connection.noted.is_queued && connection.is_ready(now) {
            connection.noted.is_queued = true;
            self.ready.push_back((place, connection.id));
        }
        self.time_later(place, now);
    }

    /// Its timer is set when somebody asks.
    #[inline]
    fn time_later(&mut self, place: u32, now: Time) {
        if let Some(connection) = self.connections.get_mut(place)
            && !connection.noted.is_untimed
        {
            connection.noted.is_untimed = true;
            self.untimed.push((place, connection.id, now));
        }
    }

    /// The driver looks for packets again: whoever was to answer those of before has had the time to. True: there may be
    /// something to send.
    #[inline]
    pub fn on_turn(&mut self, now: Time, up: &mut impl Upcalls) -> bool {
        !self.next_turn.is_empty() && self.come_back(now, up)
    }

    fn come_back(&mut self, now: Time, up: &mut impl Upcalls) -> bool {
        while let Some((place, id)) = self.next_turn.pop() {
            if let Some(connection) = self.connections.get_mut(place)
                && connection.id == id
            {
                connection.on_next_turn();
                self.follow_up(place, now, Ok(()), up);
            }
        }
        true
    }

    #[inline]
    fn set_timers(&mut self) {
        while let Some((place, id, since)) = self.untimed.pop() {
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            if connection.id != id {
                continue;
            }
            connection.noted.is_untimed = false;
            // As of then: what was to wait until a moment that has passed meanwhile is due.
            let deadline = connection.deadline(since, &self.common.config);
            // What is due already waits for something else than time, such as its turn to be sent.
            let at = deadline.max(since + OVERDUE_PAUSE);
            // A timer that is set is never put off: what comes more often than the pause would do so for ever.
            if connection.noted.timer.is_none_or(|timer| at < timer) {
                connection.noted.timer = Some(at);
                self.timers.push(Reverse((at, place, id)));
            }
        }
    }

    #[cold]
    fn end(&mut self, place: u32, now: Time, end: End, up: &mut impl Upcalls) {
        let Some(mut connection) = self.connections.remove(place) else {
            return;
        };
        if connection.entry.is_some() {
            self.common.entered -= usize::from(connection.is_entered());
            self.slots.free(connection.id);
        }
        if connection.with_agent {
            self.common.to_remove.push_back(connection.id);
        }
        if let Some(agreed) = connection.agreed {
            let by_close = end == End::Gone(Cause::Closed) && connection.death.is_none();
            let ended = Ended {
                id: connection.id,
                peer_id: connection.peer_id,
                peer: connection.peer,
                path: connection.path,
                keys: connection.keys,
                token: agreed.token,
                latest: (agreed.incarnation, agreed.attempt),
                ack: connection.expected(),
                by_close,
                at: now,
            };
            if by_close {
                self.acknowledge_close(&ended);
            }
            if self.ended.push(ended) {
                // It could be shown again: no token of before is believed any more.
                self.mint.forget(&mut self.common.secrets);
            }
        }
        let common = &mut self.common;
        connection.end(end, &mut Context { now, common, up });
    }

    /// The program has heard of all that arrived: peers that took leave meanwhile are gone now ([SEM-7.4]). Nothing
    /// happens while [it has not](Upcalls::owes_arrivals).
    pub fn see_off(&mut self, now: Time, up: &mut impl Upcalls) {
        if self.common.departed.is_empty() || up.owes_arrivals() {
            return;
        }
        self.end_departed(now, up);
    }

    #[cold]
    fn end_departed(&mut self, now: Time, up: &mut impl Upcalls) {
        for id in std::mem::take(&mut self.common.departed) {
            let place = self.connections.place_of(id);
            let departed = place.and_then(|place| Some((place, self.departed(place)?)));
            if let Some((place, cause)) = departed {
                self.end(place, now, End::Gone(cause), up);
            }
        }
    }

    /// How the peer has gone, if it has and the program does not know yet.
    fn departed(&self, place: u32) -> Option<Cause> {
        let connection = self.connections.get(place)?;
        connection.departed
    }

    /// Whether all peers have answered [`close`](Self::close), or are gone.
    pub fn is_drained(&self) -> bool {
        self.common.is_closing && self.connections.is_empty() && self.replies.is_empty()
    }

    /// Whether there is a connection with this peer, or an attempt at one.
    pub fn knows(&self, peer: Address) -> bool {
        self.connections.knows(peer)
    }

    /// The network says that datagrams to there are too long, or the driver that a route has changed: looks at the
    /// routes of all peers there anew.
    pub fn on_route(&mut self, now: Time, ip: IpAddr, up: &mut impl Upcalls) {
        for place in self.connections.places() {
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            if connection.path.to.ip() == ip {
                let common = &mut self.common;
                connection.on_route(&mut Context { now, common, up });
                self.follow_up(place, now, Ok(()), up);
            }
        }
    }

    /// The network says that nobody listens there (ICMP), and returns the packet that it could not deliver, if that
    /// was a header and nothing else. It could be forged, so that it ends only attempts at a connection; a peer with
    /// which one is up is asked, and given up sooner than another if it does not answer: soonest if that question
    /// comes back, which nobody could return who has not seen it ([WIRE-12.5]).
    pub fn unreachable(
        &mut self,
        now: Time,
        path: Path,
        returned: Option<&[u8]>,
        up: &mut impl Upcalls,
    ) {
        for place in self.connections.places() {
            let Some(connection) = self.connections.get_mut(place) else {
                continue;
            };
            if connection.path.to == path.to {
                let result = connection.on_unreachable(now, returned);
                self.follow_up(place, now, result, up);
            }
        }
    }

    /// All connections, and attempts at one.
    pub fn peers(&self) -> impl Iterator<Item = PeerInfo> + '_ {
        self.connections
            .iter()
            .filter(|connection| !connection.is_mirror)
            .map(|connection| connection.info())
    }

    /// Packets that led to nothing.
    pub fn drops(&self) -> Drops {
        self.common.drops
    }

    /// The work of all connections, those that have ended included.
    pub fn traffic(&self) -> Traffic {
        let mut traffic = self.common.past;
        for connection in self.connections.iter() {
            traffic.add(&connection.traffic);
        }
        traffic
    }

    /// Connections, and attempts at one.
    #[inline]
    pub fn peer_count(&self) -> usize {
        self.connections.len()
    }

    /// Whether any of them is not the interface program's, so that its packets come by the socket.
    #[inline]
    pub fn needs_socket(&self) -> bool {
        self.connections.len() > self.common.entered
    }

    /// How full it is. Counted anew, by looking at everything.
    pub fn depths(&self) -> Depths {
        let common = &self.common;
        let others = self.connections.iter().map(|connection| &connection.job);
        let others = others.filter(|job| !Arc::ptr_eq(job, &common.keys)).count();
        Depths {
            peers: self.connections.len(),
            pending: self.connections.iter().map(|c| c.pending()).sum(),
            unexpected: common.waiting.len(),
            unreleased: common.pool.lent(),
            pool_bytes: common.pool.used_bytes(),
            stash_bytes: common.stash.used_bytes(),
            memory_bytes: size_of::<Self>()
                + size_of::<JobKeys>() * (1 + others)
                + common.pool.memory_bytes()
                + common.stash.memory_bytes()
                + common.copies.memory_bytes()
                + self.connections.memory_bytes(),
        }
    }

    /// Copies whose packets have been handed out go back: the driver has sent them, or never will.
    #[inline]
    fn free_spent(&mut self) {
        while let Some(name) = self.common.spent.pop() {
            self.common.copies.give_back(name);
        }
    }

    /// Whether a connection is being set up by us.
    fn is_greeting(&self, place: u32) -> bool {
        self.connections
            .get(place)
            .is_some_and(|connection| matches!(connection.stage, Stage::Greeting(_)))
    }
}
