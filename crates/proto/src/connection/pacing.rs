//! When packets may leave: a window is spread over a round trip, in bursts ([WIRE-8.5]).

use crate::time::{Span, Time};

/// Longest burst: what one `UDP_SEGMENT` send takes.
const BURST_MAX: f64 = 64.0;
/// Shortest burst of windows of more than a packet.
const BURST_MIN: f64 = 8.0;

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
    pub fn release_at(&self, window: f64, gain: f64, smoothed: Option<Span>) -> Time {
        let interval = interval(window, gain, smoothed);
        self.next + Span((interval * (burst(window) / 2.0)) as u64)
    }

    #[inline]
    pub fn on_sent(&mut self, now: Time, window: f64, gain: f64, smoothed: Option<Span>) {
        let interval = interval(window, gain, smoothed);
        let credit = (interval * burst(window)) as u64;
        let earliest = Time(now.0.saturating_sub(credit));
        self.next = self.next.max(earliest) + Span(interval as u64);
    }
}

fn burst(window: f64) -> f64 {
    if window < 1.0 {
        0.0
    } else {
        (window / 2.0).clamp(BURST_MIN, BURST_MAX)
    }
}

fn interval(window: f64, gain: f64, smoothed: Option<Span>) -> f64 {
    smoothed.map_or(0.0, |smoothed| smoothed.0 as f64 / (window * gain))
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
