//! When to believe that packets are lost although nothing says so ([WIRE-7]).

use super::flights::Flights;
use super::round_trip::RoundTrip;
use bcl_types::{Span, Time};

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Overtaken packets have become overdue.
    Reordering,
    /// The last packet is sent again, to learn what has arrived.
    TailProbe,
    /// All is lost.
    Timeout,
}

/// Timers of a sender with packets under way.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// Last time that something was sent or acknowledged.
    since: Time,
    reordering_at: Option<Time>,
    has_probed: bool,
    backoff: u32,
}

impl Recovery {
    #[inline]
    pub fn on_sent(&mut self, now: Time) {
        self.since = now;
    }

    #[inline]
    pub fn on_progress(&mut self, now: Time) {
        self.since = now;
        self.has_probed = false;
        self.backoff = 0;
    }

    pub fn look_again_at(&mut self, at: Option<Time>) {
        self.reordering_at = at;
    }

    pub fn deadline(&self, flights: &Flights, trip: &RoundTrip) -> Option<Time> {
        if !flights.is_awaited() {
            return None;
        }
        let last_resort = if self.has_probed || self.backoff > 0 {
            self.since + trip.timeout(self.backoff)
        } else {
            self.since + trip.probe_after().min(trip.timeout(0))
        };
        Some(
            self.reordering_at
                .map_or(last_resort, |at| at.min(last_resort)),
        )
    }

    pub fn due(&mut self, now: Time, flights: &Flights, trip: &RoundTrip) -> Option<Due> {
        if self.deadline(flights, trip).is_none_or(|at| at > now) {
            return None;
        }
        if self.reordering_at.take().is_some_and(|at| at <= now) {
            return Some(Due::Reordering);
        }
        self.since = now;
        if self.has_probed || self.backoff > 0 {
            self.backoff += 1;
            return Some(Due::Timeout);
        }
        self.has_probed = true;
        Some(Due::TailProbe)
    }

    /// How long an overtaken packet may be late: a quarter of the round trip (RFC 8985, 6.2).
    pub fn reordering(trip: &RoundTrip) -> Span {
        trip.smoothed().unwrap_or(Span::from_us(100)).part(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::packet::Packet;
    use bcl_wire::Kind;

    #[test]
    fn a_probe_then_timeouts_that_grow() {
        let (mut recovery, mut flights, trip) = Default::default();
        assert_eq!(Recovery::deadline(&recovery, &flights, &trip), None);
        flights.push(Time(0), Packet::new(Kind::Data));
        recovery.on_sent(Time(0));
        let mut seen = Vec::new();
        for _ in 0..4 {
            let at = recovery.deadline(&flights, &trip).unwrap();
            assert_eq!(recovery.due(Time(at.0 - 1), &flights, &trip), None);
            seen.push((at.0 / 1_000_000, recovery.due(at, &flights, &trip).unwrap()));
        }
        assert_eq!(
            seen,
            [
                (5, Due::TailProbe),
                (15, Due::Timeout),
                (35, Due::Timeout),
                (75, Due::Timeout)
            ]
        );
        recovery.on_progress(Time(0));
        assert_eq!(recovery.deadline(&flights, &trip), Some(Time(5_000_000)));
    }
}
