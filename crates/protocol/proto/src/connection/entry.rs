//! A connection whose receiving half an interface program does ([MCP-1.4], [MCP-6.4]).
//!
//! From the set-up on it *waits*: nothing sequenced is taken from the socket until the agent has answered. Then it is
//! *entered*: what comes is told by records. If packets go on to come past the interface program it *returns*: what the
//! interface program knows is waited for, and then the connection is as any other. After a pause ([`absence`](super::absence))
//! it waits again. What records say is in [`told`](super::told).

use std::net::IpAddr;
use std::sync::Arc;

use bcl_wire::serial::before;
use bcl_wire::{Header, Kind};

use super::unheard::{DeafHosts, Unheard};
use super::{Connection, End, Stage};
use crate::common::{Common, Context};
use crate::counters::WhyNot;
use crate::message::Class;
use crate::progress::{ConnectionState, Outcome};
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// What comes by the socket for so long after a connection was entered may have come before.
const STRAGGLERS_FOR: Span = Span::from_ms(100);
/// Until a connection that is not entered any more, or could not be, is to be entered again: at first and at last.
const FIRST_ABSENCE: Span = Span::from_ms(1_000);
const LAST_ABSENCE: Span = Span::from_ms(64_000);
/// The same of one that the agent has refused: that costs little, and may be over as soon as an interface is back.
const LAST_REFUSED: Span = Span::from_ms(4_000);
/// The same of one whose peer has sent a stream, if that is over.
const FIRST_STREAM: Span = Span::from_ms(10);
const LAST_STREAM: Span = Span::from_ms(1_000);

/// How far an interface program has this connection.
#[derive(Debug)]
pub struct Entry {
    pub step: Step,
    /// The latest sequenced packet that was dropped because it came by the socket.
    dropped: Option<u32>,
    pub unheard: Unheard,
}

impl Entry {
    fn new() -> Option<Box<Self>> {
        Some(Box::new(Self {
            step: Step::Waiting,
            dropped: None,
            unheard: Unheard::default(),
        }))
    }
}

/// The steps of that, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Waiting,
    Entered { since: Time },
    Returning { why: WhyNot },
}

impl Connection {
    /// The connection is agreed; an interface program may be going to have it ([MCP-1.5]).
    pub fn await_interface(&mut self, now: Time, common: &Common, up: &mut impl Upcalls) {
        let host = self.host();
        // It has one key of NH for the port, which is that of connections that peers have set up.
        let is_of_our_keys = Arc::ptr_eq(&self.job, &common.keys);
        if common.config.has_interface()
            && is_of_our_keys
            && host.is_ipv4()
            && !self.is_mirror
            && up.passes_interface(self.path)
        {
            match common.deaf_hosts.until(now, host) {
                None => self.entry = Entry::new(),
                Some(until) => self.go_unheard_until(until),
            }
        }
    }

    fn host(&self) -> IpAddr {
        self.path.to.ip().to_canonical()
    }

    fn go_unheard_until(&mut self, until: Time) {
        self.why_not = Some(WhyNot::Unheard);
        self.absence.last_until(until);
    }

    /// The agent has entered it. Whether it has waited for that.
    pub fn on_entered(&mut self, now: Time) -> bool {
        let entry = self.entry.as_deref_mut();
        let Some(entry) = entry.filter(|entry| entry.step == Step::Waiting) else {
            return false;
        };
        entry.step = Step::Entered { since: now };
        self.inbox.is_entered = true;
        self.dropped = entry.dropped.take();
        self.acks.at_once(now);
        true
    }

    /// The agent has not entered it.
    pub fn on_not_entered(&mut self, now: Time) {
        self.go_on_without(now, None, FIRST_ABSENCE, LAST_REFUSED);
    }

    fn go_on_without(&mut self, now: Time, why: Option<WhyNot>, first: Span, last: Span) {
        self.dropped = self.entry.take().and_then(|entry| entry.dropped);
        self.why_not = why;
        self.absence.begin(now, first, last);
        self.acks.at_once(now);
    }

    /// Whether the program takes the peer's packets by its socket, and is not about to have it otherwise.
    #[inline]
    pub(super) fn is_without(&self) -> bool {
        self.entry.is_none() && self.absence.until().is_some()
    }

    /// A packet came by the socket, or what one has asked for leaves: the interface program is to have the next, if it has
    /// not had them for a while ([MCP-1.5]).
    #[inline]
    pub fn wait_again(&mut self, now: Time, common: &mut Common) {
        if self.absence.until().is_some_and(|until| until <= now) && self.begins_to_wait() {
            common.to_enter.push_back(self.id);
        }
    }

