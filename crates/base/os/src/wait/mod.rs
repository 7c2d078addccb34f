//! How to wait: spin while cores are free, yield while they are shared, sleep when nothing comes.
//!
//! Spinning is best when every process has a core and disastrous when not (a barrier of 4 processes on
//! 2 cores: 4360 us spinning, 3 us yielding). Which it is cannot be asked, but it can be
//! measured: `sched_yield` comes back at once when nobody else wanted the core, and late when somebody ran.

mod core;
mod courtesy;

use std::time::{Duration, Instant};

pub use courtesy::Courtesy;

use self::core::Core;

/// Sleep after this long on a core of our own. Waking up costs 26-77 us, so polling not much longer than
/// that loses little against knowing the future.
const SPIN_LIMIT: Duration = Duration::from_micros(100);
/// The same when a peer is at work for us, copying a large message perhaps: the end is in sight.
const EXPECTING_LIMIT: Duration = Duration::from_millis(2);
/// Sleep after this long on a shared core: giving it away costs others little.
const YIELD_LIMIT: Duration = Duration::from_millis(1);
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
    core: Core,
    /// Since the wait began, or the core was given away.
    polls: u32,
    polls_since: Option<Instant>,
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
            core: Core::new(),
            polls: 0,
            polls_since: None,
            since: None,
        }
    }

    /// Begins a new wait.
    #[inline]
    pub fn start(&mut self) {
        (self.polls, self.polls_since) = (0, None);
        self.since = None;
    }

    /// Called after each poll that found nothing. `expecting`: operations of ours are under way.
    #[inline]
    pub fn after_empty_poll(&mut self, expecting: impl FnOnce() -> bool) -> Advice {
        self.polls += 1;
        let since = &mut self.polls_since;
        let passed = || since.get_or_insert_with(Instant::now).elapsed();
        if self.core.is_enough(self.polls, passed) {
            (self.polls, self.polls_since) = (0, None);
            return self.give_way(expecting());
        }
        Advice::Again
    }

    fn give_way(&mut self, expecting: bool) -> Advice {
        let before = Instant::now();
        let waited = before.duration_since(*self.since.get_or_insert(before));
        let limit = match (self.core.is_shared(), expecting) {
            (false, true) => EXPECTING_LIMIT,
            (false, false) => SPIN_LIMIT,
            (true, _) => YIELD_LIMIT,
        };
        if waited > limit {
            return Advice::Sleep;
        }
        self.core.give_away();
        Advice::Yielded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_ends_in_sleep() {
        for yield_ns in [0, u64::MAX] {
            let mut waiter = Waiter::new();
            waiter.core.learn(yield_ns);
            waiter.start();
            while waiter.after_empty_poll(|| false) != Advice::Sleep {}
        }
    }

    #[test]
    fn a_free_core_is_not_given_away_at_once() {
        let mut waiter = Waiter::new();
        waiter.start();
        for _ in 1..256 {
            assert_eq!(waiter.after_empty_poll(|| false), Advice::Again);
        }
    }
}
