//! HELLO, WELCOME, CONFIRM ([WIRE-4]).

use std::sync::Arc;

use bcl_types::{Address, Cause, OpError};
use bcl_wire::body::Setup;
use bcl_wire::serial::before;
use bcl_wire::{Header, JobKeys, Kind, Transcript, verify};

use super::Endpoint;
use crate::common::Context;
use crate::connection::packet::inline;
use crate::connection::receive_window::RECEIVE_WINDOW;
use crate::connection::{Agreed, Connection, End, Keys, Noted, Stage};
use crate::names::Path;
use crate::setup::attempt_of;
use crate::setup::greeting::{Greeting, Welcome};
use crate::transmit::{Transmit, Whose};
use crate::upcalls::Upcalls;
use bcl_types::Time;

/// What to do with a CONFIRM whose token is good ([WIRE-4.7]).
enum Claim {
    /// Nobody is in its way.
    New,
    /// It takes the place of our own attempt, with what waits there.
    TakesOver(u32),
    /// It takes the place of a connection, which ends.
    Replaces(u32),
    /// It is the connection that there is: our answer was lost.
    Same(u32),
    /// It is older than the connection that there is, or must wait for ours.
    Stale,
}

impl Endpoint {
    /// Payload of a packet of a set-up.
    fn setup_of(&mut self, payload: &[u8]) -> Option<Setup> {
        let body = Setup::from_bytes(payload);
        self.common.drops.malformed += u64::from(body.is_none());
        body
    }

    /// Whether a packet of a set-up was sealed with these keys, which are the responder's.
    fn is_sealed_by(&mut self, job: &JobKeys, datagram: &[u8], body: &Setup) -> bool {
        if body.job_id != job.id() {
            self.common.drops.job += 1;
            return false;
        }
        let is_right = verify(datagram, job, job.setup());
        self.common.drops.check += u64::from(!is_right);
        is_right
    }

    fn own_node(&self) -> u32 {
        self.common.config.address.node.into()
    }

    pub(super) fn on_hello(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        header: &Header,
        payload: &[u8],
        up: &mut impl Upcalls,
    ) {
        let Some(mut body) = self.setup_of(payload) else {
            return;
        };
        let own = Arc::clone(&self.common.keys);
        if !self.is_sealed_by(&own, datagram, &body) {
            if body.job_id != own.id() {
                self.refuse_job(now, from, header, body.job_id);
                up.stranger();
            }
            return;
        }
        if body.responder_node != self.own_node() || header.from_port == 0 {
            self.common.drops.not_ours += 1;
            return;
        }
        if self.common.is_closing || !self.gives_way(now, initiator(&body, header)) {
            return;
        }
        body.responder_incarnation = self.common.config.incarnation;
        body.receive_window_packets = RECEIVE_WINDOW as u16;
        body.answerer = self.common.config.answerer();
        body.token_time = now.0;
        body.token = self.mint.mint(from, ports(header), &body);
        let mut answer = Header::new(Kind::Welcome);
        answer.to_connection = header.from_connection;
        answer.from_connection = self.connections.propose(&mut self.common.secrets);
        answer.from_port = header.to_port;
        answer.to_port = header.from_port;
        answer.message = self.attempts;
        answer.offset = self.name_of(initiator(&body, header));
        answer.payload_len_bytes = Setup::LEN as u16;
        let key = *own.setup();
        self.reply(Transmit {
            path: from,
            payload: inline(&body.to_bytes()),
            is_single: false,
            may_be_cut: false,
            header: answer.to_bytes(),
            key,
            job: Whose::Ours,
        });
    }

    /// Names the connection with a peer, if there is one; of a port with itself, its other end.
    fn name_of(&mut self, peer: Address) -> u64 {
        let connection = match peer == self.common.config.address {
            true => self.connections.iter().find(|other| other.is_mirror),
            false => {
                let place = self.connections.find(peer);
                place.and_then(|place| self.connections.get(place))
            }
        };
        connection
            .and_then(|connection| connection.agreed)
            .map_or(0, |agreed| agreed.nonce)
    }

    /// Whether a HELLO is answered although we may be saying one as well: that of the lower address goes first
    /// ([WIRE-4.6]).
    fn gives_way(&mut self, now: Time, peer: Address) -> bool {
        let own = self.common.config.address;
        let connection = self
            .connections
            .find(peer)
            .and_then(|place| self.connections.get_mut(place));
        match connection.map(|connection| &mut connection.stage) {
            Some(Stage::Greeting(_) | Stage::Confirming(_)) if own < peer => false,
            Some(Stage::Greeting(attempt)) if own > peer => {
                attempt.hold_back(now);
                true
            }
            _ => true,
        }
    }

