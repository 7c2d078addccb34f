//! How to wait: spin while cores are free, yield while they are shared, sleep when nothing comes.
//!
//! Spinning is best when every process has a core and disastrous when not (a barrier of 4 processes on
//! 2 cores: 4360 us spinning, 3 us yielding). Which it is cannot be asked, but it can be
//! measured: `sched_yield` comes back at once when nobody else wanted the core, and late when somebody ran.

mod core;
mod courtesy;

use std::time::{Duration, Instant};

pub use self::core::Core;
pub use courtesy::Courtesy;

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

/// One wait.
#[derive(Debug, Default)]
pub struct Waiter {
    /// Since the wait began, or the core was given away.
    polls: u32,
    polls_since: Option<Instant>,
    since: Option<Instant>,
}

impl Waiter {
    /// Called after each poll that found nothing. `expecting`: operations of ours are under way.
    #[inline]
    pub fn after_empty_poll(&mut self, core: &Core, expecting: impl FnOnce() -> bool) -> Advice {
        self.polls += 1;
        let since = &mut self.polls_since;
        let passed = || since.get_or_insert_with(Instant::now).elapsed();
        if core.is_enough(self.polls, passed) {
            (self.polls, self.polls_since) = (0, None);
            return self.give_way(core, expecting());
        }
        Advice::Again
    }

    fn give_way(&mut self, core: &Core, expecting: bool) -> Advice {
        let before = Instant::now();
        let waited = before.duration_since(*self.since.get_or_insert(before));
        let limit = match (core.is_shared(), expecting) {
            (false, true) => EXPECTING_LIMIT,
            (false, false) => SPIN_LIMIT,
            (true, _) => YIELD_LIMIT,
        };
        if waited > limit {
            return Advice::Sleep;
        }
        core.give_away();
        Advice::Yielded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_ends_in_sleep() {
        for yield_ns in [0, u64::MAX] {
            let (core, mut waiter) = (Core::default(), Waiter::default());
            core.learn(yield_ns);
            while waiter.after_empty_poll(&core, || false) != Advice::Sleep {}
        }
    }

    #[test]
    fn a_free_core_is_not_given_away_at_once() {
        let (core, mut waiter) = (Core::default(), Waiter::default());
        for _ in 1..256 {
            assert_eq!(waiter.after_empty_poll(&core, || false), Advice::Again);
        }
    }

    /// Else each wait would begin with polls on which others wait.
    #[test]
    fn what_one_wait_has_learnt_of_the_core_holds_for_the_next() {
        let core = Core::default();
        core.learn(u64::MAX);
        let polls = |mut waiter: Waiter| {
            (1..).find(|_| waiter.after_empty_poll(&core, || false) != Advice::Again)
        };
        assert!(polls(Waiter::default()) < Some(256));
        core.learn(u64::MAX);
        assert!(polls(Waiter::default()) < Some(256));
    }
}
