//! Signs of life, and what goes with them: which members are on a host, and how far it has come in all logs ([REFLECT-8.3]).

use std::num::NonZeroU32;

use bcl_types::{Span, Time};
use bcl_wire::bytes::{get_u16, get_u32, get_u64, put_u16, put_u32, put_u64};

use crate::memory::Memory;
use crate::mirror::{Mirror, To};
use crate::names::{Event, HostId};
use crate::packet::{Header, Kind};
use crate::stream::{Ending, Owner, Stream};

/// The least between beats, for each 16 hosts,
const APART: Span = Span::from_ms(2);
/// while something is under way,
const BUSY: Span = Span::from_ms(50);
/// and else.
const IDLE: Span = Span::from_ms(300);
/// A host that is silent for so long has gone: ten beats, so that none is missed where many packets are lost.
pub(crate) const SILENCE: Span = Span::from_ms(3000);

const MEMBER_BYTES: usize = 24;
const HAVE_BYTES: usize = 40;

impl Mirror {
    /// Tells all others, if it is time to.
    pub(crate) fn beat(&mut self) {
        if self.now < self.beat_due {
            return self.wake_at(self.beat_due);
        }
        self.beat_at = self.now;
        self.beat_due = match self.is_busy() {
            true => self.wake_in(self.spread(BUSY).min(IDLE)),
            false => self.wake_in(IDLE),
        };
        if !self.peers.is_empty() {
            self.tell(&To::All);
        }
    }

    /// Some log is not everywhere yet, as far as is known here.
    fn is_busy(&self) -> bool {
        !self.fetching.is_whole() || self.streams.iter().any(Stream::is_under_way)
    }

    /// Something is new: to be told soon, but not each such thing by itself.
    pub(crate) fn beat_soon(&mut self) {
        let due = self.beat_at + self.spread(APART);
        self.beat_due = self.beat_due.min(due.max(self.now));
        self.wake_at(self.beat_due);
    }

    /// The more hosts there are, the more seldom each of them tells all others something.
    fn spread(&self, span: Span) -> Span {
        span.times(1 + self.peers.len() as u64 / 16)
    }

    /// One packet of each sort; what does not fit is told the next time.
    pub(crate) fn tell(&mut self, to: &To) {
        let here = self.members_here();
        let haves = self.haves();
        let number = self.next_number();
        for (kind, payload) in [(Kind::Beat, here), (Kind::Have, haves)] {
            let header = Header {
                position: number,
                ..self.header(kind)
            };
            if kind == Kind::Beat || !payload.is_empty() {
                self.send(to.clone(), header, &payload);
            }
        }
    }

    /// Of the members that are, or were last, on this host.
    fn members_here(&mut self) -> Vec<u8> {
        let us = self.config.host;
        let all = self.streams.iter().enumerate();
        let here = all.filter_map(|(member, stream)| {
            let owner = stream.owner.filter(|owner| owner.host == us)?;
            Some(member_bytes(member as u16, &owner, stream.known_end()))
        });
        let room = self.config.payload_bytes / MEMBER_BYTES;
        some_in_turn(here.collect(), room, &mut self.here_next)
    }

    /// How far this host has come in all logs.
    fn haves(&mut self) -> Vec<u8> {
        let have = |member: u16| {
            let stream = &self.streams[usize::from(member)];
            let is_told = stream.epoch != 0 || self.fetching.has_fetched();
            let content = self.fetching.content_of(member, stream);
            is_told.then(|| have_bytes(member, stream, self.lacks(member), content))
        };
        let haves = (0..self.config.geometry.members).filter_map(have);
        let room = self.config.payload_bytes / HAVE_BYTES;
        some_in_turn(haves.collect(), room, &mut self.have_next)
    }

