//! What is done for a region between hosts, once round: packets are taken in and sent, members of this host are looked after.

use std::net::SocketAddr;

use bcl_mirror::{Event, HostId, Mirror, Outgoing};
use bcl_os::sync::Ordering;
use bcl_types::{Cause, Span, Time};
use bcl_udp::{Buffers, Train, Trouble, mtu};

use super::begin::payload_in;
use super::local::{Locals, joined_of, state_of};
use super::memory::KeptMemory;
use super::now;
use super::sockets::Sockets;
use crate::life::{Life, State};
use crate::segment::Segment;

/// So many batches are taken in before others have their turn.
const BATCHES: usize = 64;
/// How often is looked for what takes others a while.
const LOOK: Span = Span::from_ms(1);
/// How often people are told anew how it goes.
const TOLD: Span = Span::from_ms(100);

/// All that is needed.
pub struct Round {
    memory: KeptMemory,
    mirror: Mirror,
    locals: Locals,
    pub sockets: Sockets,
    buffers: Buffers,
    /// Packets that go together, to all of these,
    train: Train,
    to: Vec<SocketAddr>,
    /// so many of which, the last, have still to get them,
    unsent: usize,
    /// and one that is taken from the protocol already, if it could not go with them.
    out: Outgoing,
    has_next: bool,
    told_at: Time,
}

impl Round {
    pub fn new(memory: KeptMemory, mirror: Mirror, locals: Locals, sockets: Sockets) -> Self {
        let mut round = Self {
            memory,
            mirror,
            locals,
            sockets,
            buffers: Buffers::new(),
            train: Train::default(),
            to: Vec::new(),
            unsent: 0,
            out: Outgoing::default(),
            has_next: false,
            told_at: Time(0),
        };
        round.see_who_is_there();
        round
    }

    /// Once round.
    pub fn turn(&mut self) {
        let now = now();
        self.memory.at(now);
        let turned_at = &self.memory.segment().common().turned_at_ns;
        turned_at.store(now.0, Ordering::Relaxed);
        self.receive(now);
        self.locals.look(&mut self.mirror, &self.memory, now);
        if self.mirror.next_timeout() <= now {
            self.mirror.on_timeout(now, &self.memory);
        }
        self.hear();
        self.transmit();
        self.locals.tell_who_has(&self.mirror, &self.memory);
        if now.since(self.told_at) >= TOLD {
            self.told_at = now;
            self.tell_people();
        }
    }

    /// When the next turn is due if nothing comes.
    pub fn next(&self) -> Time {
        let held = self.memory.held_until();
        let due = self
            .mirror
            .next_timeout()
            .min(held.unwrap_or(Time(u64::MAX)));
        if self.locals.has_requests(self.memory.segment()) {
            now()
        } else if self.locals.is_waiting() {
            due.min(now() + LOOK)
        } else {
            due
        }
    }

    /// Whether the kernel has no room for more packets now.
    pub fn is_held_up(&self) -> bool {
        self.unsent > 0
    }

    /// Whether all others have what was written here.
    pub fn is_sent(&self) -> bool {
        self.mirror.is_sent()
    }

    /// This host leaves.
    pub fn leave(&mut self) {
        self.mirror.leave(now());
        self.transmit();
    }

    fn receive(&mut self, now: Time) {
        for socket in self.sockets.in_turn() {
            for _ in 0..BATCHES {
                // What fails here is said again, or nothing comes by this socket any more, and the host is missed.
                let Ok(Some(received)) = socket.receive(&mut self.buffers) else {
                    break;
                };
                let from = received.from();
                for datagram in received {
                    self.mirror.handle(now, from, datagram, &self.memory);
                }
            }
        }
        // The calls before have asked for them where there was something to ask for.
        for socket in self.sockets.all() {
            while socket.has_reports()
                && let Some(report) = socket.next_report()
            {
                if let Trouble::TooLarge { mtu } = report.trouble {
                    let largest = mtu::largest_datagram_bytes(mtu, report.to.ip());
                    self.mirror.limit_payload(payload_in(largest));
                }
            }
        }
    }

