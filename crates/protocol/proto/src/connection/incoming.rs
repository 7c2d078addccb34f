//! Packets of the peer. Their check was right: they are the peer's, though perhaps not new.

use bcl_types::Cause;
use bcl_wire::body::AckBody;
use bcl_wire::serial::distance;
use bcl_wire::{Answerer, Flags, HEADER_LEN, Header, Kind, NakReason};

use super::flights::Progress;
use super::receive_window::Standing;
use super::recovery::Recovery;
use super::{Connection, End, Stage};
use crate::common::Context;
use crate::counters::Drops;
use crate::message::Class;
use crate::message::inbox::{copy, deliver_system};
use crate::message::outgoing::Broken;
use crate::names::{Path, Target};
use crate::slab::Name;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// What a round trip has beside the network's part of it: for how long the newest packet waited for others to be acknowledged
/// together; before, for how long at most for the peer to look; and the acknowledgement, for us to look ([WIRE-8.2]).
#[derive(Clone, Copy)]
struct Waits {
    together: Span,
    for_peer: Span,
    for_us: Span,
}

impl Waits {
    #[inline]
    fn of(body: Option<&AckBody>, for_us: Span) -> Self {
        let (delay_ns, away_us) = body.map_or((0, 0), |body| (body.delay_ns, body.away_us));
        Self {
            together: Span(u64::from(delay_ns)),
            for_peer: match away_us {
                u16::MAX => Span(u64::MAX),
                us => Span::from_us(u64::from(us)),
            },
            for_us,
        }
    }
}

/// Reason of a NAK that acknowledges, if an interface program answers for the peer.
const SYSTEM_BUSY: u64 = NakReason::SystemBusy as u64;

impl Connection {
    /// Takes a packet of the peer: what it acknowledges, and what it brings.
    #[inline]
    pub fn on_packet<U: Upcalls>(
        &mut self,
        from: Path,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        if header.kind == Kind::Gone {
            self.on_gone(header, cx);
            return Ok(());
        }
        self.on_any(header, payload, cx)?;
        match header.kind {
            _ if header.is_sequenced() => self.on_sequenced(from, header, payload, cx)?,
            Kind::Probe => {
                if self.liveness.on_probe(header.message) {
                    self.on_fresh(from, cx.now);
                }
                self.answer_to = Some((header.message, from));
            }
            Kind::Piece => self.on_piece(from, header, payload, cx)?,
            _ => self.on_unsequenced(from, header, payload, cx),
        }
        self.verdict(cx)
    }

