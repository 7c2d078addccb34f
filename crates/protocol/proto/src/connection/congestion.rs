//! How many packets may be under way ([WIRE-8]).
//!
//! The rule is Swift's (Kumar et al., SIGCOMM 2020): additive increase while the round trip is below a target,
//! multiplicative decrease in proportion to the excess above it, at most once a round trip, with a target that is
//! higher for small windows, so that many senders share fairly. Losses count only above 2 % (the threshold of
//! BBRv2, draft-cardwell-iccrg-bbr-congestion-control-01, with its factor of 0.7), because wireless and virtual
//! links lose some without being full; timeouts always count. Shallow buffers, which overflow before delay shows,
//! are seen by that threshold.

use bcl_types::{Span, Time};

/// Window at first: what one `UDP_SEGMENT` send of a usual MTU holds, about.
const FIRST_WINDOW: f64 = 32.0;
/// As many packets as a receiver keeps track of ([WIRE-5.2]).
pub const MAX_WINDOW: f64 = 1024.0;
/// Below one packet a round trip the pacer stretches the pauses (Swift, 3.5).
const MIN_WINDOW: f64 = 0.25;
/// Losses alone do not push the window below this: they say little about delay.
const MIN_WINDOW_BY_LOSS: f64 = 4.0;
/// Neither do timeouts, unless there are many in a row.
const MIN_WINDOW_BY_TIMEOUT: f64 = 8.0;
/// Delay above the shortest round trip that is not worth reacting to: bursts of one send, and processes that wake.
const TARGET_EXTRA: Span = Span::from_us(60);
/// Shortest round trips below this count as this. How they differ there says in which turn a busy receiver looked
/// at each sender's packets, not how far away it is; a sender with a higher target would win for good.
const LEAST_BASE: Span = Span::from_us(75);
/// How much higher the target is for the smallest windows (Swift, 3.1.2).
const FLOW_RANGE: f64 = 100_000.0;
/// Windows between which the flow scaling acts.
const FLOW_MIN: f64 = 0.1;
const FLOW_MAX: f64 = 100.0;
/// Strength of the decrease, and its limit (Swift's beta and max_mdf).
const BETA: f64 = 0.8;
const MAX_DECREASE: f64 = 0.5;
/// Packets that leave together: a part of what the window has beyond its first size, and at most about what one
/// `UDP_SEGMENT` send takes.
const TRAIN_PART: f64 = 4.0;
const TRAIN_MAX: f64 = 32.0;
/// Packets over which losses are counted, and how many of them are too many: 2 %.
const LOSS_ROUND: u32 = 512;
const LOSS_MAX: u32 = 10;
/// What remains of the window then (BBRv2).
const LOSS_FACTOR: f64 = 0.7;

/// The window of packets that one peer's path bears.
#[derive(Debug, Clone)]
pub struct Congestion {
    window: f64,
    /// Doubling each round trip, until delay or loss shows.
    is_starting: bool,
    last_decrease: Time,
    round_packets: u32,
    round_losses: u32,
    timeouts: u32,
    before_timeouts: Before,
}

/// As it was before the first of several timeouts.
#[derive(Debug, Clone)]
struct Before {
    first_at: Time,
    window: f64,
    is_starting: bool,
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            window: FIRST_WINDOW,
            is_starting: true,
            last_decrease: Time(0),
            round_packets: 0,
            round_losses: 0,
            timeouts: 0,
            before_timeouts: Before {
                first_at: Time(0),
                window: FIRST_WINDOW,
                is_starting: true,
            },
        }
    }
}

impl Congestion {
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Whether this many packets under way leave room for another.
    #[inline]
    pub fn permits(&self, in_flight: u32) -> bool {
        f64::from(in_flight) + 1.0 <= self.window.max(1.0)
    }

    /// Whether it leaves room for many packets that travel as one.
    #[inline]
    pub fn permits_train(&self, in_flight: u32) -> bool {
        let train = ((self.window - FIRST_WINDOW) / TRAIN_PART).clamp(1.0, TRAIN_MAX);
        f64::from(in_flight) + train <= self.window.max(1.0)
    }

    /// How much faster than one window a round trip packets may leave: twice while the window doubles.
    pub fn gain(&self) -> f64 {
        if self.is_starting { 2.0 } else { 1.25 }
    }

    /// The peer says that from `since` on, at the earliest, it did not look for packets. Timeouts that were meanwhile say nothing of
    /// the network.
    pub fn on_peer_away(&mut self, since: Time) {
        let before = &self.before_timeouts;
        if self.timeouts > 0 && since <= before.first_at {
            self.timeouts = 0;
            self.window = before.window;
            self.is_starting = before.is_starting;
        }
    }

    /// Packets have arrived; `in_flight` were under way before, and took `delay` in the network, if that was measured.
    pub fn on_acked(
        &mut self,
        now: Time,
        acked: u32,
        in_flight: u32,
        delay: Option<Span>,
        base: Option<Span>,
    ) {
        self.timeouts = 0;
        self.count(acked, 0);
        let (Some(delay), Some(base)) = (delay, base) else {
            return;
        };
        let target = self.target(base);
        if delay.0 as f64 > target {
            self.is_starting = false;
            if now.since(self.last_decrease) >= delay {
                let excess = (delay.0 as f64 - target) / delay.0 as f64;
                self.shrink(
                    now,
                    (1.0 - BETA * excess).max(1.0 - MAX_DECREASE),
                    MIN_WINDOW,
                );
            }
            return;
        }
        // A window that is not used says nothing about whether it could be larger.
        if f64::from(in_flight) * 2.0 < self.window {
            return;
        }
        let acked = f64::from(acked);
        self.window += match self.window {
            _ if self.is_starting => acked,
            window if window >= 1.0 => acked / window,
            _ => acked,
        };
        self.window = self.window.min(MAX_WINDOW);
    }

