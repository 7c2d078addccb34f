//! How hosts find each other ([REFLECT-8.2]): whoever is greeted answers with a token, and is believed to be there by who has
//! asked just now; whoever brings the token is believed by who gave it.

use std::net::SocketAddr;

use bcl_types::{Random, Span, Time, scrambled};
use bcl_wire::bytes::{get_u16, get_u64, put_u16, put_u64};

use crate::mirror::{Mirror, To};
use crate::names::{Event, Geometry, HostId};
use crate::packet::{Header, Kind};
use crate::peer::Peer;
use crate::stream::Retry;

const FIRST: Span = Span::from_ms(10);
const LONGEST: Span = Span::from_ms(1000);
/// How long nonces and tokens are good, once over.
const LIFE: Span = Span::from_ms(10_000);
/// Hosts that nobody knows are greeted no more often.
const STRANGERS: Span = Span::from_ms(20);

const GEOMETRY_BYTES: usize = 24;

/// Nonces and tokens, new ones from time to time: what is old proves nothing.
#[derive(Debug)]
pub(crate) struct Greeting {
    secrets: [u64; 2],
    changed_at: Time,
    stranger_at: Time,
}

/// Where a host may be.
#[derive(Debug)]
pub(crate) struct Place {
    candidates: Vec<SocketAddr>,
    /// A host is there.
    is_found: bool,
    retry: Retry,
}

impl Greeting {
    pub fn new(random: &mut Random, now: Time) -> Self {
        Self {
            secrets: [random.next_u64(), random.next_u64()],
            changed_at: now,
            stranger_at: Time(0),
        }
    }

    fn refresh(&mut self, random: &mut Random, now: Time) {
        if now.since(self.changed_at) >= LIFE {
            self.secrets = [random.next_u64(), self.secrets[0]];
            self.changed_at = now;
        }
    }

    fn nonce(&self) -> u64 {
        scrambled(self.secrets[0])
    }

    fn token(&self, host: HostId) -> u64 {
        scrambled(self.secrets[0] ^ host.0)
    }

    fn is_nonce(&self, nonce: u64) -> bool {
        self.secrets
            .iter()
            .any(|secret| scrambled(*secret) == nonce)
    }

    fn is_token(&self, host: HostId, token: u64) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| scrambled(secret ^ host.0) == token)
    }
}

impl Place {
    pub fn new(candidates: &[SocketAddr], now: Time) -> Self {
        Self {
            candidates: candidates.to_vec(),
            is_found: false,
            retry: Retry::at(now),
        }
    }
}

fn geometry_bytes(geometry: &Geometry) -> [u8; GEOMETRY_BYTES] {
    let mut bytes = [0; GEOMETRY_BYTES];
    put_u64(&mut bytes, 0, geometry.region_bytes);
    put_u64(&mut bytes, 8, geometry.log_bytes);
    put_u16(&mut bytes, 16, geometry.members);
    bytes
}

fn geometry_of(payload: &[u8]) -> Option<Geometry> {
    (payload.len() == GEOMETRY_BYTES).then(|| Geometry {
        region_bytes: get_u64(payload, 0),
        log_bytes: get_u64(payload, 8),
        members: get_u16(payload, 16),
    })
}

impl Mirror {
    /// Greets those that have not been found yet.
    pub(crate) fn greet_places(&mut self) {
        let now = self.now;
        self.greeting.refresh(&mut self.random, now);
        let mut greeted = Vec::new();
        for place in &mut self.places {
            if place.retry.is_due(now) {
                if !place.is_found {
                    greeted.extend_from_slice(&place.candidates);
                }
                place.retry.again(now, FIRST, LONGEST);
            }
        }
        for address in greeted {
            self.greet(address);
        }
        let next = self.places.iter().filter_map(|place| place.retry.due).min();
        self.wake_at_any(next);
    }

    pub(crate) fn greet(&mut self, address: SocketAddr) {
        let header = Header {
            position: self.greeting.nonce(),
            ..self.header(Kind::Hello)
        };
        let geometry = geometry_bytes(&self.config.geometry);
        self.send(To::One(address), header, &geometry);
    }

    /// Somebody who knows the key, and is not known: it was silent for too long, or is new and was not greeted.
    pub(crate) fn on_stranger(&mut self, from: SocketAddr, header: &Header) {
        self.counts.stale += 1;
        // Passed on, data come from others than they are of.
        let is_its_own = header.kind != Kind::Data && header.kind != Kind::Bye;
        if is_its_own && self.now.since(self.greeting.stranger_at) >= STRANGERS {
            self.greeting.stranger_at = self.now;
            self.greet(from);
        }
    }

    pub(crate) fn on_hello(&mut self, from: SocketAddr, header: &Header, payload: &[u8]) {
        let Some(theirs) = geometry_of(payload) else {
            return self.counts.foreign += 1;
        };
        let kind = match theirs == self.config.geometry {
            true => Kind::Welcome,
            false => Kind::Refuse,
        };
        let answer = Header {
            position: header.position,
            extra: self.greeting.token(header.host),
            ..self.header_to(kind, header.host)
        };
        let geometry = geometry_bytes(&self.config.geometry);
        self.send(To::One(from), answer, &geometry);
    }

    pub(crate) fn on_welcome(&mut self, from: SocketAddr, header: &Header) {
        if !self.greeting.is_nonce(header.position) {
            return self.counts.stale += 1;
        }
        let confirm = Header {
            extra: header.extra,
            ..self.header_to(Kind::Confirm, header.host)
        };
        self.send(To::One(from), confirm, &[]);
        self.meet(header.host, from);
    }

    pub(crate) fn on_confirm(&mut self, from: SocketAddr, header: &Header) {
        match self.greeting.is_token(header.host, header.extra) {
            true => self.meet(header.host, from),
            false => self.counts.stale += 1,
        }
    }

    pub(crate) fn on_refuse(&mut self, header: &Header, payload: &[u8]) {
        if let (true, Some(theirs)) = (
            self.greeting.is_nonce(header.position),
            geometry_of(payload),
        ) {
            self.events.push_back(Event::Refused(theirs));
        }
    }

    /// A host is there.
    pub(crate) fn meet(&mut self, host: HostId, address: SocketAddr) {
        let (now, members) = (self.now, self.config.geometry.members);
        let known = self.peers.get_mut(&host);
        match known {
            Some(peer) => {
                if std::mem::replace(&mut peer.address, address) != address {
                    self.unsaved.hosts();
                }
                peer.heard_at = now;
            }
            None => {
                let peer = Peer::new(address, now, members);
                self.peers.insert(host, peer);
                self.hosts_changed();
                self.events.push_back(Event::HostCame(host));
            }
        }
        self.note_place(address, true);
        self.tell(&To::One(address));
    }

    /// Whether a host is at that address.
    pub(crate) fn note_place(&mut self, address: SocketAddr, is_found: bool) {
        let mut places = self.places.iter_mut();
        if let Some(place) = places.find(|place| place.candidates.contains(&address)) {
            place.is_found = is_found;
        }
    }

    /// Whether all places have been found, or had time enough.
    pub(crate) fn has_looked_around(&self) -> bool {
        let mut places = self.places.iter();
        self.now.since(self.begun) >= self.config.patience || places.all(|place| place.is_found)
    }
}