    /// What every packet says: that the peer is there, and what it has got.
    #[inline]
    pub(super) fn on_any<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        self.traffic.packets_in += 1;
        self.traffic.bytes_in += payload.len() as u64;
        self.peer_id = header.from_connection;
        self.is_direct = header.flags.contains(Flags::DIRECT);
        self.on_known(cx);
        match header.kind {
            Kind::Ack => {
                let body = AckBody::from_bytes(payload).unwrap_or_default();
                self.on_refusals(header.ack, &body, cx.now);
                self.on_ack(header, Some(&body), cx)?;
                if header.length == 1 {
                    self.on_dropped(header.message, cx.now);
                }
            }
            // It cannot tell of both classes, so that it acknowledges nothing ([WIRE-9.5]).
            Kind::Nak => {
                self.on_nak(header, cx.now);
                if self.answerer() != Answerer::Program && header.length == SYSTEM_BUSY {
                    self.on_ack(header, None, cx)?;
                }
            }
            _ => self.on_ack(header, None, cx)?,
        }
        Ok(())
    }

    /// A packet has come that is sealed with the connection's key: so the peer has agreed to it.
    #[inline]
    pub(super) fn on_known<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        if let Stage::Confirming(_) = self.stage {
            self.liveness.on_heard(cx.now);
            self.on_up(cx);
        }
    }

    /// What is neither sequenced nor asks for an answer.
    #[inline]
    pub(super) fn on_unsequenced<U: Upcalls>(
        &mut self,
        from: Path,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) {
        match header.kind {
            Kind::Data => self.on_unreliable(header, payload, cx),
            Kind::Answer => self.on_answer(header, payload, cx),
            Kind::ProbeAnswer => self.on_probe_answer(header.message, from, cx.now),
            _ => {}
        }
    }

    /// Whether the connection goes on.
    #[inline]
    pub(super) fn verdict<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Result<(), End> {
        match (self.close_sequence, self.departed) {
            (Some(close), _) if distance(self.flights.first(), close) > 0 => Err(End::Left),
            (_, Some(cause)) => {
                // Meanwhile it has its answer.
                self.acks.at_once(cx.now);
                self.on_departed(cause, cx)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn on_ack<U: Upcalls>(
        &mut self,
        header: &Header,
        body: Option<&AckBody>,
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        let first = self.flights.first();
        let selective = body.map(|body| &body.selective);
        if header.ack == first && selective.is_none_or(|bits| *bits == [0; 4]) {
            return Ok(());
        }
        let progress = self
            .flights
            .acknowledge(cx.now, header.ack, selective)
            .map_err(|_| Broken("ack"))?;
        if progress.newly == 0 {
            return Ok(());
        }
        self.liveness.on_heard(cx.now);
        self.recovery.on_progress(cx.now);
        self.has_tail_probe = false;
        self.mtu
            .on_arrived(cx.now, HEADER_LEN as u16 + progress.longest);
        let waits = Waits::of(body, cx.common.away);
        self.learn(&progress, waits, cx.now);
        self.find_lost(cx.now);
        if self.flights.first() != first {
            self.outgoing.on_acknowledged(self.flights.first(), cx);
        }
        Ok(())
    }

    /// Round trip and congestion, from an acknowledgement.
    #[inline]
    fn learn(&mut self, progress: &Progress, waits: Waits, now: Time) {
        if waits.for_peer > Span::ZERO {
            let back_at = now.ago(waits.for_us + waits.together);
            self.congestion.on_peer_away(back_at.ago(waits.for_peer));
        }
        let away = waits.for_peer + waits.for_us;
        let sample = progress
            .sample_sent_at
            .and_then(|sent_at| self.trip.measure(now, sent_at, waits.together, away));
        self.congestion.on_acked(
            now,
            progress.newly,
            progress.in_flight,
            sample,
            self.trip.base(),
        );
    }

    pub(super) fn find_lost(&mut self, now: Time) {
        let reordering = Recovery::reordering(&self.trip);
        let (lost, lost_at) = self.flights.find_lost(now, reordering);
        let (dropped, dropped_at) = self.flights.find_dropped(now, self.shortest_trip());
        self.recovery
            .look_again_at(lost_at.into_iter().chain(dropped_at).min());
        // What was dropped because of others is no sign that the network is full.
        let losses = lost.count + dropped.count.min(1);
        if losses > 0 {
            self.congestion.on_lost(now, losses, self.trip.smoothed());
            self.on_long_lost(lost.longest.max(dropped.longest));
        }
    }

    /// The peer has dropped a packet for which it had no room, and all before it that it does not acknowledge.
    #[cold]
    fn on_dropped(&mut self, sequence: u32, now: Time) {
        let trip = self.shortest_trip();
        self.flights.on_dropped(now, sequence, trip);
        self.find_lost(now);
    }

    fn shortest_trip(&self) -> Span {
        self.trip.base().unwrap_or_default()
    }

    fn on_nak(&mut self, header: &Header, now: Time) {
        let reason = u8::try_from(header.length).ok();
        let class = match reason.and_then(NakReason::from_number) {
            Some(NakReason::SystemBusy) => Class::System,
            Some(NakReason::NormalBusy) => Class::Normal,
            None => return,
        };
        self.on_refused(class, header.message, header.ack, now);
    }

    fn on_refusals(&mut self, ack: u32, body: &AckBody, now: Time) {
        if let Some(message) = body.refusing_system {
            self.on_refused(Class::System, message, ack, now);
        }
        if let Some(message) = body.refusing_normal {
            self.on_refused(Class::Normal, message, ack, now);
        }
    }

    fn on_refused(&mut self, class: Class, message: u32, ack: u32, now: Time) {
        // What was never sent cannot have been looked at; the acknowledgement itself will show it.
        let is_possible = distance(ack, self.flights.next()) <= 0;
        if is_possible && self.outgoing.on_refused(class, now, message, ack) {
            self.traffic.refusals_in += 1;
        }
    }

    fn on_answer<U: Upcalls>(&mut self, header: &Header, payload: &[u8], cx: &mut Context<'_, U>) {
        let reads = self.requester.read_packets();
        if reads > 1 {
            self.streaming.on_many_asked();
        }
        self.judge(cx.now, 1, cx.common);
        let is_news = self
            .requester
            .on_answer(header, payload, self.peer, &mut self.flights, cx);
        if is_news {
            self.liveness.on_heard(cx.now);
        }
        let came = reads.saturating_sub(self.requester.read_packets());
        if came > 0 {
            // How long answers take that have a process to wait for tells nothing of the network.
            let (trip, base) = (self.trip.smoothed(), self.trip.base());
            self.congestion.on_acked(cx.now, came, reads, trip, base);
        }
    }

    fn on_unreliable<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) {
        let whole = header.length == payload.len() as u64 && header.channel == 0;
        if !whole || !self.recent.is_new(header.message) {
            self.count_drop(cx, |drops| &mut drops.duplicate);
            return;
        }
        let cost = crate::buffers::Buffers::cost(payload.len());
        let room = !cx.up.is_full() && !cx.common.is_closing && cost <= cx.common.pool_room_bytes();
        let name = room
            .then(|| cx.common.pool.take(payload.len(), self.id))
            .flatten();
        let Some(name) = name else {
            self.count_drop(cx, |drops| &mut drops.unreliable);
            return;
        };
        self.inbox.pool_bytes.charge(cost);
        copy(&mut cx.common.pool, name, 0, payload);
        deliver_system(name, header.length, 0, self.sender(), cx);
    }

    #[inline]
    fn on_sequenced<U: Upcalls>(
        &mut self,
        from: Path,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        if self.assembly.as_ref().map(|it| it.sequence) == Some(header.sequence) {
            self.drop_assembly(cx);
        }
        if cx.common.away > Span::ZERO {
            self.acks.on_away(cx.common.away);
        }
        self.judge(cx.now, 1, cx.common);
        match self.receive_window.standing(header.sequence) {
            Standing::Next => {
                if !self.process(header, payload, cx)? {
                    self.count_drop(cx, |drops| &mut drops.no_room);
                    return Ok(());
                }
                self.receive_window.advance();
                let asks = header.flags.contains(Flags::ACK_NOW)
                    || header.flags.contains(Flags::RETRANSMIT);
                self.acks
                    .on_taken(cx.now, asks || self.receive_window.has_gaps());
                self.on_fresh(from, cx.now);
                if self.receive_window.has_gaps() {
                    self.catch_up(cx)?;
                }
            }
            Standing::Early => self.on_early(from, header, payload, cx)?,
            Standing::Duplicate => {
                self.count_drop(cx, |drops| &mut drops.duplicate);
                self.traffic.duplicates += 1;
                self.acks.at_once(cx.now);
                self.catch_up(cx)?;
            }
            Standing::Beyond => {
                self.count_drop(cx, |drops| &mut drops.beyond_window);
                self.acks.at_once(cx.now);
            }
        }
        Ok(())
    }

    /// A packet that came before others.
    fn on_early<U: Upcalls>(
        &mut self,
        from: Path,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        let taken = match header.kind {
            // They say where they belong, and wait for nobody.
            Kind::Cts | Kind::Fin => self.process(header, payload, cx)?,
            _ if self.inbox.can_place(header) => self.process(header, payload, cx)?,
            _ => self
                .stash
                .keep(&mut cx.common.stash, self.id, header, payload),
        };
        if taken {
            self.receive_window.mark(header.sequence);
            self.on_fresh(from, cx.now);
        } else {
            self.count_drop(cx, |drops| &mut drops.no_room);
        }
        self.acks.at_once(cx.now);
        Ok(())
    }

    /// Deals with packets that have come early and whose turn it is.
    fn catch_up<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Result<(), End> {
        while self.receive_window.has_gaps()
            && self.receive_window.has(self.receive_window.expected())
        {
            let expected = self.receive_window.expected();
            let kept = self.stash.first();
            if let Some((header, name)) = kept.filter(|(header, _)| header.sequence == expected)
                && !self.process_first(&header, name, cx)?
            {
                // Its turn comes with the next packet.
                break;
            }
            self.receive_window.advance();
        }
        Ok(())
    }

    /// Does what the oldest packet says that was kept. False: there is no room for what it would need, and it stays, for it
    /// was acknowledged.
    pub(super) fn process_first<U: Upcalls>(
        &mut self,
        header: &Header,
        name: Name,
        cx: &mut Context<'_, U>,
    ) -> Result<bool, Broken> {
        let Some((bytes, owner)) = cx.common.stash.detach(name) else {
            return Ok(false);
        };
        let payload = bytes.get(..usize::from(header.payload_len_bytes));
        let is_done = self.process(header, payload.unwrap_or_default(), cx)?;
        if is_done {
            cx.common.stash.recycle(bytes);
            self.stash.drop_first();
        } else {
            let name = cx.common.stash.attach(bytes, owner);
            self.stash.rename_first(name);
        }
        Ok(is_done)
    }

    /// Does what a sequenced packet says. False: there is no room for what it would need, and it is not taken.
    #[inline]
    pub(super) fn process<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<bool, Broken> {
        let sender = self.sender();
        match header.kind {
            Kind::Data => self.inbox.on_data(header, payload, sender, cx)?,
            Kind::Body => self.inbox.on_piece(header, payload, sender, cx)?,
            Kind::Rts => self.inbox.on_rts(header, sender, cx)?,
            Kind::Cts => self.outgoing.on_cts(header.message)?,
            Kind::Fin => self
                .outgoing
                .on_fin(header, self.peer, &mut self.flights, cx)?,
            Kind::Put | Kind::Get | Kind::Atomic => {
                return match cx.common.is_closing {
                    true => Ok(true),
                    false => self.serve(header, payload, cx),
                };
            }
            Kind::Close => self.departed = Some(Cause::Closed),
            _ => {}
        }
        Ok(true)
    }
}

impl Connection {
    /// A packet of this connection, or one that says so, leads to nothing.
    #[cold]
    pub fn count_drop<U>(&mut self, cx: &mut Context<'_, U>, cause: fn(&mut Drops) -> &mut u64) {
        *cause(&mut cx.common.drops) += 1;
        *cause(&mut self.drops) += 1;
    }

    /// A one-sided operation of the peer.
    fn serve<U: Upcalls>(
        &mut self,
        header: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<bool, Broken> {
        let (sender, limit) = (self.sender(), self.payload_limit());
        let is_taken = self.owner.on_request(header, payload, sender, limit, cx)?;
        if self.owner.lost_bytes > 0 {
            let lost = std::mem::take(&mut self.owner.lost_bytes);
            self.on_long_lost(lost);
        }
        Ok(is_taken)
    }

    /// All of the peer's sequenced packets before this were taken.
    pub fn expected(&self) -> u32 {
        // CLOSE ends the connection before it is counted.
        self.receive_window.expected()
    }

    /// A buffer was posted for a message that waits.
    pub fn accept<U: Upcalls>(&mut self, name: Name, target: Target, cx: &mut Context<'_, U>) {
        let sender = self.sender();
        self.inbox.accept(name, target, sender, cx);
    }
}
