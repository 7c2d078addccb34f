//! The next packet for the peer.

use bcl_wire::body::AckBody;
use bcl_wire::serial::distance;
use bcl_wire::{Answerer, CheckKey, Flags, HEADER_LEN, Header, Kind, NakReason};

use super::packet::{Content, Packet, inline};
use super::{Connection, Stage};
use crate::common::Context;
use crate::message::Class;
use crate::rma::requester::Terms;
use crate::slab::Name;
use crate::transmit::{Payload, Transmit, Whose};
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// Unreliable messages that wait for their turn to leave; more are dropped ([WIRE-6.7]).
pub const UNRELIABLE_MAX: usize = 64;

/// Longest payload of datagrams of this length, a multiple of what the check takes at once.
pub fn payload_limit(datagram_bytes: u16) -> u16 {
    let payload = usize::from(datagram_bytes)
        .saturating_sub(HEADER_LEN)
        .clamp(64, bcl_wire::PAYLOAD_MAX);
    (payload & !7) as u16
}

impl Connection {
    /// Whether [`next_transmit`](Self::next_transmit) would find something.
    #[inline]
    pub fn is_ready(&self, now: Time) -> bool {
        match &self.stage {
            Stage::Greeting(attempt) => return attempt.is_due(now),
            Stage::Confirming(greeting) if greeting.is_due(now) => return true,
            _ if self.departed.is_some() => return self.acks.is_due(),
            _ => {}
        }
        self.acks.is_due()
            || self.has_tail_probe
            || self.has_question
            || self.asks_elsewhere()
            || self.answer_to.is_some()
            || self.inbox.refusals.must_tell()
            || self.owner.has_answers()
            || !self.unreliable.is_empty() && self.pacer.permits(now)
            || self
                .doubt
                .as_ref()
                .is_some_and(|doubt| doubt.attempt.is_due(now))
            || self.flights.has_room(self.peer_window())
                && (self.inbox.has_controls() || self.may_close())
            || self.flights.has_lost() && self.may_send_again(now)
            || self.has_data(now) && self.may_send(now)
    }

    /// Whether nothing seems to wait but, at most, an acknowledgement.
    #[inline]
    pub fn seems_quiet(&self) -> bool {
        self.outgoing.has_all_left()
            && self.requester.is_idle()
            && self.unreliable.is_empty()
            && self.cut.is_none()
            && !self.owner.has_answers()
            && !self.inbox.has_controls()
            && !self.flights.has_lost()
    }

    #[inline]
    fn has_data(&self, now: Time) -> bool {
        self.flights.has_room(self.peer_window())
            && (self.outgoing.is_ready(now) || self.has_requests(now))
    }

    /// Whether a one-sided operation could begin or go on.
    #[inline]
    fn has_requests(&self, now: Time) -> bool {
        !self.requester.is_idle() && self.requester.is_ready(&self.terms(now))
    }

    fn terms(&self, now: Time) -> Terms {
        Terms {
            now,
            limit: self.payload_limit(),
            congestion_window: self.congestion.window(),
            can_pad: self.answerer() != Answerer::Program,
        }
    }

    /// Whether congestion control lets a packet go again that was lost ([WIRE-8]).
    #[inline]
    fn may_send_again(&self, now: Time) -> bool {
        self.congestion.permits(self.flights.under_way()) && self.pacer.permits(now)
    }

    /// Whether it lets new data go. Once it has said no, it does so until there is room for a train: each
    /// acknowledgement that lets a few more leave would else be answered by a system call at both ends.
    #[inline]
    fn may_send(&self, now: Time) -> bool {
        match self.is_held {
            false => self.may_send_again(now),
            true => {
                let under_way = self.flights.under_way();
                self.congestion.permits_train(under_way) && self.train_at() <= now
            }
        }
    }

    /// When pacing lets a train go.
    fn train_at(&self) -> Time {
        self.pacer.release_at(
            self.congestion.window(),
            self.congestion.gain(),
            self.trip.path(),
        )
    }

    fn may_close(&self) -> bool {
        self.is_closing
            && self.is_up()
            && self.close_sequence.is_none()
            && self.outgoing.has_all_left()
    }

    #[inline]
    fn peer_window(&self) -> u32 {
        self.agreed.map_or(0, |agreed| agreed.receive_window)
    }

