//! Whether a program is at work on its port, by how often it visits.

use std::time::{Duration, Instant};

/// One that polls visits every microsecond or less. One that visits less often than this computes in between, or others keep it
/// from its core: an MPI process that yields beside two that do not polls once in ten milliseconds.
const PAUSE_MAX: Duration = Duration::from_micros(125);
/// Nothing is concluded from less: visits come in clusters.
const WINDOW_MIN: Duration = Duration::from_millis(1);

/// What has been seen of a program.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
    visits: u32,
    is_at_work: bool,
}

impl Pace {
    /// Of one that has made so many visits by now, and is believed to be busy with something else.
    pub fn new(visits: u32, now: Instant) -> Self {
        Self {
            since: now,
            visits,
            is_at_work: false,
        }
    }

    /// Whether it is at work, of so many visits by now.
    pub fn is_at_work(&mut self, visits: u32, now: Instant) -> bool {
        let window = now.saturating_duration_since(self.since);
        if window >= WINDOW_MIN {
            let made = visits.wrapping_sub(self.visits);
            *self = Self {
                since: now,
                visits,
                is_at_work: PAUSE_MAX.saturating_mul(made) >= window,
            };
        }
        self.is_at_work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pace: &mut Pace, window: Duration, made: u32) -> bool {
        let (visits, now) = (pace.visits.wrapping_add(made), pace.since + window);
        pace.is_at_work(visits, now)
    }

    #[test]
    fn it_is_at_work_while_it_polls_and_not_while_it_looks_in_now_and_then() {
        let mut pace = Pace::new(u32::MAX - 100, Instant::now());
        let tick = Duration::from_millis(4);
        assert!(after(&mut pace, tick, 4000));
        assert!(after(&mut pace, tick, 32));
        assert!(!after(&mut pace, tick, 31));
        assert!(!after(&mut pace, tick, 0));
        assert!(!after(&mut pace, 100 * tick, 3000));
    }

    #[test]
    fn a_cluster_of_visits_says_nothing() {
        let mut pace = Pace::new(0, Instant::now());
        let moment = Duration::from_micros(10);
        assert!(!after(&mut pace, moment, 5));
        assert!(after(&mut pace, WINDOW_MIN, 1000));
        assert!(after(&mut pace, moment, 0));
    }
}
