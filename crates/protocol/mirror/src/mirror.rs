//! One host's side of a region.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use bcl_types::{Random, Span, Time};
use bcl_wire::JobKeys;

use crate::claim::Claim;
use crate::fetching::Fetching;
use crate::greeting::{Greeting, Place};
use crate::group::Group;
use crate::memory::Memory;
use crate::names::{Config, Event, HostId};
use crate::packet::{self, Header, Kind, Making, Unfit};
use crate::peer::Peer;
use crate::repair::Repair;
use crate::saved::Unsaved;
use crate::stream::Stream;

/// A packet has a piece of the region, or how many bytes are zeros.
const PAYLOAD_MIN: usize = 1032;

/// A host's side of a region: it is given packets and times, and gives packets, times and news.
pub struct Mirror {
    pub(crate) config: Config,
    pub(crate) keys: JobKeys,
    pub(crate) now: Time,
    pub(crate) begun: Time,
    pub(crate) random: Random,
    /// The last number that was given.
    number: u64,
    pub(crate) greeting: Greeting,
    pub(crate) places: Vec<Place>,
    pub(crate) group: Option<Group>,
    pub(crate) peers: BTreeMap<HostId, Peer>,
    /// This host and the others, in order.
    pub(crate) hosts: Vec<HostId>,
    /// By member.
    pub(crate) streams: Vec<Stream>,
    /// The members of this host.
    pub(crate) ours: Vec<u16>,
    pub(crate) claims: BTreeMap<u16, Claim>,
    pub(crate) fetching: Fetching,
    pub(crate) repairs: VecDeque<Repair>,
    pub(crate) beat_at: Time,
    pub(crate) beat_due: Time,
    /// Where the next beat goes on telling of members here,
    pub(crate) here_next: usize,
    /// and of logs.
    pub(crate) have_next: usize,
    /// Who of them sends next.
    pub(crate) turn: usize,
    queue: VecDeque<(Vec<u8>, To)>,
    /// Nothing is due before.
    alarm: Time,
    pub(crate) events: VecDeque<Event>,
    pub(crate) unsaved: Unsaved,
    pub(crate) counts: Counts,
}

/// Whom a packet is for.
#[derive(Debug, Clone)]
pub(crate) enum To {
    One(SocketAddr),
    /// All who get a log of this host directly.
    Followers,
    /// Who gets the log of that host from this one.
    Children(HostId),
    /// All, one by one,
    All,
    /// or at once, as far as that reaches them.
    Group,
}

/// A packet to be sent: the same to each address.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where to.
    pub to: Vec<SocketAddr>,
}

/// What has become of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of another protocol or version.
    pub foreign: u64,
    /// Their check was wrong: of another key, or damaged.
    pub forged: u64,
    /// For another host, from an unknown one, or too old.
    pub stale: u64,
    /// Data that was here already.
    pub duplicates: u64,
    /// Data packets sent for the first time,
    pub sent: u64,
    /// and again,
    pub repaired: u64,
    /// and passed on.
    pub relayed: u64,
    /// Acknowledgements sent.
    pub statuses: u64,
}

impl Mirror {
    /// For a host that has just got the region, all zeros.
    pub fn new(config: Config, now: Time) -> Self {
        let members = usize::from(config.geometry.members);
        let mut random = Random::new(config.seed);
        let places = config.places.iter();
        let mut mirror = Self {
            keys: JobKeys::derive(&config.secret),
            greeting: Greeting::new(&mut random, now),
            places: places.map(|place| Place::new(place, now)).collect(),
            group: config.group.map(Group::new),
            hosts: vec![config.host],
            streams: (0..members).map(|_| Stream::default()).collect(),
            fetching: Fetching::new(members),
            config,
            now,
            begun: now,
            random,
            number: 0,
            peers: BTreeMap::new(),
            ours: Vec::new(),
            claims: BTreeMap::new(),
            repairs: VecDeque::new(),
            beat_at: Time(0),
            beat_due: now,
            here_next: 0,
            have_next: 0,
            turn: 0,
            queue: VecDeque::new(),
            alarm: now,
            events: VecDeque::new(),
            unsaved: Unsaved::new(members),
            counts: Counts::default(),
        };
        mirror.greet_places();
        mirror
    }