    /// When a packet may leave that may not now.
    pub(super) fn release_at(&self, now: Time) -> Option<Time> {
        let hold = self.outgoing.hold_until(now);
        let under_way = self.flights.under_way();
        let waits = if self.flights.has_lost() {
            self.congestion.permits(under_way)
        } else {
            self.has_data(now) && self.congestion.permits_train(under_way)
        };
        let train_at = (waits || !self.unreliable.is_empty()).then(|| self.train_at());
        train_at.into_iter().chain(hold).min()
    }

    /// The next packet for the peer, if one may leave now: what is most urgent first.
    #[inline]
    pub fn next_transmit<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Option<Transmit> {
        let now = cx.now;
        if self.departed.is_some() {
            return self.acks.is_due().then(|| self.ack(now));
        }
        if let Some(transmit) = self.next_of_set_up(cx) {
            return Some(transmit);
        }
        self.agreed?;
        if self.acks.away() > Span::ZERO {
            return Some(self.ack(now));
        }
        if self.cut.is_some() {
            return self.next_piece(cx);
        }
        if self.inbox.refusals.must_tell()
            && let Some(nak) = self.nak(now, cx.common.config.has_interface())
        {
            return Some(nak);
        }
        if self.has_tail_probe {
            self.has_tail_probe = false;
            if let Some((sequence, packet)) = self.flights.resend_last(now)
                && let Some(transmit) = self.again(sequence, packet, Flags::ACK_NOW, cx)
            {
                self.traffic.tail_probes += 1;
                self.trip.on_reminder(now);
                return Some(transmit);
            }
        }
        if self.flights.has_lost()
            && self.may_send_again(now)
            && let Some((sequence, packet)) = self.flights.resend_lost(now, self.resend_limit())
            && let Some(transmit) = self.again(sequence, packet, Flags::NONE, cx)
        {
            return Some(transmit);
        }
        let sender = self.sender();
        if let Some(answer) = self.owner.next_answer(sender, cx) {
            self.streaming.on_sent();
            // It could not be entered while this was owed.
            self.wait_again(now, cx.common);
            if let Content::Buffer { name, .. } = answer.payload {
                cx.common.spent.push(name);
            }
            return Some(self.plain(&answer));
        }
        if self.flights.has_room(self.peer_window()) {
            if let Some(packet) = self.inbox.next_control() {
                return Some(self.sequenced(now, packet));
            }
            self.is_held = self.has_data(now) && !self.may_send(now);
            if !self.is_held
                && let Some(packet) = self.next_data(now)
            {
                let transmit = self.sequenced(now, packet);
                if self.is_up() && packet.flags.contains(Flags::LAST) {
                    self.outgoing.report_last_sent(self.peer, cx);
                }
                return Some(transmit);
            }
            if self.may_close() {
                self.close_sequence = Some(self.flights.next());
                return Some(self.sequenced(now, Packet::new(Kind::Close)));
            }
        }
        self.next_unsequenced(cx)
    }

    fn next_of_set_up<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Option<Transmit> {
        let (now, timeout) = (cx.now, self.trip.timeout(0));
        let (attempt, job, whose) = match (&mut self.stage, &mut self.doubt) {
            (Stage::Greeting(attempt), _) => (attempt, &self.job, Whose::Connection(self.id)),
            (_, Some(doubt)) => (&mut doubt.attempt, &doubt.job, Whose::Question(self.id)),
            _ => return self.next_confirm(timeout, cx),
        };
        if attempt.is_due(now) {
            attempt.say(now, timeout);
            let packet = attempt.hello(self.peer, job, cx.common);
            let key = *job.setup();
            return Some(self.set_up(packet, key, whose));
        }
        self.next_confirm(timeout, cx)
    }

    fn next_confirm<U>(&mut self, timeout: Span, cx: &Context<'_, U>) -> Option<Transmit> {
        let Stage::Confirming(greeting) = &mut self.stage else {
            return None;
        };
        let packet = greeting.say(cx.now, timeout, self.peer, &self.job, cx.common)?;
        let key = *self.job.setup();
        Some(self.set_up(packet, key, Whose::Connection(self.id)))
    }

    fn set_up(
        &mut self,
        (mut header, payload): (Header, Payload),
        key: CheckKey,
        job: Whose,
    ) -> Transmit {
        header.from_connection = self.id;
        header.from_port = self.own_port;
        header.to_port = self.peer.port;
        header.payload_len_bytes = payload.len_bytes() as u16;
        self.traffic.packets_out += 1;
        Transmit {
            path: self.path,
            payload,
            is_single: false,
            may_be_cut: false,
            header: header.to_bytes(),
            key,
            job,
        }
    }

