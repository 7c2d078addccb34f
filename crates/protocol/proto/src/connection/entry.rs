//! A connection whose receiving half an interface program does ([MCP-1.4], [MCP-6.4]).
//!
//! From the set-up on it *waits*: nothing sequenced is taken from the socket until the agent has answered. Then it is
//! *entered*: what comes is told by records. If packets go on to come past the interface program it *returns*: what the
//! interface program knows is waited for, and then the connection is as any other. After a pause it waits again.

use std::net::IpAddr;
use std::sync::Arc;

use bcl_layout::Record;
use bcl_wire::serial::before;
use bcl_wire::{Flags, Header, Kind};

use super::questions::Question;
use super::unheard::{DeafHosts, Unheard};
use super::{Connection, End, Stage};
use crate::buffers::Buffers;
use crate::common::{Common, Context};
use crate::message::Class;
use crate::message::outgoing::Broken;
use crate::names::Path;
use crate::progress::ConnectionState;
use crate::time::{Span, Time};
use crate::upcalls::Upcalls;

/// What comes by the socket for so long after a connection was entered may have come before.
const STRAGGLERS_FOR: Span = Span::from_ms(100);
/// Until a refusal is told again ([MCP-6.4]), at first and at last.
const FIRST_PAUSE: Span = Span::from_ms(2);
const LAST_PAUSE: Span = Span::from_ms(100);
/// Until a connection that is not entered any more, or could not be, is to be entered again: at first and at last.
const FIRST_ABSENCE: Span = Span::from_ms(1_000);
const LAST_ABSENCE: Span = Span::from_ms(64_000);
/// The same of one that the agent has refused: that costs little, and may be over as soon as an interface is back.
const LAST_REFUSED: Span = Span::from_ms(4_000);

/// How far an interface program has this connection.
#[derive(Debug)]
pub struct Entry {
    pub step: Step,
    /// The latest sequenced packet that was dropped because it came by the socket.
    dropped: Option<u32>,
    unheard: Unheard,
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
    Returning,
}

/// When a connection that the interface program does not have is to be entered.
#[derive(Debug, Default)]
pub struct Absence {
    until: Option<Time>,
    pause: Span,
}

impl Absence {
    /// It begins, and lasts twice as long as the last time. Until when.
    pub fn begin(&mut self, now: Time, first: Span, last: Span) -> Time {
        let was_long_ago = self.until.is_some_and(|until| now.since(until) > last);
        self.pause = match was_long_ago {
            true => first,
            false => self.pause.times(2).max(first).min(last),
        };
        let until = now + self.pause;
        self.until = Some(until);
        until
    }

