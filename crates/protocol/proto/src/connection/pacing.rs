//! When packets may leave: a congestion window is spread over a round trip, in bursts ([WIRE-8.5]).

use bcl_types::{Span, Time};

/// Longest burst: what one `UDP_SEGMENT` send takes.
const BURST_MAX: f64 = 64.0;
/// Shortest burst of windows of more than a packet.
const BURST_MIN: f64 = 8.0;

/// Longest pause between packets. Of round trips that are longer than the network's, because a packet was lost and shown to
/// the peer seconds later by somebody who had seen it, nobody shall suffer for seconds.
const PAUSE_MAX: Span = Span::from_ms(10);

/// A bucket of credit, kept as the time at which it is full.
#[derive(Debug, Clone, Default)]
pub struct Pacer {
    next: Time,
}

impl Pacer {
    #[inline]
    pub fn permits(&self, now: Time) -> bool {
        self.next <= now
    }

    /// When to come back if [`permits`](Self::permits) says no: late enough for several packets.
    pub fn release_at(&self, congestion_window: f64, gain: f64, smoothed: Option<Span>) -> Time {
        let interval = interval(congestion_window, gain, smoothed);
        self.next + Span((interval * (burst(congestion_window) / 2.0)) as u64)
    }

    /// A packet leaves. What is not held back ([WIRE-8.6]) may leave at any time, and is not paid for later: the pause
    /// is never longer than that after one packet.
    #[inline]
    pub fn on_sent(
        &mut self,
        now: Time,
        congestion_window: f64,
        gain: f64,
        smoothed: Option<Span>,
    ) {
        let interval = interval(congestion_window, gain, smoothed);
        let credit = (interval * burst(congestion_window)) as u64;
        let earliest = Time(now.0.saturating_sub(credit));
        self.next = self.next.clamp(earliest, now) + Span(interval as u64);
    }
}

fn burst(congestion_window: f64) -> f64 {
    if congestion_window < 1.0 {
        0.0
    } else {
        (congestion_window / 2.0).clamp(BURST_MIN, BURST_MAX)
    }
}

fn interval(congestion_window: f64, gain: f64, smoothed: Option<Span>) -> f64 {
    smoothed.map_or(0.0, |smoothed| {
        let interval = smoothed.0 as f64 / (congestion_window * gain);
        interval.min(PAUSE_MAX.0 as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_then_the_rate() {
        let mut pacer = Pacer::default();
        let trip = Some(Span::from_us(1000));
        let start = Time(1_000_000_000);
        let mut burst = 0;
        while pacer.permits(start) {
            pacer.on_sent(start, 100.0, 1.25, trip);
            burst += 1;
        }
        assert!((50..=52).contains(&burst), "{burst}");
        let (mut now, mut sent) = (start, 0);
        while now < start + Span::from_us(1000) {
            while pacer.permits(now) {
                pacer.on_sent(now, 100.0, 1.25, trip);
                sent += 1;
            }
            now += Span::from_us(1);
        }
        assert!((120..=126).contains(&sent), "{sent}");
    }

    /// Hundreds of FIN while the round trip was long once kept data back for minutes.
    #[test]
    fn what_is_not_held_back_holds_nothing_back() {
        let mut pacer = Pacer::default();
        let (now, trip) = (Time(1_000_000_000), Some(Span::from_ms(40)));
        for _ in 0..1000 {
            pacer.on_sent(now, 0.25, 1.25, trip);
        }
        assert!(pacer.permits(now + PAUSE_MAX));
        assert!(!pacer.permits(now + Span(PAUSE_MAX.0 - 1)));
    }

    #[test]
    fn less_than_a_packet_a_round_trip() {
        let mut pacer = Pacer::default();
        let trip = Some(Span::from_us(100));
        let now = Time(1_000_000);
        pacer.on_sent(now, 0.25, 1.0, trip);
        assert!(!pacer.permits(now + Span::from_us(399)));
        assert!(pacer.permits(now + Span::from_us(400)));
    }
}
