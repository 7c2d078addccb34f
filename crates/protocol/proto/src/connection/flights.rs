//! Sequenced packets that have been sent and not yet been acknowledged together with all before them.

use std::collections::VecDeque;

use bcl_types::OpId;
use bcl_wire::serial::distance;

use super::packet::{Content, Packet};
use bcl_types::{Span, Time};

/// What a receiver has no room for is shown to it again after twice this, or the round trip if that is longer, and
/// each time after twice as long, up to the second ([WIRE-7.6]).
const DROPPED_PAUSE: Span = Span::from_us(10);
const DROPPED_PAUSE_MAX: Span = Span::from_ms(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    UnderWay,
    /// To be sent again.
    Lost,
    /// Arrived, but not all before it.
    Arrived,
}

#[derive(Debug, Clone)]
struct Flight {
    packet: Packet,
    sent_at: Time,
    sends: u16,
    /// How often the receiver has said that it dropped this one: as often as it was sent, unless that was lost.
    drops: u16,
    state: State,
    /// The receiver has dropped it as it was sent last: it is lost, but need not leave again at once.
    is_dropped: bool,
}

impl Flight {
    fn leave_again(&mut self, now: Time) {
        self.sent_at = now;
        self.sends = self.sends.saturating_add(1);
        self.is_dropped = false;
    }

    fn lose(&mut self, found: &mut Lost) {
        self.state = State::Lost;
        self.is_dropped = false;
        found.count += 1;
        found.longest = found.longest.max(self.packet.len_bytes());
    }
}

/// Packets under way to one peer, by sequence. 104 bytes for each packet; the table grows to what the peer's receive
/// window lets leave, and is let go when idle.
#[derive(Debug, Clone, Default)]
pub struct Flights {
    ring: VecDeque<Flight>,
    /// Sequence of the front of the ring.
    first: u32,
    under_way: u32,
    lost: u32,
    arrived: u32,
    /// The newest packet that has arrived, by time of sending (RFC 8985, 6.2).
    rack_sent_at: Time,
    rack_trip: Span,
    /// One past the highest sequence known to have arrived.
    highest: u32,
    /// One past the highest sequence that the receiver has dropped.
    dropped_end: u32,
    /// How often what was dropped has been shown again, since the oldest is the oldest.
    rounds: u32,
}

/// What an acknowledgement has told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Packets that are now known to have arrived.
    pub newly: u32,
    /// When the latest of them was sent, if it was sent once: a round trip can be measured.
    pub sample_sent_at: Option<Time>,
    /// How many were under way before.
    pub in_flight: u32,
    /// Length of the longest payload of them.
    pub longest: u16,
}

/// Packets that are taken for lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub count: u32,
    /// Length of the longest payload of them.
    pub longest: u16,
}

/// An acknowledgement of what was never sent.
#[derive(Debug)]
pub struct Impossible;

impl Flights {
    /// Sequence of the oldest that is not acknowledged.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Sequence of the next new packet.
    #[inline]
    pub fn next(&self) -> u32 {
        self.first.wrapping_add(self.ring.len() as u32)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    #[inline]
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Whether the receiver has something to acknowledge: what is under way, or what has arrived but was never acknowledged
    /// together with all before it. What is lost it cannot have.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.under_way > 0 || self.lost == 0 && !self.ring.is_empty()
    }

    #[inline]
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Whether a receiver that keeps track of so many has room for one more.
    #[inline]
    pub fn has_room(&self, receive_window: u32) -> bool {
        self.ring.len() < receive_window as usize
    }

    /// Whether this sequence is known to have arrived.
    pub fn has_arrived(&self, sequence: u32) -> bool {
        distance(sequence, self.first) < 0
            || self
                .get(sequence)
                .is_some_and(|flight| flight.state == State::Arrived)
    }

    fn get(&self, sequence: u32) -> Option<&Flight> {
        self.ring.get(sequence.wrapping_sub(self.first) as usize)
    }