    pub fn until(&self) -> Option<Time> {
        self.until
    }
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
                Some(until) => self.is_unheard_until(until),
            }
        }
    }

    fn host(&self) -> IpAddr {
        self.path.to.ip().to_canonical()
    }

    /// Whether it is entered and the peer does not hear what the interface program answers.
    pub fn is_proven_unheard(&self) -> bool {
        let entry = self.entry.as_deref();
        entry.is_some_and(|entry| entry.unheard.is_proven())
    }

    fn is_unheard_until(&mut self, until: Time) {
        self.is_unheard = true;
        self.absence.until = Some(until);
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
        self.go_on_without(now, LAST_REFUSED);
    }

    fn go_on_without(&mut self, now: Time, last_absence: Span) {
        self.dropped = self.entry.take().and_then(|entry| entry.dropped);
        self.is_unheard = false;
        self.absence.begin(now, FIRST_ABSENCE, last_absence);
        self.acks.at_once(now);
    }

    /// A packet came by the socket: whether the interface program is to have the next, now that it has not had them for
    /// a while ([MCP-1.5]).
    #[inline]
    pub fn waits_again(&mut self, now: Time) -> bool {
        self.absence.until.is_some_and(|until| until <= now) && self.wait_again()
    }

    #[cold]
    fn wait_again(&mut self) -> bool {
        let is_free =
            self.entry.is_none() && self.is_up() && !self.is_closing && !self.has_departed;
        let has_nothing_early = !self.receive_window.has_gaps() && self.assembly.is_none();
        let waits = is_free
            && has_nothing_early
            && !self.inbox.refusals.is_refusing()
            && !self.owner.was_asked();
        if waits {
            self.is_unheard = false;
            self.entry = Entry::new();
        }
        waits
    }

    /// Goes on where the interface program has stopped ([MCP-6.3]).
    pub fn take_back(&mut self, now: Time, state: &ConnectionState, deaf_hosts: &mut DeafHosts) {
        let is_unheard = self.is_proven_unheard();
        self.go_on_without(now, LAST_ABSENCE);
        if is_unheard {
            self.is_unheard_until(deaf_hosts.add(now, self.host()));
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
            Step::Waiting | Step::Returning => false,
        })
    }

    /// A packet that the interface program has checked, and taken if it is a sequenced one. False: there is no room
    /// for it now.
    pub fn on_record<U: Upcalls>(
        &mut self,
        record: &Record<'_>,
        header: &Header,
        cx: &mut Context<'_, U>,
    ) -> Result<bool, End> {
        if !record.is_placed && !self.has_room_for(header, cx) {
            return Ok(false);
        }
        // The interface program has one link.
        let from = Path {
            to: record.from,
            rail: 0,
        };
        let payload = record.payload;
        self.on_any(header, payload, cx)?;
        self.receive_window.on_told(record.ack);
        match header.kind {
            Kind::Probe => {
                // It was answered.
                if self.liveness.on_probe(header.message) {
                    self.on_fresh(from, cx.now);
                    self.on_question(from, header, cx);
                }
            }
            _ if header.is_sequenced() => {
                self.on_told(record, header, cx)?;
                self.on_fresh(from, cx.now);
                self.acks.on_told(cx.now, record.is_acked);
                self.catch_up_told(cx)?;
            }
            _ => self.on_unsequenced(from, header, payload, cx),
        }
        self.verdict(cx).map(|()| true)
    }

    /// The interface program has answered a question. If that is asked again, the program answers as well, by its socket.
    fn on_question<U: Upcalls>(&mut self, from: Path, probe: &Header, cx: &mut Context<'_, U>) {
        let question = Question::of(probe);
        if question.first.is_some() {
            self.answer_to = Some((probe.message, from));
            self.traffic.answers_unheard += 1;
        }
        if let Some(entry) = self.entry.as_deref_mut() {
            entry.unheard.on_question(question);
        }
        if self.is_proven_unheard() && self.begin_return() {
            cx.common.to_take_back.push_back(self.id);
        }
    }

    fn has_room_for<U: Upcalls>(&self, header: &Header, cx: &Context<'_, U>) -> bool {
        match header.kind {
            _ if cx.common.is_closing => true,
            Kind::Put | Kind::Get | Kind::Atomic => self.owner.has_room(),
            Kind::Data if header.channel == 0 && header.flags.contains(Flags::FIRST) => {
                let is_unreliable = header.flags.contains(Flags::UNRELIABLE);
                let cost = Buffers::cost(header.length as usize);
                is_unreliable || cost <= cx.common.pool.room_bytes()
            }
            _ => true,
        }
    }

    fn on_told<U: Upcalls>(
        &mut self,
        record: &Record<'_>,
        header: &Header,
        cx: &mut Context<'_, U>,
    ) -> Result<(), Broken> {
        let sender = self.sender();
        let (window, start) = (header.channel, u64::from(record.place));
        match header.kind {
            Kind::Body if record.is_placed => self.inbox.on_placed(header, sender, cx),
            Kind::Put if record.is_placed => {
                cx.up
                    .window_written(self.peer, window, start, header.length);
            }
            Kind::Atomic if record.is_placed => cx.up.window_written(self.peer, window, start, 8),
            _ if record.is_placed || record.is_bare => {}
            _ if record.is_early => {
                self.stash
                    .keep_all_the_same(&mut cx.common.stash, self.id, header, record.payload);
            }
            _ => {
                self.process(header, record.payload, cx)?;
            }
        }
        Ok(())
    }

    /// Deals with packets that came early and whose turn has come, as records have told. False: there is no room for
    /// the next one.
    pub fn catch_up_told<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Result<bool, End> {
        while let Some((header, name)) = self.stash.first()
            && before(header.sequence, self.receive_window.expected())
        {
            if !self.has_room_for(&header, cx) || !self.process_first(&header, name, cx)? {
                cx.common.overdue.push(self.id);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A refusal of messages on normal channels is told: what an interface program has acknowledged is not sent again
    /// by itself, so that it is told until it is heard.
    pub(super) fn on_refusal_told(&mut self, now: Time) {
        let twice = self.trip.smoothed().unwrap_or_default().times(2);
        let pause = self.tell_pause.times(2).max(twice).max(FIRST_PAUSE);
        self.tell_pause = pause.min(LAST_PAUSE);
        self.tell_at = Some(now + self.tell_pause);
    }

    /// Time has passed.
    pub(super) fn tell_again(&mut self, now: Time) {
        if self.tell_at.is_some_and(|at| at <= now) {
            self.tell_at = None;
            match self.inbox.refusals.of(Class::Normal) {
                Some(_) => self.inbox.refusals.tell_again(Class::Normal),
                None => self.tell_pause = Span::ZERO,
            }
        }
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

    /// Whether it is to be taken back; then it is from now on.
    pub fn begin_return(&mut self) -> bool {
        let Some(entry) = self.entry.as_deref_mut() else {
            return false;
        };
        let is_entered = matches!(entry.step, Step::Entered { .. });
        if is_entered {
            entry.step = Step::Returning;
        }
        is_entered
    }
}
