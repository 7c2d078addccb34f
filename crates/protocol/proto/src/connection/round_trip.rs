//! How long packets and their acknowledgements take.

use bcl_types::{Span, Time};

/// No timeout is shorter: a receiver that sleeps needs tens of microseconds to wake, and one that computes
/// is stood in for by a thread that looks every few milliseconds ([WIRE-7.4]).
const MIN_TIMEOUT: Span = Span::from_ms(2);
/// No timeout is longer ([WIRE-7.4]).
const MAX_TIMEOUT: Span = Span::from_ms(100);
/// Before anything was measured.
const FIRST_TIMEOUT: Span = Span::from_ms(10);
/// A probe for tail loss comes no sooner.
const MIN_PROBE: Span = Span::from_us(200);
/// The shortest round trip is forgotten after one to two of these, since paths change.
const BASE_EPOCH: Span = Span::from_ms(5_000);

/// Estimates from samples, as RFC 6298 has it, and the shortest sample lately.
#[derive(Debug, Clone, Default)]
pub struct RoundTrip {
    smoothed: Option<Span>,
    variation: Span,
    base: [Option<Span>; 2],
    /// Smoothed as well: without what the programs at both ends add.
    path: Option<Span>,
    epoch: Time,
    /// When the peer was last made to acknowledge again what it has.
    reminded_at: Time,
}

impl RoundTrip {
    /// What leaves now is acknowledged at once, together with all that came before ([WIRE-7.5]).
    pub fn on_reminder(&mut self, now: Time) {
        self.reminded_at = now;
    }

    /// A packet that left once at `sent_at` is acknowledged, by what the peer has held back for `held`, and has waited for the
    /// programs at both ends for `away` at most. Returns the network's part of the round trip, if it is known at all. After a
    /// reminder it may be an acknowledgement that was lost, told again: it took no less than since the reminder, and that is
    /// believed only if it is longer than usual.
    pub fn measure(&mut self, now: Time, sent_at: Time, held: Span, away: Span) -> Option<Span> {
        let since = |at| now.since(at).less(held);
        let trip = match self.reminded_at > sent_at {
            false => since(sent_at),
            true => self.at_least(since(self.reminded_at))?,
        };
        let part = trip.less(away);
        self.learn(now, trip, part);
        Some(part)
    }

    #[cold]
    fn at_least(&self, trip: Span) -> Option<Span> {
        self.smoothed
            .is_some_and(|smoothed| trip > smoothed)
            .then_some(trip)
    }

    /// A round trip was measured, all of it the network's.
    pub fn sample(&mut self, now: Time, sample: Span) {
        self.learn(now, sample, sample);
    }

    fn learn(&mut self, now: Time, trip: Span, part: Span) {
        // A clock too coarse to see the packet travel still must not make intervals of nothing.
        let trip = Span(trip.0.max(1_000));
        self.variation = match self.smoothed {
            None => trip.part(2),
            Some(Span(smoothed)) => Span((3 * self.variation.0 + smoothed.abs_diff(trip.0)) / 4),
        };
        self.smoothed = Some(smooth(self.smoothed, trip));
        if now.since(self.epoch) > BASE_EPOCH {
            self.base = [Some(trip), self.base[0]];
            self.epoch = now;
        }
        let base = self.base[0].map_or(trip, |base| base.min(trip));
        self.base[0] = Some(base);
        self.path = Some(smooth(self.path, part.max(base)));
    }

    /// The network's part, smoothed.
    pub fn path(&self) -> Option<Span> {
        self.path
    }

    /// Smoothed; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The shortest lately.
    pub fn base(&self) -> Option<Span> {
        self.base.iter().flatten().min().copied()
    }

    /// Retransmission timeout after this many in a row ([WIRE-7.4], RFC 6298 with a lower minimum).
    pub fn timeout(&self, backoff: u32) -> Span {
        let first = match self.smoothed {
            None => FIRST_TIMEOUT,
            Some(smoothed) => (smoothed + self.variation.times(4)).max(MIN_TIMEOUT),
        };
        first.times(1 << backoff.min(16)).min(MAX_TIMEOUT)
    }

