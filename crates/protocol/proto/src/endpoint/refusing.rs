//! Refusals: what we tell those whom we turn away, and what we believe of what we are told ([WIRE-10]).

use std::sync::Arc;

use bcl_types::OpError;
use bcl_wire::{
    CheckKey, Header, JobKeys, Kind, Preamble, RefuseReason, VERSION, verify, version_detail,
    versions_of_detail,
};

use super::Endpoint;
use crate::connection::{Connection, End, Stage};
use crate::names::Path;
use crate::setup::Question;
use crate::transmit::{Payload, Transmit, Whose};
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// Refusals are no more frequent than this, whatever comes in ([WIRE-10.2]).
const PAUSE: Span = Span::from_us(100);
/// Answers that wait to leave.
const REPLIES_MAX: usize = 64;

impl Endpoint {
    /// Has an answer leave that belongs to no connection.
    pub(super) fn reply(&mut self, transmit: Transmit) {
        if self.replies.len() < REPLIES_MAX {
            self.replies.push_back(transmit);
        }
    }

    fn refuse(
        &mut self,
        now: Time,
        to: Path,
        to_port: u16,
        id: u32,
        reason: RefuseReason,
        detail: u64,
    ) {
        if now.since(self.refused_at) < PAUSE && self.refused_at != Time(0) {
            return;
        }
        self.refused_at = now;
        let mut header = Header::new(Kind::Refuse);
        header.to_connection = id;
        header.from_port = self.common.config.address.port;
        header.to_port = to_port;
        header.length = u64::from(reason.number());
        header.offset = detail;
        let key = *self.common.keys.setup();
        self.reply(Transmit {
            path: to,
            payload: Payload::EMPTY,
            is_single: false,
            may_be_cut: false,
            header: header.to_bytes(),
            key,
            job: Whose::Ours,
        });
    }

    /// A HELLO of another job.
    pub(super) fn refuse_job(&mut self, now: Time, to: Path, header: &Header, job_id: u64) {
        let (port, id) = (header.from_port, header.from_connection);
        self.refuse(now, to, port, id, RefuseReason::Key, job_id);
    }

    /// A packet for a connection that there is not; its sender will find out what became of the peer.
    pub(super) fn refuse_stray(&mut self, now: Time, to: Path, header: &Header) {
        let (port, id) = (header.from_port, header.from_connection);
        if id != 0 {
            self.refuse(now, to, port, id, RefuseReason::Stale, 0);
        }
    }

    /// A packet of another version ([WIRE-1.5]).
    pub(super) fn on_version(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        theirs: u8,
        up: &mut impl Upcalls,
    ) {
        self.common.drops.version += 1;
        let Some(head) = Preamble::read(datagram) else {
            return;
        };
        if !head.is_refusal {
            let (port, id) = (head.from_port, head.from_connection);
            let detail = version_detail(theirs);
            return self.refuse(now, from, port, id, RefuseReason::Version, detail);
        }
        let error = OpError::VersionMismatch {
            ours: VERSION.into(),
            theirs: theirs.into(),
        };
        self.fail_greeting(now, from, head.to_connection, error, up);
    }

    /// REFUSE. Only an attempt at a connection fails by it; one that is up asks its peer who it is.
    pub(super) fn on_refuse(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        header: &Header,
        up: &mut impl Upcalls,
    ) {
        let reason = u8::try_from(header.length).ok();
        let Some(reason) = reason.and_then(RefuseReason::from_number) else {
            self.common.drops.malformed += 1;
            return;
        };
        // What was refused must be what we have said, and not what became of it on the way.
        let (refused_version, theirs) = versions_of_detail(header.offset);
        let is_ours = match reason {
            RefuseReason::Key => self.was_greeted_by(header.to_connection, header.offset),
            RefuseReason::Version => refused_version == VERSION,
            _ => true,
        };
        if !is_ours {
            self.common.drops.stale_setup += 1;
            return;
        }
        let error = match reason {
            RefuseReason::Stale => return self.on_stale(now, datagram, header, up),
            RefuseReason::Key => OpError::KeyMismatch,
            RefuseReason::Version => OpError::VersionMismatch {
                ours: VERSION.into(),
                theirs: theirs.into(),
            },
            RefuseReason::NoPort => OpError::NoPort,
            RefuseReason::NotAllowed | RefuseReason::Full => OpError::Unreachable,
        };
        self.fail_greeting(now, from, header.to_connection, error, up);
    }

    /// Whether the HELLO for this connection has named the job of this id.
    fn was_greeted_by(&self, id: u32, job_id: u64) -> bool {
        let connection = self.connections.named(id);
        connection.is_some_and(|connection| connection.job.id() == job_id)
    }

    fn fail_greeting(
        &mut self,
        now: Time,
        from: Path,
        id: u32,
        error: OpError,
        up: &mut impl Upcalls,
    ) {
        let place = self.connections.place_of(id);
        let place = place.filter(|place| self.is_greeting(*place));
        let is_from_there = |place: &u32| {
            let connection = self.connections.get(*place);
            connection.is_some_and(|connection| connection.path.to == from.to)
        };
        let place = place.filter(is_from_there);
        let Some((place, connection)) =
            place.and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            self.common.drops.no_connection += 1;
            return;
        };
        let Stage::Greeting(attempt) = &mut connection.stage else {
            return;
        };
        if attempt.is_refused_again(error) {
            self.follow_up(place, now, Err(End::Failed(error)), up);
        }
    }

    /// The peer does not know the connection (any more). It may be a replay, or the peer has started anew.
    fn on_stale(&mut self, now: Time, datagram: &[u8], header: &Header, up: &mut impl Upcalls) {
        let Some((place, connection)) = self
            .connections
            .place_of(header.to_connection)
            .and_then(|place| Some((place, self.connections.get(place)?)))
        else {
            self.common.drops.no_connection += 1;
            return;
        };
        // While our CONFIRM is under way, what was sent after it may well overtake it: it is said again.
        let is_questionable = matches!(connection.stage, Stage::Up) && connection.doubt.is_none();
        let Some(job) = refuser(connection, datagram, up) else {
            self.common.drops.check += 1;
            return;
        };
        let attempt = self.new_attempt(now);
        let connection = self.connections.get_mut(place);
        if let Some(connection) = connection.filter(|_| is_questionable) {
            connection.doubt = Some(Question { attempt, job });
        }
        self.follow_up(place, now, Ok(()), up);
    }
}

/// The keys with which the peer of a connection has sealed a REFUSE: those of the connection if it was we who have set it
/// up, else those that its port is said to have.
fn refuser(
    connection: &Connection,
    datagram: &[u8],
    up: &mut impl Upcalls,
) -> Option<Arc<JobKeys>> {
    // It has no payload, so that it matters not whose keys of NH are used.
    let is_sealed_by = |key: &CheckKey| verify(datagram, &connection.job, key);
    if is_sealed_by(connection.job.setup()) {
        return Some(Arc::clone(&connection.job));
    }
    let secret = up.secret_of(connection.peer)?;
    is_sealed_by(&JobKeys::setup_of(&secret)).then(|| Arc::new(JobKeys::derive(&secret)))
}
