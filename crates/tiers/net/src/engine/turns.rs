//! What happens without the program's asking: packets come in, time passes, the background thread stands in for it.

use bcl_proto::{Span, Time};
use bcl_tier::Upcalls;

use super::{Engine, bridge, now};
use crate::interface::Interface;

/// Turns that the background thread takes in a row.
const TURNS_MAX: usize = 64;
/// Packets after which a turn takes no more of them.
const TURN_PACKETS: usize = 32;

/// No packet waits for the clock to be looked at, unless nobody has for so long.
const CLOCK_PAUSE: Span = Span::from_us(20);

/// How thorough a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// At all sources.
    Everywhere,
    /// At those that peers' packets come by; now and then at the others.
    WherePacketsCome,
}

impl Engine {
    /// A turn: what has arrived, what time has brought, and what is to be sent. Returns whether anything has arrived.
    ///
    /// Where packets come faster than turns, one turn looks several times, so that they are acknowledged together; a lone
    /// packet does not wait for a second look. A program that has been away may be so again after each look that found
    /// nothing for it, an acknowledgement perhaps.
    #[inline]
    pub fn turn(&mut self, look: Look, up: &mut impl Upcalls) -> bool {
        let mut at = now();
        let bridge = bridge!(self, up);
        if self.endpoint.on_turn(at, bridge) {
            self.flush(at, up);
        }
        let was_away = self.endpoint.was_away(at.since(self.looked_at));
        let mut packets = self.receive(at, look, up);
        let moved = packets > 0;
        if moved && (self.is_busy || was_away) {
            while packets < TURN_PACKETS {
                match self.receive(at, Look::WherePacketsCome, up) {
                    0 => break,
                    more => packets += more,
                }
            }
            at = now();
        }
        self.is_busy = moved;
        self.looked_at = at;
        if !moved || at.since(self.looked_at_clock) >= CLOCK_PAUSE {
            self.look_at_clock(at, up);
        }
        self.attend_to_interface(at, up);
        self.flush(at, up);
        if self.interface.as_ref().is_some_and(Interface::is_stuck) {
            // What was sent has made room, perhaps; nobody would look again for that.
            self.receive(at, Look::WherePacketsCome, up);
            self.flush(at, up);
        }
        if self.udp.has_reports() {
            let bridge = bridge!(self, up);
            self.udp.take_reports(at, &mut self.endpoint, bridge);
            self.flush(at, up);
        }
        moved
    }

    /// Takes what one look at each source finds; says how many packets.
    #[inline]
    fn receive(&mut self, now: Time, look: Look, up: &mut impl Upcalls) -> usize {
        let bridge = bridge!(self, up);
        let mut packets = 0;
        if let Some(interface) = &mut self.interface {
            packets = interface.receive(now, &mut self.endpoint, bridge);
            if !interface.is_socket_due(now, &self.endpoint) && look == Look::WherePacketsCome {
                return packets;
            }
        }
        packets += self.udp.receive(now, look, &mut self.endpoint, bridge);
        if self.interface.is_some() && !self.endpoint.needs_socket() {
            self.udp.stop_coalescing();
        }
        packets
    }

    /// Somebody has slept until packets came, or something else did.
    pub fn woke(&mut self) {
        self.looked_at = now();
    }

    #[inline]
    fn attend_to_interface(&mut self, now: Time, up: &mut impl Upcalls) {
        if let Some(interface) = &mut self.interface {
            let bridge = bridge!(self, up);
            interface.attend(now, &mut self.endpoint, bridge);
        }
    }

    #[inline]
    fn look_at_clock(&mut self, now: Time, up: &mut impl Upcalls) {
        self.looked_at_clock = now;
        if self.endpoint.next_timeout().is_some_and(|time| time <= now) {
            let bridge = bridge!(self, up);
            self.endpoint.on_timeout(now, bridge);
        }
    }

    /// The background thread takes turns for the program; true if there is news for it.
    pub fn stand_in(&mut self) -> bool {
        let mut deferred = std::mem::take(&mut self.deferred);
        for _ in 0..TURNS_MAX {
            if !self.turn(Look::Everywhere, &mut deferred) {
                break;
            }
        }
        let bridge = bridge!(self, &mut deferred);
        self.endpoint.see_off(now(), bridge);
        self.deferred = deferred;
        !self.deferred.is_empty()
    }

    /// Tells the port what has happened while its program was away.
    #[inline]
    pub fn replay(&mut self, up: &mut impl Upcalls) {
        let mut deferred = std::mem::take(&mut self.deferred);
        let mut matched = Vec::new();
        deferred.replay(up, |message, target| matched.push((message, target)));
        for (message, target) in matched {
            self.accept(message, target, up);
        }
        let bridge = bridge!(self, up);
        self.endpoint.see_off(now(), bridge);
    }
}