    fn target(&self, base: Span) -> f64 {
        let alpha = FLOW_RANGE / (1.0 / FLOW_MIN.sqrt() - 1.0 / FLOW_MAX.sqrt());
        let scaled = alpha / self.window.sqrt() - alpha / FLOW_MAX.sqrt();
        (base.max(LEAST_BASE) + TARGET_EXTRA).0 as f64 + scaled.clamp(0.0, FLOW_RANGE)
    }

    /// Packets are taken for lost.
    pub fn on_lost(&mut self, now: Time, lost: u32, smoothed: Option<Span>) {
        self.count(0, lost);
        if self.round_losses <= LOSS_MAX {
            return;
        }
        self.round_packets = 0;
        self.round_losses = 0;
        if now.since(self.last_decrease) >= smoothed.unwrap_or(Span::ZERO) {
            self.is_starting = false;
            self.shrink(now, LOSS_FACTOR, MIN_WINDOW_BY_LOSS);
        }
    }

    fn count(&mut self, acked: u32, lost: u32) {
        self.round_packets += acked + lost;
        self.round_losses += lost;
        if self.round_packets >= LOSS_ROUND && self.round_losses <= LOSS_MAX {
            self.round_packets = 0;
            self.round_losses = 0;
        }
    }

    /// Nothing was heard for a whole timeout: half. Timeouts back off by themselves, so that the window need not
    /// fall to the least at once: most often the peer's process did not run for a while.
    pub fn on_timeout(&mut self, now: Time) {
        if self.timeouts == 0 {
            self.before_timeouts = Before {
                first_at: now,
                window: self.window,
                is_starting: self.is_starting,
            };
        }
        self.timeouts += 1;
        self.is_starting = false;
        let floor = if self.timeouts >= 8 {
            1.0
        } else {
            MIN_WINDOW_BY_TIMEOUT
        };
        self.shrink(now, 1.0 - MAX_DECREASE, floor);
    }

    fn shrink(&mut self, now: Time, factor: f64, floor: f64) {
        self.last_decrease = now;
        self.window = (self.window * factor).max(floor.min(self.window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Span = Span::from_us(20);

    fn ack(congestion: &mut Congestion, at_us: u64, delay_us: u64) {
        let now = Time(at_us * 1000);
        let in_flight = congestion.window().max(1.0) as u32;
        congestion.on_acked(now, 8, in_flight, Some(Span::from_us(delay_us)), Some(BASE));
    }

    #[test]
    fn the_window_follows_delay() {
        let mut congestion = Congestion::default();
        for at in 0..200 {
            ack(&mut congestion, at * 10, 30);
        }
        assert_eq!(congestion.window(), MAX_WINDOW);
        for at in 200..300 {
            ack(&mut congestion, at * 1000, 900);
        }
        assert!(congestion.window() < 2.0, "{}", congestion.window());
        for at in 300_000..300_100 {
            ack(&mut congestion, at, 30);
        }
        assert!(congestion.window() > 10.0, "{}", congestion.window());
    }

    #[test]
    fn timeouts_while_the_peer_was_away_are_taken_back() {
        let ms = |ms: u64| Time(ms * 1_000_000);
        let mut congestion = Congestion::default();
        let late = |congestion: &mut Congestion| {
            congestion.on_timeout(ms(10));
            congestion.on_timeout(ms(20));
            assert_eq!(congestion.window(), MIN_WINDOW_BY_TIMEOUT);
        };
        late(&mut congestion);
        congestion.on_peer_away(ms(10));
        assert_eq!(congestion.window(), FIRST_WINDOW);
        congestion.on_peer_away(ms(0));
        assert_eq!(congestion.window(), FIRST_WINDOW);
        late(&mut congestion);
        congestion.on_peer_away(ms(11));
        assert_eq!(congestion.window(), MIN_WINDOW_BY_TIMEOUT);
    }

    #[test]
    fn few_losses_do_not_matter_and_many_do() {
        let mut congestion = Congestion::default();
        for at in 0..1_000 {
            ack(&mut congestion, at * 10, 30);
            if at % 16 == 0 {
                congestion.on_lost(Time(at * 10_000), 1, Some(BASE));
            }
        }
        assert_eq!(congestion.window(), MAX_WINDOW);
        for at in 1_000..1_010 {
            congestion.on_lost(Time(at * 100_000), 11, Some(BASE));
        }
        assert!(congestion.window() < 64.0);
        assert!(congestion.window() >= MIN_WINDOW_BY_LOSS);
    }

    #[test]
    fn trains_are_a_part_of_a_large_window() {
        let with = |window| Congestion {
            window,
            ..Congestion::default()
        };
        let room = |window: f64| {
            let is_enough = |room: &u32| with(window).permits_train(window as u32 - room);
            (0..window as u32).find(is_enough)
        };
        assert_eq!([8.0, 32.0, 36.0].map(room), [Some(1); 3]);
        assert_eq!([72.0, 160.0, 1024.0].map(room), [10, 32, 32].map(Some));
        assert!(with(0.25).permits_train(0) && !with(0.25).permits_train(1));
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let mut congestion = Congestion::default();
        for at in 0..100 {
            congestion.on_acked(Time(at * 1000), 1, 1, Some(BASE), Some(BASE));
        }
        assert_eq!(congestion.window(), FIRST_WINDOW);
    }
}