    pub(crate) fn on_beat(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&header.host) else {
            return;
        };
        if header.position <= peer.last_beat {
            return self.counts.stale += 1;
        }
        (peer.last_beat, peer.heard_at) = (header.position, now);
        for entry in payload.chunks_exact(MEMBER_BYTES) {
            let owner = Owner {
                epoch: get_u64(entry, 8),
                host: header.host,
                ended: NonZeroU32::new(get_u32(entry, 4)),
            };
            self.on_member(get_u16(entry, 0), owner, get_u64(entry, 16), memory);
        }
    }

    /// A host says that a member is there, or was last.
    fn on_member(&mut self, member: u16, said: Owner, head: u64, memory: &impl Memory) {
        let Some(stream) = self.streams.get_mut(usize::from(member)) else {
            return;
        };
        let before = stream.owner;
        let is_same =
            before.is_some_and(|before| (before.epoch, before.host) == (said.epoch, said.host));
        if is_same {
            stream.owner = Some(said);
            self.source_has(said.host, member, said.epoch, head);
            if before.is_some_and(|before| before.ended.is_none()) && said.ended.is_some() {
                self.ends(member, head);
            }
            return;
        }
        let known = before.map_or((stream.epoch, HostId(0)), |before| {
            (before.epoch, before.host)
        });
        if (said.epoch, said.host) < known {
            return;
        }
        if said.ended.is_some() && stream.lives_here() {
            // Who has ended takes nobody's place.
            return self.is_outdone(member, said.epoch, memory);
        }
        self.end_now(member);
        let stream = &mut self.streams[usize::from(member)];
        stream.owner = Some(said);
        stream.granted = None;
        stream.is_broken = false;
        stream.follow.is_agreed = false;
        let was_ours = stream.sending.take().is_some();
        self.unsaved.log(member);
        if was_ours {
            self.ours.retain(|ours| *ours != member);
            let host = said.host;
            if before.is_some_and(|before| before.ended.is_none()) {
                self.events.push_back(Event::Usurped { member, host });
            }
        }
        self.look_for_source(member);
        match said.ended {
            None => self.events.push_back(said.news_of(member)),
            Some(_) => self.ends(member, head),
        }
    }

    /// A member of another host has ended, whose log ends there.
    fn ends(&mut self, member: u16, at: u64) {
        let by = self.now + SILENCE;
        self.streams[usize::from(member)].ending = Some(Ending { at, by });
        self.end_if_whole(member);
    }

    /// Tells of the end of a member once what it wrote before is here ([REFLECT-8.3]).
    pub(crate) fn end_if_whole(&mut self, member: u16) {
        let stream = &self.streams[usize::from(member)];
        match stream.is_ending(self.now) {
            true => self.wake_at_any(stream.ending.map(|ending| ending.by)),
            false => self.end_now(member),
        }
    }

    fn end_now(&mut self, member: u16) {
        let stream = &mut self.streams[usize::from(member)];
        if stream.ending.take().is_some()
            && let Some(owner) = stream.owner
        {
            self.events.push_back(owner.news_of(member));
        }
    }

    /// A host from which this one gets a log has so much of it.
    fn source_has(&mut self, host: HostId, member: u16, epoch: u64, have: u64) {
        let stream = &mut self.streams[usize::from(member)];
        let is_agreed = stream.follow.is_agreed && stream.follow.source == Some(host);
        if is_agreed && stream.epoch == epoch && have > stream.head {
            stream.head = have;
            self.miss_soon(member);
        }
    }

    pub(crate) fn on_have(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        for entry in payload.chunks_exact(HAVE_BYTES) {
            let member = get_u16(entry, 0);
            let (epoch, have) = (get_u64(entry, 8), get_u64(entry, 16));
            let Some(peer) = self.peers.get_mut(&header.host) else {
                return;
            };
            if let Some(had) = peer.hads.get_mut(usize::from(member)) {
                let before = *had;
                had.is_lacking = get_u16(entry, 2) != 0;
                had.content = (get_u64(entry, 24), get_u64(entry, 32));
                had.heard(epoch, have);
                if *had == before {
                    continue;
                }
                self.is_outdone(member, epoch, memory);
                self.look_for_source(member);
                self.source_has(header.host, member, epoch, have);
                self.progressed(member, memory);
            }
        }
    }

    /// Those of whom nothing was heard for too long have gone.
    pub(crate) fn miss_the_silent(&mut self, memory: &impl Memory) {
        let now = self.now;
        let heard = self.peers.values().map(|peer| peer.heard_at).min();
        let Some(first) = heard.map(|heard_at| heard_at + SILENCE) else {
            return;
        };
        if first > now {
            return self.wake_at(first);
        }
        let is_silent = |heard_at: Time| now.since(heard_at) >= SILENCE;
        let peers = self.peers.iter();
        let silent = peers.filter(|(_, peer)| is_silent(peer.heard_at));
        let silent: Vec<HostId> = silent.map(|(host, _)| *host).collect();
        for host in silent {
            self.forget(host, memory);
        }
        self.wake_at(now);
    }

    pub(crate) fn on_bye(&mut self, header: &Header, memory: &impl Memory) {
        let peer = self.peers.get(&header.host);
        if peer.is_some_and(|peer| header.position > peer.last_beat) {
            self.forget(header.host, memory);
        }
    }

    /// This host leaves: its last packet.
    pub fn leave(&mut self, now: Time) {
        self.now = self.now.max(now);
        let header = Header {
            position: self.next_number(),
            ..self.header(Kind::Bye)
        };
        self.send(To::All, header, &[]);
    }

    fn forget(&mut self, host: HostId, memory: &impl Memory) {
        if let Some(peer) = self.peers.remove(&host) {
            self.note_place(peer.address, false);
        }
        self.hosts_changed();
        self.repairs.retain(|repair| repair.to != host);
        self.fetching.forget(host);
        for claim in self.claims.values_mut() {
            claim.waits_for.remove(&host);
            claim.granted.remove(&host);
        }
        for member in 0..self.config.geometry.members {
            if self.streams[usize::from(member)].is_of(host) {
                self.end_now(member);
            }
            let stream = &mut self.streams[usize::from(member)];
            if let Some(owner) = stream.owner.take_if(|owner| owner.host == host)
                && owner.ended.is_none()
            {
                let (epoch, ended) = (owner.epoch, None);
                self.events.push_back(Event::MemberGone {
                    member,
                    epoch,
                    ended,
                });
            }
            stream.granted.take_if(|(granted, _)| *granted == host);
            self.look_for_source(member);
            self.progressed(member, memory);
        }
        // Last: of its members all is told that is known.
        self.events.push_back(Event::HostGone(host));
        self.wake_at(self.now);
    }
}

