//! Packets that have arrived.

use bcl_wire::{Header, Kind, ParseError, parse, verify};

use super::Endpoint;
use crate::common::Context;
use crate::connection::packet::Packet;
use crate::names::Path;
use crate::setup::ended::Ended;
use crate::transmit::{Payload, Transmit, Whose};
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// What is shorter than that makes no difference: it is below the delay that a congestion window bears ([WIRE-8.2]).
const AWAY_MIN: Span = Span::from_us(50);

impl Endpoint {
    /// For how long nobody had looked for datagrams before those of the next calls were found: they may have waited so long, which
    /// is no fault of the network's ([WIRE-5.3]). Whether that is so long that it matters.
    #[inline]
    pub fn was_away(&mut self, away: Span) -> bool {
        let matters = away >= AWAY_MIN;
        self.common.away = if matters { away } else { Span::ZERO };
        matters
    }

    /// Datagrams of one sender have come in, in this order.
    #[inline]
    pub fn handle_all<'d>(
        &mut self,
        now: Time,
        from: Path,
        datagrams: impl IntoIterator<Item = &'d [u8]>,
        up: &mut impl Upcalls,
    ) {
        for datagram in datagrams {
            self.handle_one(now, from, datagram, up);
        }
        self.settle(now, up);
    }

    /// A datagram has come in.
    #[inline]
    pub fn handle(&mut self, now: Time, from: Path, datagram: &[u8], up: &mut impl Upcalls) {
        self.handle_all(now, from, [datagram], up);
    }

    #[inline]
    fn handle_one(&mut self, now: Time, from: Path, datagram: &[u8], up: &mut impl Upcalls) {
        self.free_spent();
        let (header, payload) = match parse(datagram) {
            Ok(parts) => parts,
            Err(error) => return self.on_malformed(now, from, datagram, error, up),
        };
        if header.to_port != self.common.config.address.port {
            self.common.drops.not_ours += 1;
            return;
        }
        match header.kind {
            Kind::Hello => self.on_hello(now, from, datagram, &header, payload, up),
            Kind::Welcome => self.on_welcome(now, datagram, &header, payload, up),
            Kind::Confirm => self.on_confirm(now, from, datagram, &header, payload, up),
            Kind::Refuse => self.on_refuse(now, from, datagram, &header, up),
            _ => self.on_packet(now, from, datagram, &header, payload, up),
        }
    }

    #[inline]
    fn on_packet(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        header: &Header,
        payload: &[u8],
        up: &mut impl Upcalls,
    ) {
        let Some((place, connection)) = self
            .connections
            .place_of(header.to_connection)
            .and_then(|place| Some((place, self.connections.get_mut(place)?)))
        else {
            return self.on_stray(now, from, datagram, header);
        };
        // Before there is an agreement the key is the set-up's, with which no such packet is sealed.
        if connection.agreed.is_none() || !connection.believes(datagram) {
            let common = &mut self.common;
            return connection
                .count_drop(&mut Context { now, common, up }, |drops| &mut drops.check);
        }
        let takes_turn = header.is_sequenced() || header.kind == Kind::Piece;
        if connection.entry.is_some() && takes_turn {
            return self.on_bypass(place, now, header, payload, up);
        }
        let common = &mut self.common;
        let result = connection.on_packet(from, header, payload, &mut Context { now, common, up });
        connection.wait_again(now, &mut self.common);
        if result.is_err() {
            return self.follow_up(place, now, result, up);
        }
        if self.unsettled != Some(place) {
            self.settle(now, up);
            self.unsettled = Some(place);
        }
    }

    /// What follows from packets is found out once for all that came together.
    #[inline]
    fn settle(&mut self, now: Time, up: &mut impl Upcalls) {
        if let Some(place) = self.unsettled.take() {
            self.follow_up(place, now, Ok(()), up);
        }
    }

    /// A packet for a connection that there is not.
    #[cold]
    fn on_stray(&mut self, now: Time, from: Path, datagram: &[u8], header: &Header) {
        self.common.drops.no_connection += 1;
        match self.ended.find(header.to_connection) {
            // It is said several times.
            _ if header.kind == Kind::Gone => {}
            // Our acknowledgement of its CLOSE was lost.
            Some(ended) if ended.by_close => {
                // It has no payload, so that it matters not whose keys of NH are used.
                if header.kind == Kind::Close
                    && verify(datagram, &self.common.keys, &ended.keys.theirs)
                {
                    let ended = ended.clone();
                    self.acknowledge_close(&ended);
                }
            }
            _ => self.refuse_stray(now, from, header),
        }
    }

    /// The last word of a connection that the peer has closed ([WIRE-12.6]).
    pub(super) fn acknowledge_close(&mut self, ended: &Ended) {
        let mut header = Packet::new(Kind::Ack).header();
        header.to_connection = ended.peer_id;
        header.from_connection = ended.id;
        header.from_port = self.common.config.address.port;
        header.to_port = ended.peer.port;
        header.ack = ended.ack;
        self.reply(Transmit {
            path: ended.path,
            payload: Payload::EMPTY,
            is_single: false,
            may_be_cut: false,
            header: header.to_bytes(),
            key: ended.keys.ours,
            job: Whose::Ours,
        });
    }

    #[cold]
    fn on_malformed(
        &mut self,
        now: Time,
        from: Path,
        datagram: &[u8],
        error: ParseError,
        up: &mut impl Upcalls,
    ) {
        match error {
            ParseError::Version { theirs } => self.on_version(now, from, datagram, theirs, up),
            ParseError::Foreign => self.common.drops.not_ours += 1,
            _ => self.common.drops.malformed += 1,
        }
    }
}
