//! Keeps to what the path takes: asks when packets are long, and has those that are too long leave in pieces.

use bcl_wire::{HEADER_LEN, Header, Kind, PAYLOAD_MAX, parse, verify};

use super::packet::{Content, Packet};
use super::path_mtu::{PathMtu, Verdict};
use super::pieces::{Assembly, Cut};
use super::receive_window::Standing;
use super::{Connection, End};
use crate::common::Context;
use crate::names::Path;
use crate::transmit::Transmit;
use crate::upcalls::Upcalls;
use bcl_types::Time;

impl Connection {
    /// The way there takes datagrams of so many bytes, as far as is known here: they are sent on trust.
    pub fn trust_route<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        self.mtu = PathMtu::new(cx.now, self.route_bytes(cx));
    }

    /// What the route takes may have changed.
    pub fn on_route<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        let bytes = self.route_bytes(cx);
        let verdict = self.mtu.on_route(cx.now, bytes);
        self.heed(verdict);
    }

    fn route_bytes<U: Upcalls>(&self, cx: &mut Context<'_, U>) -> u16 {
        let longest = (HEADER_LEN + PAYLOAD_MAX) as u16;
        let told = cx.up.datagram_bytes(self.path);
        told.unwrap_or(cx.common.config.datagram_bytes).min(longest)
    }

    /// Has a padded probe follow a small one: together they tell whether the path swallows what is long.
    #[cold]
    pub(super) fn sound(&mut self) {
        if self.is_up() && self.mtu.has_question() {
            self.mtu.ask(self.liveness.number_aside());
            self.has_question = true;
        }
    }

    /// The probe of length, which leaves now.
    #[cold]
    pub(super) fn padded_probe(&mut self, now: Time) -> Option<Transmit> {
        let (message, bytes) = self.mtu.next_probe(now, &self.trip)?;
        let len = bytes - HEADER_LEN as u16;
        Some(self.plain(&Packet {
            message,
            payload: Content::Padding { len },
            ..Packet::new(Kind::Probe)
        }))
    }

    /// A datagram leaves of which it is not known that it passes.
    #[cold]
    pub(super) fn on_long(&mut self) {
        // Before the peer knows the connection it would not answer.
        if self.is_up() && self.mtu.on_long() {
            self.sound();
        }
    }

    /// Packets are lost, the longest with so long a payload.
    pub(super) fn on_long_lost(&mut self, payload: u16) {
        if self.is_up() && self.mtu.on_lost(HEADER_LEN as u16 + payload) {
            self.sound();
        }
    }

    /// Nothing was heard for a whole timeout, after packets with payloads of up to so many bytes.
    pub(super) fn suspect_length(&mut self, payload: u16) {
        let is_long = PathMtu::is_long(HEADER_LEN as u16 + payload);
        if is_long && self.is_up() && self.mtu.suspect() {
            self.sound();
        }
    }

    /// An answer to a probe.
    pub(super) fn on_probe_answer(&mut self, number: u32, from: Path, now: Time) {
        let verdict = self.mtu.on_answer(now, number, self.trip.probe_after());
        if self.liveness.on_answer(number) || verdict != Verdict::Open {
            self.liveness.on_heard(now);
        }
        self.questions.on_answer(number);
        self.on_answer_from(number, from);
        self.heed(verdict);
    }

    /// The time of the search has come.
    pub(super) fn on_sounding_time<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        if self.mtu.deadline() > cx.now {
            return;
        }
        let verdict = match self.mtu.is_at_rest() {
            true => {
                let bytes = self.route_bytes(cx);
                self.mtu.look_again(cx.now, bytes)
            }
            false => self.mtu.on_time(cx.now),
        };
        self.heed(verdict);
    }

    fn heed(&mut self, verdict: Verdict) {
        if verdict == Verdict::Narrower {
            // They were swallowed, or will be; in pieces they pass.
            self.flights.lose_longer(Some(self.payload_limit()));
        }
        if verdict != Verdict::Open {
            self.sound();
        }
    }

    /// How long packets may be that are sent again: one at a time in pieces.
    pub(super) fn resend_limit(&self) -> u16 {
        match self.in_pieces {
            Some(sequence) if self.flights.is_under_way(sequence) => self.payload_limit(),
            _ => u16::MAX,
        }
    }

    /// Has a packet leave in pieces, from a copy; returns the first.
    #[cold]
    pub(super) fn cut<U: Upcalls>(
        &mut self,
        header: &Header,
        packet: &Packet,
        cx: &mut Context<'_, U>,
    ) -> Option<Transmit> {
        let mut datagram = [0; HEADER_LEN + PAYLOAD_MAX];
        let len = HEADER_LEN + usize::from(packet.len_bytes());
        let (head, rest) = datagram.split_first_chunk_mut::<HEADER_LEN>()?;
        let payload = rest.get_mut(..usize::from(packet.len_bytes()))?;
        let is_there = match packet.payload {
            Content::Lent { op, at, .. } => cx.up.fetch(op, at, payload),
            Content::Buffer { name, at, len } => {
                let at = at as usize;
                let bytes = cx.common.copies.get(name);
                let bytes = bytes.and_then(|bytes| bytes.get(at..at + usize::from(len)));
                bytes.is_some_and(|bytes| {
                    payload.copy_from_slice(bytes);
                    true
                })
            }
            Content::None | Content::Words(_) | Content::Padding { .. } => false,
        };
        if !is_there {
            return None;
        }
        let mut header = self.addressed(*header);
        header.ack = self
            .inbox
            .refusals
            .plain_ack(self.receive_window.expected());
        *head = header.to_bytes();
        bcl_wire::seal(head, payload, &self.job, &self.keys.ours);
        let name = cx.common.copies.take(len, self.id)?;
        cx.common
            .copies
            .get_mut(name)?
            .get_mut(..len)?
            .copy_from_slice(&datagram[..len]);
        self.in_pieces = Some(header.sequence);
        self.cut = Some(Cut {
            sequence: header.sequence,
            name,
            len: len as u16,
            at: 0,
        });
        self.next_piece(cx)
    }

    /// The next piece of what leaves in pieces.
    #[cold]
    pub(super) fn next_piece<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) -> Option<Transmit> {
        let limit = self.payload_limit();
        let cut = self.cut.as_mut()?;
        let piece = cut.next_piece(limit);
        if cut.at == cut.len {
            cx.common.spent.push(cut.name);
            self.cut = None;
        }
        Some(self.plain(&piece?))
    }

    /// A piece of a packet has come: puts it to the others, and takes the packet once it is whole.
    #[cold]
    pub(super) fn on_piece<U: Upcalls>(
        &mut self,
        from: Path,
        piece: &Header,
        payload: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        match self.receive_window.standing(piece.message) {
            Standing::Next | Standing::Early => {}
            Standing::Duplicate => {
                cx.common.drops.duplicate += 1;
                self.acks.at_once(cx.now);
                return Ok(());
            }
            Standing::Beyond => {
                cx.common.drops.beyond_window += 1;
                return Ok(());
            }
        }
        if self.assembly.as_ref().is_some_and(|old| !old.is_of(piece)) {
            self.drop_assembly(cx);
        }
        let buffers = &mut cx.common.copies;
        if self.assembly.is_none() {
            self.assembly = Assembly::new(buffers, self.id, piece);
        }
        let assembly = self.assembly.as_mut();
        let is_whole = assembly.is_some_and(|assembly| assembly.add(buffers, piece, payload));
        let whole = self.assembly.take_if(|_| is_whole);
        let Some((bytes, len)) = whole.and_then(|assembly| assembly.take(buffers)) else {
            return Ok(());
        };
        let result = self.on_whole(from, piece.message, &bytes[..len], cx);
        cx.common.copies.recycle(bytes);
        result
    }

    /// All pieces have come: they are believed no more than if they had come as one packet.
    fn on_whole<U: Upcalls>(
        &mut self,
        from: Path,
        sequence: u32,
        datagram: &[u8],
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        let Some((header, payload)) = parse(datagram).ok().filter(|(header, _)| {
            header.is_sequenced() && header.sequence == sequence && header.to_connection == self.id
        }) else {
            cx.common.drops.malformed += 1;
            return Ok(());
        };
        if !verify(datagram, &self.job, &self.keys.theirs) {
            cx.common.drops.check += 1;
            return Ok(());
        }
        self.on_packet(from, &header, payload, cx)
    }

    /// What has been taken otherwise, or makes room for another, is not put together.
    #[cold]
    pub(super) fn drop_assembly<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        if let Some(assembly) = self.assembly.take() {
            assembly.clear(&mut cx.common.copies);
        }
    }
}