impl Owner {
    fn news_of(&self, member: u16) -> Event {
        let Self { epoch, host, ended } = *self;
        match ended {
            None => Event::MemberCame {
                member,
                host,
                epoch,
            },
            Some(_) => Event::MemberGone {
                member,
                epoch,
                ended,
            },
        }
    }
}

/// As many as there is room for, from the next on that was not told the last time.
fn some_in_turn<const N: usize>(all: Vec<[u8; N]>, room: usize, next: &mut usize) -> Vec<u8> {
    let number = all.len();
    let first = *next % number.max(1);
    let told = number.min(room);
    *next = first + told;
    let in_turn = all.iter().cycle().skip(first).take(told);
    in_turn.flatten().copied().collect()
}

fn member_bytes(member: u16, owner: &Owner, head: u64) -> [u8; MEMBER_BYTES] {
    let mut bytes = [0; MEMBER_BYTES];
    put_u16(&mut bytes, 0, member);
    put_u32(&mut bytes, 4, owner.ended.map_or(0, NonZeroU32::get));
    put_u64(&mut bytes, 8, owner.epoch);
    put_u64(&mut bytes, 16, head);
    bytes
}

fn have_bytes(
    member: u16,
    stream: &Stream,
    is_lacking: bool,
    content: (u64, u64),
) -> [u8; HAVE_BYTES] {
    let mut bytes = [0; HAVE_BYTES];
    put_u16(&mut bytes, 0, member);
    put_u16(&mut bytes, 2, u16::from(is_lacking));
    put_u64(&mut bytes, 8, stream.epoch);
    put_u64(&mut bytes, 16, stream.have);
    put_u64(&mut bytes, 24, content.0);
    put_u64(&mut bytes, 32, content.1);
    bytes
}