    pub(super) fn on_welcome(
        &mut self,
        now: Time,
        datagram: &[u8],
        header: &Header,
        payload: &[u8],
        up: &mut impl Upcalls,
    ) {
        let Some(body) = self.setup_of(payload) else {
            return;
        };
        let Some((place, connection)) = self
            .connections
            .place_of(header.to_connection)
            .and_then(|place| Some((place, self.connections.get(place)?)))
        else {
            self.common.drops.no_connection += 1;
            return;
        };
        let job = Arc::clone(connection.job_of(body.initiator_nonce));
        if !self.is_sealed_by(&job, datagram, &body) {
            return;
        }
        let own = self.common.config.address;
        let transcript = Transcript {
            initiator: (body.initiator_node, own.port),
            responder: (body.responder_node, header.from_port),
            ..transcript(&body)
        };
        let Some(connection) = self.connections.get_mut(place) else {
            return;
        };
        let is_ours = body.initiator_incarnation == self.common.config.incarnation
            && body.initiator_node == u32::from(own.node)
            && responder(&body, header) == connection.peer;
        if is_ours
            && let Some(doubt) = &connection.doubt
            && doubt.attempt.nonce == body.initiator_nonce
        {
            // Fresh word of the peer whether it has our connection ([WIRE-4.10]).
            connection.doubt = None;
            let result = match connection.has_nonce(header.offset) {
                true => Ok(()),
                false => Err(End::Gone(Cause::Restarted)),
            };
            return self.follow_up(place, now, result, up);
        }
        let nonce = match &connection.stage {
            Stage::Greeting(attempt) => Some(attempt.nonce),
            Stage::Confirming(greeting) => Some(greeting.attempt.nonce),
            Stage::Up => None,
        };
        if !is_ours || nonce != Some(body.initiator_nonce) {
            self.common.drops.stale_setup += 1;
            return;
        }
        let agreed = Agreed {
            incarnation: body.responder_incarnation,
            attempt: header.message,
            nonce: body.initiator_nonce,
            token: body.token,
            receive_window: u32::from(body.receive_window_packets).clamp(1, RECEIVE_WINDOW),
            answerer: body.answerer,
        };
        let keys = job.connection(&transcript);
        let keys = Keys {
            ours: keys.from_initiator,
            theirs: keys.from_responder,
        };
        let to_connection = header.from_connection;
        let welcome = Welcome {
            agreed,
            keys,
            body: Setup {
                receive_window_packets: RECEIVE_WINDOW as u16,
                answerer: self.common.config.answerer(),
                ..body
            },
            to_connection,
        };
        let attempt = match &mut connection.stage {
            Stage::Greeting(attempt) => attempt,
            Stage::Confirming(greeting) => return greeting.add(now, welcome, header.offset),
            Stage::Up => return,
        };
        let trip = (attempt.times == 1).then(|| now.since(attempt.said_at));
        // CONFIRM goes where HELLO went, wherever this came from: it could be played back under another address.
        let stage = Stage::Confirming(Greeting::new(now, attempt.clone(), welcome));
        connection.agree(now, agreed, keys, to_connection, stage);
        connection.await_interface(now, &self.common, up);
        if let Some(trip) = trip {
            connection.on_set_up_trip(now, trip);
        }
        self.follow_up(place, now, Ok(()), up);
    }

    pub(super) fn on_confirm(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        header: &Header,
        payload: &[u8],
        up: &mut impl Upcalls,
    ) {
        let Some(body) = self.setup_of(payload) else {
            return;
        };
        let own = Arc::clone(&self.common.keys);
        if !self.is_sealed_by(&own, datagram, &body) {
            return;
        }
        let is_ours = body.responder_node == self.own_node()
            && body.responder_incarnation == self.common.config.incarnation;
        let peer = initiator(&body, header);
        let attempt = attempt_of(body.initiator_nonce);
        let set_up = (body.initiator_incarnation, attempt);
        let is_fresh = is_ours
            && self.mint.knows(now, from, ports(header), &body)
            && !self.ended.has_token(body.token)
            && !self.ended.outdates(now, peer, set_up);
        if !is_fresh || self.common.is_closing {
            self.common.drops.stale_setup += 1;
            return;
        }
        let agreed = Agreed {
            incarnation: body.initiator_incarnation,
            attempt,
            nonce: body.initiator_nonce,
            token: body.token,
            receive_window: u32::from(body.receive_window_packets).clamp(1, RECEIVE_WINDOW),
            answerer: body.answerer,
        };
        let transcript = Transcript {
            initiator: (body.initiator_node, header.from_port),
            responder: (body.responder_node, header.to_port),
            ..transcript(&body)
        };
        let keys = own.connection(&transcript);
        let keys = Keys {
            ours: keys.from_responder,
            theirs: keys.from_initiator,
        };
        let names = (header.from_connection, header.to_connection);
        match self.claim(peer, &agreed) {
            Claim::Stale => self.common.drops.stale_setup += 1,
            Claim::Same(place) => {
                if let Some(connection) = self.connections.get_mut(place) {
                    connection.confirm(now);
                }
                self.follow_up(place, now, Ok(()), up);
            }
            Claim::New => self.enter(now, None, (peer, from), (agreed, keys), names, up),
            Claim::TakesOver(place) => {
                let old = self.connections.remove(place);
                self.enter(now, old, (peer, from), (agreed, keys), names, up);
            }
            Claim::Replaces(place) => {
                let cause = self.departed(place).unwrap_or(Cause::Restarted);
                self.end(place, now, End::Gone(cause), up);
                self.enter(now, None, (peer, from), (agreed, keys), names, up);
            }
        }
    }