    /// One-sided operations and messages in turn.
    #[inline]
    fn next_data(&mut self, now: Time) -> Option<Packet> {
        let limit = self.payload_limit();
        let sequence = self.flights.next();
        if !self.requester.is_idle() && (sequence & 1 == 0 || !self.outgoing.is_ready(now)) {
            let terms = self.terms(now);
            let request = self.requester.next_packet(&terms, sequence);
            if request.is_some() {
                return request;
            }
        }
        self.outgoing.next_packet(now, limit, sequence)
    }

    /// Longest payload of a packet.
    pub fn payload_limit(&self) -> u16 {
        payload_limit(self.mtu.bytes())
    }

    /// A packet that the peer must get.
    #[inline]
    fn sequenced(&mut self, now: Time, packet: Packet) -> Transmit {
        let sequence = self.flights.push(now, packet);
        let mut header = packet.header();
        header.sequence = sequence;
        if !self.congestion.permits(self.flights.under_way()) {
            // Nothing more leaves before something is acknowledged.
            header.flags |= Flags::ACK_NOW;
        } else if self.answerer() != Answerer::Program && self.is_last_for_now(now) {
            header.flags |= Flags::ACK_NOW;
            self.asked = sequence;
        }
        self.on_sequenced_sent(now);
        self.streaming.on_sent();
        self.finish(header, packet.payload())
    }

    /// Whether an interface program would wait in vain for another packet to acknowledge this one with ([MCP-5.4]).
    /// Once a round trip is enough: the others are acknowledged by eights.
    fn is_last_for_now(&self, now: Time) -> bool {
        distance(self.asked, self.flights.first()) < 0
            && !self.flights.has_lost()
            && !self.inbox.has_controls()
            && !self.has_data(now)
    }

    /// A packet leaves again; `None` if its memory is gone, so that nobody needs it.
    fn again<U: Upcalls>(
        &mut self,
        sequence: u32,
        packet: Packet,
        flags: Flags,
        cx: &mut Context<'_, U>,
    ) -> Option<Transmit> {
        let is_too_long = packet.len_bytes() > self.payload_limit();
        // The path has become narrower: what was padded need not be.
        let packet = match packet.payload {
            Content::Padding { .. } if is_too_long => packet.unpadded(),
            _ => packet,
        };
        let mut header = packet.header();
        header.sequence = sequence;
        header.flags |= Flags::RETRANSMIT | flags;
        self.traffic.retransmits += 1;
        self.on_sequenced_sent(cx.now);
        if packet.len_bytes() > self.payload_limit() {
            return self.cut(&header, &packet, cx);
        }
        Some(self.finish(header, packet.payload()))
    }

    #[inline]
    fn on_sequenced_sent(&mut self, now: Time) {
        self.recovery.on_sent(now);
        self.pace(now);
    }

    #[inline]
    fn pace(&mut self, now: Time) {
        self.pacer.on_sent(
            now,
            self.congestion.window(),
            self.congestion.gain(),
            self.trip.path(),
        );
    }

    /// A packet that takes no sequence.
    pub(super) fn plain(&mut self, packet: &Packet) -> Transmit {
        self.finish(packet.header(), packet.payload())
    }

    fn nak(&mut self, now: Time, is_told_again: bool) -> Option<Transmit> {
        let (class, refused) = self.inbox.refusals.next_to_tell()?;
        if is_told_again && class == Class::Normal {
            self.on_refusal_told(now);
        }
        let reason = match class {
            Class::System => NakReason::SystemBusy,
            Class::Normal => NakReason::NormalBusy,
        };
        let mut header = Header::new(Kind::Nak);
        header.message = refused.message;
        header.length = u64::from(reason.number());
        self.traffic.refusals_out += 1;
        // It speaks of what has been looked at, refused or not.
        let mut transmit = self.finish(header, Payload::EMPTY);
        header = self.addressed(header);
        header.ack = match self.entry {
            None => self.receive_window.expected(),
            // The interface program may have taken more than was looked at here, or less.
            Some(_) => refused.sequence.wrapping_add(1),
        };
        transmit.header = header.to_bytes();
        // What it does not acknowledge is acknowledged in full, and told again, soon.
        self.acks.at_once(now);
        Some(transmit)
    }