    /// After this long without an answer the last packet is taken for lost, on trial ([WIRE-7.3]).
    pub fn probe_after(&self) -> Span {
        match self.smoothed {
            None => FIRST_TIMEOUT.part(2),
            Some(smoothed) => (smoothed.times(2) + self.variation.times(2)).max(MIN_PROBE),
        }
    }
}

fn smooth(before: Option<Span>, sample: Span) -> Span {
    before.map_or(sample, |before| Span((7 * before.0 + sample.0) / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Time {
        Time(us * 1_000)
    }

    #[test]
    fn an_acknowledgement_that_was_lost_is_no_long_round_trip() {
        let mut trip = RoundTrip::default();
        trip.sample(us(0), Span::from_us(100));
        // What left at 0 is acknowledged when the peer is reminded of it, and not as if it had taken all that time.
        trip.on_reminder(us(50_000));
        assert_eq!(
            trip.measure(us(50_090), us(0), Span::ZERO, Span::ZERO),
            None
        );
        // What leaves together with the reminder, or later, is measured.
        let measured = trip.measure(us(50_150), us(50_000), Span::from_us(40), Span::ZERO);
        assert_eq!(measured, Some(Span::from_us(110)));
        assert!(trip.timeout(0) <= MIN_TIMEOUT);
    }

    #[test]
    fn what_programs_add_counts_for_timeouts_and_not_for_the_path() {
        let mut trip = RoundTrip::default();
        trip.sample(us(0), Span::from_us(30));
        for _ in 0..100 {
            let part = trip.measure(us(6_000), us(0), Span::from_us(40), Span::from_us(5_900));
            assert_eq!(part, Some(Span::from_us(60)));
        }
        assert!(
            trip.path().is_some_and(|path| path < Span::from_us(61)),
            "{trip:?}"
        );
        assert!(trip.timeout(0) > Span::from_us(5_900), "{trip:?}");
    }

    /// Each packet is reminded of before its acknowledgement can come.
    #[test]
    fn a_path_that_has_become_longer_is_learnt_although_there_are_reminders() {
        let mut trip = RoundTrip::default();
        trip.sample(us(0), Span::from_us(100));
        let mut now = us(0);
        for _ in 0..50 {
            let sent_at = now;
            let reminded_at = sent_at + trip.probe_after();
            let acked_at = sent_at + Span::from_ms(50);
            if reminded_at < acked_at {
                trip.on_reminder(reminded_at);
            }
            trip.measure(acked_at, sent_at, Span::ZERO, Span::ZERO);
            now = acked_at;
        }
        let smoothed = trip.smoothed().unwrap();
        assert!(smoothed > Span::from_ms(15), "{smoothed:?}");
    }

    /// The shortest round trip, which all delay is compared with, is not what a reminder makes of it.
    #[test]
    fn before_anything_was_measured_a_reminder_tells_nothing() {
        let mut trip = RoundTrip::default();
        trip.on_reminder(us(990));
        assert_eq!(trip.measure(us(1_000), us(0), Span::ZERO, Span::ZERO), None);
        assert_eq!((trip.smoothed(), trip.base()), (None, None));
    }

    #[test]
    fn estimates_follow_samples() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(0), FIRST_TIMEOUT);
        for at in 0..100 {
            trip.sample(Time(at), Span::from_us(100));
        }
        assert_eq!(trip.smoothed(), Some(Span::from_us(100)));
        assert_eq!(trip.timeout(0), MIN_TIMEOUT);
        assert_eq!(trip.timeout(3), MIN_TIMEOUT.times(8));
        assert_eq!(trip.timeout(40), MAX_TIMEOUT);
    }

    #[test]
    fn the_shortest_is_forgotten() {
        let mut trip = RoundTrip::default();
        trip.sample(Time(0), Span::from_us(10));
        for second in 1..14 {
            trip.sample(Time(0) + Span::from_ms(1000 * second), Span::from_us(500));
        }
        assert_eq!(trip.base(), Some(Span::from_us(500)));
    }
}
