//! What the records of the interface program tell ([MCP-6.4]).

use bcl_layout::Record;
use bcl_wire::serial::before;
use bcl_wire::{Flags, Header, Kind};

use super::questions::Question;
use super::{Connection, End};
use crate::buffers::Buffers;
use crate::common::Context;
use crate::counters::WhyNot;
use crate::message::Class;
use crate::message::outgoing::Broken;
use crate::names::Path;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// Of a long PUT whose beginning is told no more packets than these count.
const COUNTED_MAX: u64 = 256;
/// Until a refusal is told again ([MCP-6.4]), at first and at last.
const FIRST_PAUSE: Span = Span::from_ms(2);
const LAST_PAUSE: Span = Span::from_ms(100);

impl Connection {
    /// A packet that the interface program has checked, and taken if it is a sequenced one. False: there is no room
    /// for it now.
    pub fn on_record<U: Upcalls>(
        &mut self,
        record: &Record<'_>,
        header: &Header,
        cx: &mut Context<'_, U>,
    ) -> Result<bool, End> {
        let is_dealt_with = record.is_placed || record.is_bare;
        if !is_dealt_with && !self.has_room_for(header, cx) {
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
                self.judge(cx.now, packets_of(record, header), cx.common);
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
            if entry.unheard.is_proven() {
                self.give_back(WhyNot::Unheard, cx.common);
            }
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
}

/// How many packets a record tells of: of a PUT that the interface program performs only the first has one ([MCP-4.5]).
fn packets_of(record: &Record<'_>, header: &Header) -> u64 {
    let begins = record.is_bare && header.kind == Kind::Put && header.flags.contains(Flags::FIRST);
    if !begins {
        return 1;
    }
    let packets = header.length / u64::from(header.payload_len_bytes).max(1);
    packets.clamp(1, COUNTED_MAX)
}