    /// A new packet leaves. Returns its sequence.
    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) -> u32 {
        let sequence = self.next();
        self.ring.push_back(Flight {
            packet,
            sent_at: now,
            sends: 1,
            drops: 0,
            state: State::UnderWay,
            is_dropped: false,
        });
        self.under_way += 1;
        sequence
    }

    /// All before `ack` have arrived, and those with a bit in `selective` ([WIRE-5.4]).
    #[inline]
    pub fn acknowledge(
        &mut self,
        now: Time,
        ack: u32,
        selective: Option<&[u64; 4]>,
    ) -> Result<Progress, Impossible> {
        let in_flight = self.under_way;
        let mut progress = Progress {
            in_flight,
            ..Progress::default()
        };
        let ahead = distance(ack, self.first);
        if ahead > self.ring.len() as i32 {
            return Err(Impossible);
        }
        let mut latest: Option<(Time, u16)> = None;
        for _ in 0..ahead.max(0) {
            let Some(flight) = self.ring.pop_front() else {
                break;
            };
            self.first = self.first.wrapping_add(1);
            self.rounds = 0;
            if flight.state == State::Arrived {
                self.arrived -= 1;
            } else {
                self.note(now, &flight, &mut latest, &mut progress);
            }
        }
        if distance(self.first, self.highest) > 0 {
            self.highest = self.first;
        }
        if distance(self.first, self.dropped_end) > 0 {
            self.dropped_end = self.first;
        }
        if let Some(bits) = selective.filter(|_| ahead >= 0) {
            self.acknowledge_bits(now, bits, &mut latest, &mut progress)?;
        }
        progress.sample_sent_at = latest.filter(|(_, sends)| *sends == 1).map(|(at, _)| at);
        Ok(progress)
    }

    fn acknowledge_bits(
        &mut self,
        now: Time,
        bits: &[u64; 4],
        latest: &mut Option<(Time, u16)>,
        progress: &mut Progress,
    ) -> Result<(), Impossible> {
        for (word, bits) in bits.iter().enumerate() {
            let mut rest = *bits;
            while rest != 0 {
                let index = 1 + 64 * word + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let Some(flight) = self.ring.get(index) else {
                    return Err(Impossible);
                };
                if flight.state == State::Arrived {
                    continue;
                }
                let flight = flight.clone();
                self.note(now, &flight, latest, progress);
                self.ring[index].state = State::Arrived;
                self.arrived += 1;
                let after = self.first.wrapping_add(index as u32 + 1);
                if distance(after, self.highest) > 0 {
                    self.highest = after;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn note(
        &mut self,
        now: Time,
        flight: &Flight,
        latest: &mut Option<(Time, u16)>,
        progress: &mut Progress,
    ) {
        match flight.state {
            State::UnderWay => self.under_way -= 1,
            State::Lost => self.lost -= 1,
            State::Arrived => {}
        }
        progress.newly += 1;
        progress.longest = progress.longest.max(flight.packet.len_bytes());
        if latest.is_none_or(|(at, _)| flight.sent_at >= at) {
            *latest = Some((flight.sent_at, flight.sends));
        }
        // The answer to a packet sent twice may be to the first sending: too quick to be told (RFC 8985, 6.2).
        let trip = now.since(flight.sent_at);
        let credible = flight.sends == 1 || trip >= self.rack_trip;
        if credible && flight.sent_at >= self.rack_sent_at {
            self.rack_sent_at = flight.sent_at;
            self.rack_trip = trip;
        }
    }

    /// Takes for lost what should have arrived by now ([WIRE-7.1], [WIRE-7.2]): packets that three later ones have
    /// overtaken, and those that were sent before one that has arrived and are `reordering` overdue (RFC 8985).
    /// Returns which, and when to look again for more.
    pub fn find_lost(&mut self, now: Time, reordering: Span) -> (Lost, Option<Time>) {
        if self.arrived == 0 && self.lost == 0 && self.rack_sent_at == Time(0) {
            return (Lost::default(), None);
        }
        let end = distance(self.highest, self.first).max(0) as usize;
        let mut overtaken_by = 0;
        let (mut found, mut look_again): (Lost, Option<Time>) = (Lost::default(), None);
        let (rack_sent_at, rack_trip) = (self.rack_sent_at, self.rack_trip);
        for index in (0..end.min(self.ring.len())).rev() {
            let flight = &mut self.ring[index];
            match flight.state {
                State::Arrived => overtaken_by += 1,
                State::Lost => {}
                State::UnderWay => {
                    let due = flight.sent_at + rack_trip + reordering;
                    let is_older = flight.sent_at < rack_sent_at;
                    let is_overtaken = flight.sends == 1 && overtaken_by >= 3;
                    if is_overtaken || is_older && due <= now {
                        flight.lose(&mut found);
                    } else if is_older {
                        look_again = Some(look_again.map_or(due, |at| at.min(due)));
                    }
                }
            }
        }
        self.under_way -= found.count;
        self.lost += found.count;
        (found, look_again)
    }

    /// The receiver has dropped `sequence`, for it had no room for it: all up to it were dropped or are lost, but for
    /// those that have left since. [`find_dropped`](Self::find_dropped) has them.
    ///
    /// This answers the latest sending if each one has been answered so, or if no round trip is so short; `trip` alone
    /// would not do, for before an interface program has answered the shortest one known is that of the programs.
    pub fn on_dropped(&mut self, now: Time, sequence: u32, trip: Span) {
        let index = distance(sequence, self.first);
        let Some(named) = usize::try_from(index)
            .ok()
            .and_then(|index| self.ring.get_mut(index))
        else {
            return;
        };
        named.drops = named.drops.saturating_add(1);
        let long_ago = now.ago(trip);
        let left_by = match named.drops >= named.sends {
            true => named.sent_at.max(long_ago),
            false => long_ago,
        };
        for flight in self.ring.iter_mut().take(index as usize + 1) {
            flight.is_dropped |= flight.sent_at <= left_by;
        }
        if distance(sequence, self.dropped_end) >= 0 {
            self.dropped_end = sequence.wrapping_add(1);
        }
    }

    /// Takes for lost what the receiver has dropped, once it may leave again, and all of it at once: the receiver takes
    /// it in order or not at all. Returns which, and when to look again for more.
    pub fn find_dropped(&mut self, now: Time, trip: Span) -> (Lost, Option<Time>) {
        let end = distance(self.dropped_end, self.first).max(0) as usize;
        let is_dropped =
            |flight: &&mut Flight| flight.state == State::UnderWay && flight.is_dropped;
        let mut dropped = self.ring.iter_mut().take(end).filter(is_dropped).peekable();
        let Some(oldest) = dropped.peek() else {
            return (Lost::default(), None);
        };
        let at = oldest.sent_at + pause(self.rounds, trip);
        if at > now {
            return (Lost::default(), Some(at));
        }
        let mut found = Lost::default();
        for flight in dropped {
            flight.lose(&mut found);
        }
        self.rounds += 1;
        self.under_way -= found.count;
        self.lost += found.count;
        (found, None)
    }

    /// A timeout: nothing that is under way is believed to arrive any more.
    pub fn lose_all(&mut self) -> Lost {
        self.lose_longer(None)
    }

    /// If all have arrived, and yet are not acknowledged, the first is to be sent again: the receiver says then what it is
    /// about ([WIRE-7.7]).
    pub fn doubt(&mut self) -> bool {
        match self.ring.front_mut() {
            Some(flight) if self.under_way == 0 && self.lost == 0 => {
                flight.lose(&mut Lost::default());
                self.arrived -= 1;
                self.lost += 1;
                true
            }
            _ => false,
        }
    }

    /// Of what is under way, nothing with a payload longer than this is believed to arrive any more.
    pub fn lose_longer(&mut self, limit: Option<u16>) -> Lost {
        let mut found = Lost::default();
        for flight in &mut self.ring {
            let is_longer = limit.is_none_or(|limit| flight.packet.len_bytes() > limit);
            if flight.state == State::UnderWay && is_longer {
                flight.lose(&mut found);
            }
        }
        self.under_way -= found.count;
        self.lost += found.count;
        found
    }

    /// Whether the packet with this sequence is under way.
    pub fn is_under_way(&self, sequence: u32) -> bool {
        self.get(sequence)
            .is_some_and(|flight| flight.state == State::UnderWay)
    }

    /// The oldest lost packet with a payload of at most `limit` bytes leaves again.
    pub fn resend_lost(&mut self, now: Time, limit: u16) -> Option<(u32, Packet)> {
        if self.lost == 0 {
            return None;
        }
        let index = self
            .ring
            .iter()
            .position(|flight| flight.state == State::Lost && flight.packet.len_bytes() <= limit)?;
        let flight = &mut self.ring[index];
        flight.state = State::UnderWay;
        flight.leave_again(now);
        self.lost -= 1;
        self.under_way += 1;
        Some((self.first.wrapping_add(index as u32), flight.packet))
    }

    /// The newest packet under way leaves again, on trial ([WIRE-7.3]).
    pub fn resend_last(&mut self, now: Time) -> Option<(u32, Packet)> {
        let index = self
            .ring
            .iter()
            .rposition(|flight| flight.state == State::UnderWay)?;
        let flight = &mut self.ring[index];
        flight.leave_again(now);
        Some((self.first.wrapping_add(index as u32), flight.packet))
    }

    /// The memory of an operation goes back to the program: packets up to `last` do not refer to it any more.
    pub fn forget_memory(&mut self, of: OpId, last: u32) {
        let end = distance(last, self.first) + 1;
        for flight in self.ring.iter_mut().take(end.max(0) as usize) {
            if matches!(flight.packet.payload, Content::Lent { op, .. } if op == of) {
                flight.packet = flight.packet.empty();
            }
        }
    }

    /// Everything is to be sent from the beginning, in a connection that takes the place of this one.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    pub fn memory_bytes(&self) -> usize {
        self.ring.capacity() * size_of::<Flight>()
    }

    /// Lets go of memory that an idle connection does not need.
    pub fn shrink(&mut self) {
        if self.ring.is_empty() {
            self.ring = VecDeque::new();
        }
    }
}

/// What a receiver drops again and again, as its ring is full, comes ever more seldom.
fn pause(rounds: u32, trip: Span) -> Span {
    match rounds {
        0 => Span::ZERO,
        rounds => trip
            .max(DROPPED_PAUSE)
            .times(1 << rounds.min(16))
            .min(DROPPED_PAUSE_MAX)
            .max(trip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_wire::Kind;

    fn flights(count: u32, first: u32) -> Flights {
        let mut flights = Flights {
            first,
            highest: first,
            ..Flights::default()
        };
        for number in 0..count {
            flights.push(Time(1_000 + u64::from(number)), Packet::new(Kind::Data));
        }
        flights
    }

    #[test]
    fn overtaken_packets_are_lost() {
        let mut flights = flights(6, u32::MAX - 1);
        let ack = u32::MAX;
        let progress = flights
            .acknowledge(Time(2_000), ack, Some(&[0b011, 0, 0, 0]))
            .unwrap();
        assert_eq!((progress.newly, progress.in_flight), (3, 6));
        let (found, look_again) = flights.find_lost(Time(2_000), Span(5_000));
        assert_eq!((found.count, look_again.is_some()), (0, true));
        flights
            .acknowledge(Time(2_001), ack, Some(&[0b111, 0, 0, 0]))
            .unwrap();
        assert_eq!(flights.find_lost(Time(2_001), Span(5_000)).0.count, 1);
        let (sequence, _) = flights.resend_lost(Time(3_000), u16::MAX).unwrap();
        assert_eq!(sequence, ack);
        assert!(!flights.has_lost());
        assert_eq!(flights.under_way(), 2);
        flights
            .acknowledge(Time(4_000), ack.wrapping_add(4), None)
            .unwrap();
        assert_eq!((flights.under_way(), flights.first()), (1, 3));
    }

    #[test]
    fn overdue_packets_are_lost() {
        let mut flights = flights(2, 7);
        flights
            .acknowledge(Time(1_500), 7, Some(&[1, 0, 0, 0]))
            .unwrap();
        let (found, look_again) = flights.find_lost(Time(1_500), Span(100));
        assert_eq!((found.count, look_again), (0, Some(Time(1_599))));
        assert_eq!(flights.find_lost(Time(1_599), Span(100)).0.count, 1);
    }

    /// [WIRE-7.6]: the first time it leaves again at once, then after pauses that double.
    #[test]
    fn what_is_dropped_each_time_leaves_ever_more_seldom() {
        let mut flights = flights(3, u32::MAX);
        let (trip, mut now) = (Span::from_us(15), Time(20_000));
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let left_at = now;
            now += trip;
            flights.on_dropped(now, 0, trip);
            let (mut found, look_again) = flights.find_dropped(now, trip);
            if let Some(at) = look_again {
                assert_eq!(found.count, 0);
                now = at;
                (found, _) = flights.find_dropped(now, trip);
            }
            assert_eq!((found.count, flights.under_way()), (2, 1));
            assert_eq!(flights.find_dropped(now, trip).0.count, 0);
            pauses.push(now.since(left_at).0);
            assert_eq!(flights.resend_lost(now, u16::MAX).unwrap().0, u32::MAX);
            assert_eq!(flights.resend_lost(now, u16::MAX).unwrap().0, 0);
        }
        let doubled: Vec<u64> = (0..12).map(|n| (15_000 << n).min(10_000_000)).collect();
        assert_eq!(pauses, doubled);
        flights.acknowledge(now, 2, None).unwrap();
        assert!(flights.is_empty());
    }

    /// [WIRE-7.7]
    #[test]
    fn what_has_arrived_and_is_not_acknowledged_is_shown_again() {
        let mut flights = flights(3, 5);
        assert!(!flights.doubt());
        let now = Time(2_000);
        flights.acknowledge(now, 5, Some(&[3, 0, 0, 0])).unwrap();
        flights.acknowledge(now, 6, None).unwrap();
        assert!(flights.is_awaited());
        assert!(flights.doubt());
        assert!(!flights.is_awaited() && !flights.doubt());
        assert_eq!(flights.resend_lost(now, u16::MAX).unwrap().0, 6);
        assert!(flights.is_awaited());
        let progress = flights.acknowledge(now, 8, None).unwrap();
        assert_eq!((progress.newly, flights.is_awaited()), (1, false));
    }

    /// A round trip of next to nothing, or one that nobody has measured, doubled, is next to nothing.
    #[test]
    fn where_round_trips_are_short_the_pauses_are_not() {
        let mut flights = flights(1, 0);
        let now = Time(10_000);
        flights.on_dropped(now, 0, Span::ZERO);
        assert_eq!(flights.find_dropped(now, Span::ZERO).0.count, 1);
        flights.resend_lost(now, u16::MAX);
        flights.on_dropped(now, 0, Span::ZERO);
        let (found, look_again) = flights.find_dropped(now, Span::ZERO);
        assert_eq!(
            (found.count, look_again),
            (0, Some(now + Span::from_us(20)))
        );
    }

    /// Whether the answer is to the first sending or the second, only time can tell; two answers are to both.
    #[test]
    fn a_packet_sent_since_was_not_dropped() {
        let (mut flights, trip) = (flights(2, 0), Span(100));
        flights.lose_all();
        for sequence in 0..2 {
            let again = flights.resend_lost(Time(1_060), u16::MAX);
            assert_eq!(again.unwrap().0, sequence);
        }
        flights.on_dropped(Time(1_070), 1, trip);
        let none = (Lost::default(), None);
        assert_eq!(flights.find_dropped(Time(9_000), trip), none);
        flights.on_dropped(Time(1_075), 1, trip);
        assert_eq!(flights.find_dropped(Time(1_075), trip).0.count, 2);
    }

    #[test]
    fn what_was_never_sent_is_not_acknowledged() {
        let mut flights = flights(2, 0);
        assert!(flights.acknowledge(Time(0), 3, None).is_err());
        assert!(
            flights
                .acknowledge(Time(0), 0, Some(&[2, 0, 0, 0]))
                .is_err()
        );
        assert!(flights.acknowledge(Time(0), u32::MAX, None).is_ok());
        assert_eq!(flights.under_way(), 2);
    }
}