    /// A packet has come.
    pub fn handle(&mut self, now: Time, from: SocketAddr, datagram: &[u8], memory: &impl Memory) {
        self.now = self.now.max(now);
        let (header, payload) = match packet::open(datagram, &self.keys) {
            Ok(packet) => packet,
            Err(Unfit::Foreign) => return self.counts.foreign += 1,
            Err(Unfit::Forged) => return self.counts.forged += 1,
        };
        let is_for_us = header.to.is_none_or(|to| to == self.config.host);
        let is_a_member = header.member < self.config.geometry.members;
        if !is_for_us || !is_a_member || header.host == self.config.host {
            return self.counts.stale += 1;
        }
        let is_known = self.peers.contains_key(&header.host);
        match header.kind {
            Kind::Hello => self.on_hello(from, &header, payload),
            Kind::Welcome => self.on_welcome(from, &header),
            Kind::Confirm => self.on_confirm(from, &header),
            Kind::Refuse => self.on_refuse(&header, payload),
            _ if !is_known => self.on_stranger(from, &header),
            Kind::Beat => self.on_beat(&header, payload, memory),
            Kind::Have => self.on_have(&header, payload, memory),
            Kind::Follow => self.on_follow(&header, payload, memory),
            Kind::Start => self.on_start(&header, payload, memory),
            Kind::Data => self.on_data(&header, payload, datagram, memory),
            Kind::Status => self.on_status(&header, payload, memory),
            Kind::Nak => self.on_nak(&header, payload),
            Kind::Claim => self.on_claim(&header),
            Kind::Grant => self.on_grant(&header),
            Kind::Deny => self.on_deny(&header),
            Kind::Pull => self.on_pull(&header, payload, memory),
            Kind::Chunk => self.on_chunk(&header, payload, memory),
            Kind::Bye => self.on_bye(&header, memory),
            Kind::Probe => self.on_probe(&header),
            Kind::Heard => self.on_heard(&header),
        }
    }

    /// When [`on_timeout`](Self::on_timeout) is to be called, if not before. It can be earlier than there is something to do.
    pub fn next_timeout(&self) -> Time {
        self.alarm
    }

    /// Time has passed.
    pub fn on_timeout(&mut self, now: Time, memory: &impl Memory) {
        self.now = self.now.max(now);
        if now < self.alarm {
            return;
        }
        self.alarm = Time(u64::MAX);
        self.greet_places();
        self.miss_the_silent(memory);
        self.beat();
        self.probe();
        self.claim_again();
        self.answer_held(memory);
        self.fetch(memory);
        for member in 0..self.config.geometry.members {
            self.follow_again(member);
            self.ask_again(member);
            self.report_if_due(member);
            self.end_if_whole(member);
            self.resend_if_due(member, memory);
        }
    }

    /// Something is to be done then.
    pub(crate) fn wake_at(&mut self, at: Time) {
        self.alarm = self.alarm.min(at);
    }

    pub(crate) fn wake_at_any(&mut self, at: Option<Time>) {
        if let Some(at) = at {
            self.wake_at(at);
        }
    }

    pub(crate) fn wake_in(&mut self, span: Span) -> Time {
        let at = self.now + span;
        self.wake_at(at);
        at
    }

    /// The next packet to be sent: false if there is none. What it says is written down before.
    pub fn poll_transmit(&mut self, now: Time, memory: &impl Memory, out: &mut Outgoing) -> bool {
        self.now = self.now.max(now);
        self.save(memory);
        while let Some((bytes, to)) = self.queue.pop_front() {
            out.bytes = bytes;
            if self.resolve(&to, out) {
                return true;
            }
        }
        self.make_repair(memory, out) || self.make_data(memory, out)
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What has become of packets.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How far a member's log is known to reach.
    pub fn head(&self, member: u16) -> u64 {
        self.streams[usize::from(member)].head
    }

    /// Other hosts that have the region.
    pub fn hosts(&self) -> impl Iterator<Item = (HostId, SocketAddr)> + '_ {
        self.peers.iter().map(|(host, peer)| (*host, peer.address))
    }

