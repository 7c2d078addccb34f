//! How to wait: spin while cores are free, yield while they are shared, sleep when nothing comes.
//!
//! Spinning is best when every process has a core and disastrous when not (a barrier of 4 processes on
//! 2 cores: 4360 us spinning, 3 us yielding). Which it is cannot be asked, but it can be
//! measured: `sched_yield` comes back at once when nobody else wanted the core, and late when somebody ran.

use std::time::{Duration, Instant};

/// Polls before the first yield, and between two, while the core seems to be ours alone.
const POLLS_PER_PROBE: u32 = 256;
/// The same on a shared core: a partner that runs on the other core answers within that, and two that have met
/// should go on together; one that does not run costs others no more than this.
const POLLS_PER_YIELD: u32 = 48;
/// A yield that takes longer let somebody else run: an empty one is a bare system call of 0.1-0.4 us.
const SHARED_CORE_NS: u64 = 900;
/// Sleep after this long on a core of our own. Waking up costs 26-77 us, so polling not much longer than
/// that loses little against knowing the future.
const SPIN_LIMIT: Duration = Duration::from_micros(100);
/// The same when a peer is at work for us, copying a large message perhaps: the end is in sight.
const EXPECTING_LIMIT: Duration = Duration::from_millis(2);
/// Sleep after this long on a shared core: giving it away costs others little.
const YIELD_LIMIT: Duration = Duration::from_millis(1);
/// Yields in a row that come back at once before a shared core is believed to be ours again.
const QUIET_YIELDS: u32 = 16;

/// What to do after a poll that found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Poll again.
    Again,
    /// The core was given away meanwhile; poll again.
    Yielded,
    /// Go to sleep on the bell.
    Sleep,
}

/// Remembers between waits whether this process shares its core.
#[derive(Debug)]
pub struct Waiter {
    shared_core: bool,
    quiet_yields: u32,
    polls: u32,
    since: Option<Instant>,
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

impl Waiter {
    /// Believes that the core is free until measured otherwise.
    pub fn new() -> Self {
        Self {
            shared_core: false,
            quiet_yields: 0,
            polls: 0,
            since: None,
        }
    }

    /// Begins a new wait.
    #[inline]
    pub fn start(&mut self) {
        self.polls = 0;
        self.since = None;
    }

    /// Called after each poll that found nothing. `expecting`: operations of ours are under way.
    #[inline]
    pub fn after_empty_poll(&mut self, expecting: impl FnOnce() -> bool) -> Advice {
        self.polls += 1;
        let patience = if self.shared_core {
            POLLS_PER_YIELD
        } else {
            POLLS_PER_PROBE
        };
        if self.polls % patience == 0 {
            return self.give_way(expecting());
        }
        Advice::Again
    }

    fn give_way(&mut self, expecting: bool) -> Advice {
        let before = Instant::now();
        let waited = before.duration_since(*self.since.get_or_insert(before));
        let limit = match (self.shared_core, expecting) {
            (false, true) => EXPECTING_LIMIT,
            (false, false) => SPIN_LIMIT,
            (true, _) => YIELD_LIMIT,
        };
        if waited > limit {
            return Advice::Sleep;
        }
        std::thread::yield_now();
        self.learn(before.elapsed().as_nanos() as u64);
        Advice::Yielded
    }

    fn learn(&mut self, yield_ns: u64) {
        if yield_ns > SHARED_CORE_NS {
            self.shared_core = true;
            self.quiet_yields = 0;
        } else if self.shared_core {
            self.quiet_yields += 1;
            if self.quiet_yields >= QUIET_YIELDS {
                self.shared_core = false;
                self.quiet_yields = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_yield_is_believed_and_several_fast_ones_take_it_back() {
        let mut waiter = Waiter::new();
        waiter.learn(SHARED_CORE_NS + 1);
        assert!(waiter.shared_core);
        for _ in 1..QUIET_YIELDS {
            waiter.learn(100);
        }
        assert!(waiter.shared_core);
        waiter.learn(100);
        assert!(!waiter.shared_core);
    }

    #[test]
    fn every_wait_ends_in_sleep() {
        for shared_core in [false, true] {
            let mut waiter = Waiter {
                shared_core,
                ..Waiter::new()
            };
            waiter.start();
            while waiter.after_empty_poll(|| false) != Advice::Sleep {}
        }
    }

    #[test]
    fn a_free_core_is_not_given_away_at_once() {
        let mut waiter = Waiter::new();
        waiter.start();
        for _ in 1..POLLS_PER_PROBE {
            assert_eq!(waiter.after_empty_poll(|| false), Advice::Again);
        }
    }
}
