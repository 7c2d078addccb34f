//! How long packets and their acknowledgements take.

use crate::time::{Span, Time};

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
    epoch: Time,
}

impl RoundTrip {
    pub fn sample(&mut self, now: Time, sample: Span) {
        // A clock too coarse to see the packet travel still must not make intervals of nothing.
        let sample = Span(sample.0.max(1_000));
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample.part(2);
            }
            Some(Span(smoothed)) => {
                let deviation = smoothed.abs_diff(sample.0);
                self.variation = Span((3 * self.variation.0 + deviation) / 4);
                self.smoothed = Some(Span((7 * smoothed + sample.0) / 8));
            }
        }
        if now.since(self.epoch) > BASE_EPOCH {
            self.base = [Some(sample), self.base[0]];
            self.epoch = now;
        }
        self.base[0] = Some(self.base[0].map_or(sample, |base| base.min(sample)));
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

#[cfg(test)]
mod tests {
    use super::*;

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