    /// Writes down what has happened.
    fn hear(&mut self) {
        let mut have_changed = false;
        let segment = self.memory.segment();
        while let Some(event) = self.mirror.poll_event() {
            let common = segment.common();
            match event {
                Event::HostCame(_) => have_changed = true,
                Event::HostGone(host) => {
                    have_changed = true;
                    forget_all_of(segment, host);
                }
                Event::MemberCame {
                    member,
                    host,
                    epoch,
                } => {
                    let (joined, life) = (joined_of(epoch), Life::There);
                    segment.hear_of(member, host.0, State { joined, life });
                }
                Event::MemberGone {
                    member,
                    epoch,
                    ended,
                } => {
                    let after = state_of(epoch, ended);
                    let (state, _) = segment.member(member);
                    let is_known = state.joined == after.joined && state.life != Life::There;
                    if !is_known {
                        let host = segment.host_of(member);
                        segment.hear_of(member, host.max(1), after);
                    }
                }
                Event::Usurped { member, .. } => self.locals.is_usurped(segment, member),
                Event::FetchesAnew => common.fetches.store(1, Ordering::Relaxed),
                Event::IsWhole => common.fetches.store(0, Ordering::Relaxed),
                Event::Refused(theirs) => {
                    common
                        .refused_bytes
                        .store(theirs.region_bytes, Ordering::Relaxed);
                    common
                        .refused_members
                        .store(theirs.members.into(), Ordering::Release);
                }
            }
        }
        if have_changed {
            self.see_who_is_there();
        }
    }

    fn see_who_is_there(&mut self) {
        let mut hosts = self.mirror.hosts();
        let only = hosts.next().filter(|_| hosts.next().is_none());
        self.sockets.have_only(only.map(|(_, address)| address));
    }

    fn tell_people(&self) {
        let counts = self.mirror.counts();
        let packets = [
            counts.sent,
            counts.repaired,
            counts.relayed,
            counts.forged + counts.foreign,
        ];
        let segment = self.memory.segment();
        let hearers = self.mirror.hearers() as u32;
        segment.common().hearers.store(hearers, Ordering::Relaxed);
        for (word, count) in segment.common().packets.iter().zip(packets) {
            word.store(count, Ordering::Relaxed);
        }
        for member in 0..segment.members() {
            let answered = &segment.book(member).answered;
            let head = self.mirror.head(member);
            answered.known_head.store(head, Ordering::Relaxed);
        }
    }

    /// Sends all there is, as far as the kernel takes it.
    pub fn transmit(&mut self) {
        self.memory.at(now());
        loop {
            if self.unsent > 0 {
                let first = self.to.len() - self.unsent;
                self.unsent -= self.sockets.send(&self.to[first..], &self.train);
            }
            if self.unsent > 0 || !(self.has_next || self.poll()) {
                return;
            }
            self.has_next = false;
            self.train.begin(&self.out.bytes);
            std::mem::swap(&mut self.to, &mut self.out.to);
            self.unsent = self.to.len();
            while self.poll() {
                self.has_next = self.out.to != self.to || !self.train.add(&self.out.bytes);
                if self.has_next {
                    break;
                }
            }
        }
    }

    fn poll(&mut self) -> bool {
        self.mirror
            .poll_transmit(now(), &self.memory, &mut self.out)
    }
}

/// A host has gone. Which members were there the protocol does not know if it has heard nothing since another process began to keep the region.
fn forget_all_of(segment: &Segment, host: HostId) {
    for member in 0..segment.members() {
        let (state, _) = segment.member(member);
        if state.life == Life::There && segment.host_of(member) == host.0 {
            segment.hear_of(member, host.0, state.ended(Cause::Vanished));
        }
    }
}