    /// The other hosts that follow the log of a member of this host, and how far they are known to have come.
    pub fn followers(&self, member: u16) -> impl Iterator<Item = (HostId, u64)> + '_ {
        let epoch = self.streams[usize::from(member)].epoch;
        let hads = self.peers.iter();
        let hads = hads.map(move |(host, peer)| (*host, peer.hads[usize::from(member)]));
        let followers = hads.filter(move |(_, had)| had.follows_in(epoch));
        followers.map(|(host, had)| {
            let is_known = had.is_sure && !had.is_lacking;
            (host, if is_known { had.have } else { 0 })
        })
    }

    /// Whether those who are there are known, and this host has all that they had when it came.
    pub fn is_settled(&self) -> bool {
        let is_whole = self.fetching.is_whole();
        self.has_looked_around() && is_whole && self.streams.iter().all(Stream::has_caught_up)
    }

    /// Whether all logs are wherever somebody follows, as far as is known here.
    pub fn is_at_rest(&self) -> bool {
        let is_sent =
            |stream: &Stream| stream.sending.is_none() || stream.known_end() == stream.have;
        let is_at_rest = |stream: &Stream| !stream.is_under_way() && is_sent(stream);
        self.claims.is_empty() && self.streams.iter().all(is_at_rest)
    }

    /// Whether all who follow have what members of this host have written.
    pub fn is_sent(&self) -> bool {
        let mut sending = self.streams.iter().filter_map(|stream| {
            let sending = stream.sending.as_ref()?;
            Some(!sending.is_awaited() && sending.sent == stream.have)
        });
        sending.all(|is_sent| is_sent)
    }

    /// From now on packets have no longer payloads than that, 1,032 at least: longer ones do not get through.
    pub fn limit_payload(&mut self, payload_bytes: usize) {
        let least = self.config.payload_bytes.min(payload_bytes);
        self.config.payload_bytes = least.max(PAYLOAD_MIN);
    }

    /// What it is about, for people who look for a fault.
    pub fn describe(&self) -> String {
        let busy = self
            .streams
            .iter()
            .enumerate()
            .filter(|(_, stream)| stream.is_under_way() || stream.follow.is_open());
        let busy: Vec<_> = busy.collect();
        let (peers, claims) = (self.peers.len(), &self.claims);
        format!("{peers} peers, {claims:?}, {:?}, {busy:?}", self.fetching)
    }

    pub(crate) fn header(&self, kind: Kind) -> Header {
        Header::new(kind, self.config.host)
    }

    pub(crate) fn header_to(&self, kind: Kind, to: HostId) -> Header {
        Header {
            to: Some(to),
            ..self.header(kind)
        }
    }

    /// Greater than all that this host has given before, whichever of its processes has.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.number = self.now.0.max(self.number + 1);
        self.number
    }

    pub(crate) fn send(&mut self, to: To, header: Header, payload: &[u8]) {
        let mut bytes = Vec::new();
        let mut making = Making::new(&mut bytes);
        making.put(payload);
        making.close(header, &self.keys);
        self.queue.push_back((bytes, to));
    }

    /// To a host that is there.
    pub(crate) fn send_to(&mut self, host: HostId, header: Header, payload: &[u8]) {
        if let Some(peer) = self.peers.get(&host) {
            self.send(To::One(peer.address), header, payload);
        }
    }

    /// As it has come, to those who get it from here.
    pub(crate) fn relay(&mut self, root: HostId, datagram: &[u8]) {
        if self.has_children(root) {
            self.counts.relayed += 1;
            let packet = (datagram.to_vec(), To::Children(root));
            self.queue.push_back(packet);
        }
    }

    /// False if there is nobody.
    pub(crate) fn resolve(&self, to: &To, out: &mut Outgoing) -> bool {
        out.to.clear();
        match to {
            To::One(address) => out.to.push(*address),
            To::All => out.to.extend(self.peers.values().map(|peer| peer.address)),
            To::Group => out
                .to
                .extend(self.group.as_ref().map(|group| group.address)),
            To::Children(root) => out.to.extend(self.addresses_of_children(*root)),
            To::Followers => match self.by_group() {
                Some(to) => out.to.extend_from_slice(to),
                None => out.to.extend(self.addresses_of_children(self.config.host)),
            },
        }
        !out.to.is_empty()
    }
}