    fn next_unsequenced<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Option<Transmit> {
        if self.pacer.permits(cx.now)
            && let Some((name, len)) = self.unreliable.pop_front()
        {
            cx.common.spent.push(name);
            let packet = Packet {
                flags: Flags::FIRST | Flags::LAST | Flags::UNRELIABLE,
                message: self.unreliable_number,
                length: u64::from(len),
                payload: Content::Buffer { name, at: 0, len },
                ..Packet::new(Kind::Data)
            };
            self.unreliable_number = self.unreliable_number.wrapping_add(1);
            self.pace(cx.now);
            return Some(self.plain(&packet));
        }
        if let Some((number, path)) = self.answer_to.take() {
            let mut answer = Packet::new(Kind::ProbeAnswer);
            answer.message = number;
            let mut transmit = self.plain(&answer);
            transmit.path = path;
            return Some(transmit);
        }
        if self.asks_elsewhere() {
            return self.probe_elsewhere(cx.now);
        }
        if std::mem::take(&mut self.has_question) {
            let number = self.liveness.ask(cx.now);
            let question = self.questions.ask(cx.now, number, self.trip.timeout(0));
            self.trip.on_reminder(cx.now);
            return Some(self.plain(&question.packet()));
        }
        if self.mtu.is_due() {
            return self.padded_probe(cx.now);
        }
        self.acks.is_due().then(|| self.ack(cx.now))
    }

    fn ack(&mut self, now: Time) -> Transmit {
        self.traffic.acks_out += 1;
        let mut header = Header::new(Kind::Ack);
        let (delay, away) = (self.acks.delay(now), self.acks.away());
        let is_plain = !self.receive_window.has_gaps() && !self.inbox.refusals.is_refusing();
        let payload = if is_plain && delay.0 < 1_000 && away == Span::ZERO {
            Payload::EMPTY
        } else {
            let refused = |class| self.inbox.refusals.of(class).map(|refused| refused.message);
            let body = AckBody {
                selective: self.receive_window.selective(),
                refusing_system: refused(Class::System),
                refusing_normal: refused(Class::Normal),
                delay_ns: u32::try_from(delay.0).unwrap_or(u32::MAX),
                away_us: u16::try_from(away.as_us()).unwrap_or(u16::MAX),
            };
            inline(&body.to_bytes())
        };
        if let Some(sequence) = self.dropped.take() {
            header.message = sequence;
            header.length = 1;
        }
        header.payload_len_bytes = payload.len_bytes() as u16;
        let mut transmit = self.finish(header, payload);
        let mut header = self.addressed(header);
        header.ack = self.receive_window.expected();
        transmit.header = header.to_bytes();
        self.acks.on_sent();
        transmit
    }

    #[inline]
    pub(super) fn addressed(&self, mut header: Header) -> Header {
        header.to_connection = self.peer_id;
        header.from_connection = self.id;
        header.from_port = self.own_port;
        header.to_port = self.peer.port;
        header.rail = self.path.rail;
        if self.is_without() {
            header.flags |= Flags::DIRECT;
        }
        header
    }

    /// Every packet acknowledges ([WIRE-5.3]).
    #[inline]
    fn finish(&mut self, header: Header, payload: Payload) -> Transmit {
        let mut header = self.addressed(header);
        header.ack = self
            .inbox
            .refusals
            .plain_ack(self.receive_window.expected());
        if !self.receive_window.has_gaps() && !self.inbox.refusals.is_refusing() {
            self.acks.on_sent();
        }
        let len_bytes = payload.len_bytes();
        if !self.mtu.is_assured(HEADER_LEN + len_bytes) {
            self.on_long();
        }
        self.traffic.packets_out += 1;
        self.traffic.bytes_out += len_bytes as u64;
        Transmit {
            path: self.path,
            payload,
            is_single: self.answerer() == Answerer::SingleInterface,
            may_be_cut: self.mtu.may_be_cut(HEADER_LEN + len_bytes),
            header: header.to_bytes(),
            key: self.keys.ours,
            job: Whose::Connection(self.id),
        }
    }

    /// Has an unreliable message leave; false if too many wait.
    pub fn push_unreliable(&mut self, name: Name, len: u16) -> bool {
        let fits = self.unreliable.len() < UNRELIABLE_MAX;
        if fits {
            self.unreliable.push_back((name, len));
        }
        fits
    }
}