    #[cold]
    fn begins_to_wait(&mut self) -> bool {
        let is_free = self.entry.is_none()
            && self.is_up()
            && !self.is_closing
            && self.departed.is_none()
            && self.death.is_none();
        let has_nothing_early = !self.receive_window.has_gaps() && self.assembly.is_none();
        let waits = is_free
            && has_nothing_early
            && !self.streaming.is_stream()
            && !self.inbox.refusals.is_refusing()
            && self.owner.is_done();
        if waits {
            self.why_not = None;
            self.entry = Entry::new();
        }
        waits
    }

    /// What has become of the peer's one-sided operations, for the interface program to answer from.
    pub fn outcomes(&self) -> Vec<Option<Outcome>> {
        self.owner.outcomes()
    }

    /// A window was unbound ([WIRE-11.3]).
    pub fn on_unbound(&mut self, window: u16) {
        self.owner.on_unbound(window);
    }

    /// Goes on where the interface program has stopped ([MCP-6.3]).
    pub fn take_back(&mut self, now: Time, state: &ConnectionState, deaf_hosts: &mut DeafHosts) {
        let why = self.why_returning();
        let (first, last) = match why {
            Some(WhyNot::Streams) => (FIRST_STREAM, LAST_STREAM),
            _ => (FIRST_ABSENCE, LAST_ABSENCE),
        };
        self.go_on_without(now, why, first, last);
        if why == Some(WhyNot::Unheard) {
            self.go_unheard_until(deaf_hosts.add(now, self.host()));
        }
        self.inbox.is_entered = false;
        self.receive_window.resume(state.expected, state.taken);
        if let Some((message, sequence)) = state.refused {
            self.inbox.refusals.resume(Class::System, message, sequence);
        }
        self.owner.resume(&state.outcomes);
    }

    /// A sequenced packet, or a piece of one, that came by the socket. True: too late for one that was sent before the connection was entered.
    pub fn on_bypass<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<bool, End> {
        cx.common.drops.bypass += 1;
        self.on_any(header, payload, cx)?;
        let Some(entry) = self.entry.as_deref_mut() else {
            return Ok(false);
        };
        let sequence = match header.kind {
            Kind::Piece => header.message,
            _ => header.sequence,
        };
        if entry.dropped.is_none_or(|last| before(last, sequence)) {
            entry.dropped = Some(sequence);
        }
        let is_piece = header.kind == Kind::Piece;
        Ok(match entry.step {
            Step::Entered { since } => is_piece || cx.now.since(since) >= STRAGGLERS_FOR,
            Step::Waiting | Step::Returning { .. } => false,
        })
    }

    /// Whether nobody takes what is sequenced: it is up, and the agent is to be asked.
    pub fn is_waiting(&self) -> bool {
        let is_waiting = self
            .entry
            .as_deref()
            .is_some_and(|entry| entry.step == Step::Waiting);
        is_waiting && matches!(self.stage, Stage::Up)
    }

    /// Whether the interface program has it: what comes is told by records.
    pub fn is_entered(&self) -> bool {
        let entry = self.entry.as_deref();
        entry.is_some_and(|entry| entry.step != Step::Waiting)
    }

    /// The interface program is to leave it alone from now on, if it has it.
    pub fn give_back(&mut self, why: WhyNot, common: &mut Common) {
        if let Some(entry) = self.entry.as_deref_mut()
            && matches!(entry.step, Step::Entered { .. })
        {
            entry.step = Step::Returning { why };
            self.traffic.streams_left += u64::from(why == WhyNot::Streams);
            common.to_take_back.push_back(self.id);
        }
    }

    /// Why it is to be given back, if it is.
    pub fn why_returning(&self) -> Option<WhyNot> {
        match self.entry.as_deref()?.step {
            Step::Returning { why } => Some(why),
            Step::Waiting | Step::Entered { .. } => None,
        }
    }

    /// So many sequenced packets or answers have come. Where they come in a stream, the socket is to have them ([MCP-1.6]).
    #[inline]
    pub(super) fn judge(&mut self, now: Time, packets: u64, common: &mut Common) {
        if !common.config.leaves_streams() {
            return;
        }
        for _ in 0..packets {
            self.streaming.on_packet(now, common.away);
        }
        if self.streaming.is_stream() {
            self.give_back(WhyNot::Streams, common);
        }
    }
}