    fn claim(&mut self, peer: Address, agreed: &Agreed) -> Claim {
        let own = self.common.config.address;
        if let Some(connection) = self
            .connections
            .iter()
            .filter(|other| other.is_mirror == (peer == own))
            .find(|other| other.peer == peer && other.is(agreed.token))
        {
            let place = self.connections.place_of(connection.id);
            return place.map_or(Claim::Stale, Claim::Same);
        }
        if peer == own {
            // The other end of the connection of a port with itself: one for each attempt, of several WELCOMEs.
            let mut mirrors = self.connections.iter().filter(|other| other.is_mirror);
            let is_there = |agreed_before: &Agreed| !before(agreed_before.attempt, agreed.attempt);
            return match mirrors.any(|mirror| mirror.agreed.as_ref().is_some_and(is_there)) {
                true => Claim::Stale,
                false => Claim::New,
            };
        }
        let Some(place) = self.connections.find(peer) else {
            return Claim::New;
        };
        let Some(connection) = self.connections.get(place) else {
            return Claim::New;
        };
        match (&connection.stage, &connection.agreed) {
            (Stage::Greeting(_), _) | (_, None) => Claim::TakesOver(place),
            (_, Some(current)) if agreed.incarnation < current.incarnation => Claim::Stale,
            (_, Some(current)) if agreed.incarnation > current.incarnation => {
                Claim::Replaces(place)
            }
            (_, Some(current)) if !before(current.attempt, agreed.attempt) => Claim::Stale,
            (Stage::Confirming(_), _) if own < peer => Claim::Stale,
            (Stage::Confirming(_), _) => Claim::TakesOver(place),
            (Stage::Up, _) => Claim::Replaces(place),
        }
    }

    /// The connection is there. What waited for one of our own making is sent by it.
    fn enter(
        &mut self,
        now: Time,
        old: Option<Box<Connection>>,
        (peer, path): (Address, Path),
        (agreed, keys): (Agreed, Keys),
        (peer_id, proposed): (u32, u32),
        up: &mut impl Upcalls,
    ) {
        let job = Arc::clone(&self.common.keys);
        let mut connection = match old {
            Some(mut old) => {
                old.restart();
                old.job = job;
                old.path = path;
                old.noted = Noted::default();
                old
            }
            None => {
                let id = proposed;
                Box::new(Connection::new(
                    now,
                    id,
                    peer,
                    path,
                    Stage::Up,
                    job,
                    &self.common.config,
                ))
            }
        };
        connection.id = proposed;
        connection.is_mirror = peer == self.common.config.address;
        connection.agree(now, agreed, keys, peer_id, Stage::Up);
        connection.await_interface(now, &self.common, up);
        connection.confirm(now);
        let common = &mut self.common;
        connection.trust_route(&mut Context { now, common, up });
        let inserted = self
            .connections
            .insert(connection)
            .or_else(|mut connection| {
                // Somebody has taken the place since it was proposed; the peer learns the name from our answer.
                connection.id = self.connections.propose(&mut self.common.secrets);
                self.connections.insert(connection)
            });
        let place = match inserted {
            Ok(place) => place,
            Err(mut connection) => {
                let common = &mut self.common;
                let end = End::Failed(OpError::Unreachable);
                return connection.end(end, &mut Context { now, common, up });
            }
        };
        if let Some(connection) = self.connections.get_mut(place) {
            let common = &mut self.common;
            connection.on_up(&mut Context { now, common, up });
        }
        self.follow_up(place, now, Ok(()), up);
    }
}

fn initiator(body: &Setup, header: &Header) -> Address {
    Address {
        node: body.initiator_node.into(),
        port: header.from_port,
    }
}

fn responder(body: &Setup, header: &Header) -> Address {
    Address {
        node: body.responder_node.into(),
        port: header.from_port,
    }
}

/// Ports of a packet of the initiator: its own and ours.
fn ports(header: &Header) -> [u16; 2] {
    [header.from_port, header.to_port]
}

/// What a set-up is about, but for the addresses.
fn transcript(body: &Setup) -> Transcript {
    Transcript {
        initiator: (0, 0),
        responder: (0, 0),
        initiator_incarnation: body.initiator_incarnation,
        responder_incarnation: body.responder_incarnation,
        initiator_nonce: body.initiator_nonce,
        token: body.token,
    }
}
