//! What yields tell of the core.

use std::time::{Duration, Instant};

use crate::sync::{AtomicU32, Ordering};

/// Polls before the first yield, and between two, while the core seems to be ours alone.
const POLLS_PER_PROBE: u32 = 256;
/// The same on a shared core: a partner that runs on the other core answers within that, and two that have met
/// should go on together; one that does not run costs others no more than this.
const POLLS_PER_YIELD: u32 = 24;
/// ... nor more than this, where each poll is a call of the kernel. An answer from another host takes about as long if its program
/// runs, and a few switches of a core if it waits for a core, which is the likelier where cores are short. Compared with 20 us: an
/// allreduce of MPI on two hosts of two processes takes a third less, and four streams on two cores carry a fifth more.
const TURN_MAX: Duration = Duration::from_micros(5);
/// Polls between two looks at the clock.
const POLLS_PER_LOOK: u32 = 4;
/// A yield that takes longer let somebody else run: an empty one is a bare system call of 0.1-0.4 us.
const SHARED_CORE_NS: u64 = 900;
/// Yields in a row that come back at once before a shared core is believed to be ours again.
const QUIET_YIELDS: u32 = 16;

/// Whether this process shares its core, as far as its yields have told. Threads may share it.
#[derive(Debug)]
pub struct Core {
    /// Yields in a row that came back at once; [`QUIET_YIELDS`] if the core is believed to be ours.
    quiet_yields: AtomicU32,
}

impl Default for Core {
    /// Believed to be free until measured otherwise.
    fn default() -> Self {
        Self {
            quiet_yields: AtomicU32::new(QUIET_YIELDS),
        }
    }
}

impl Core {
    #[inline]
    pub(super) fn is_shared(&self) -> bool {
        self.quiet_yields.load(Ordering::Relaxed) < QUIET_YIELDS
    }

    /// Whether the core is to be given away after so many polls in vain, one after the other. Since the first of them, or one of
    /// the first, so much time has passed, which is asked now and then.
    #[inline]
    pub(super) fn is_enough(&self, polls: u32, passed: impl FnOnce() -> Duration) -> bool {
        if !self.is_shared() {
            return polls >= POLLS_PER_PROBE;
        }
        polls >= POLLS_PER_YIELD || polls.is_multiple_of(POLLS_PER_LOOK) && passed() >= TURN_MAX
    }

    #[cold]
    pub(super) fn give_away(&self) {
        let before = Instant::now();
        std::thread::yield_now();
        self.learn(before.elapsed().as_nanos() as u64);
    }

    pub(super) fn learn(&self, yield_ns: u64) {
        let quiet_yields = match yield_ns > SHARED_CORE_NS {
            true => 0,
            false => QUIET_YIELDS.min(self.quiet_yields.load(Ordering::Relaxed) + 1),
        };
        self.quiet_yields.store(quiet_yields, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_core_is_given_away_sooner_and_soonest_if_polls_are_slow() {
        let core = Core::default();
        let polls = |passed: Duration| (1..).find(|polls| core.is_enough(*polls, || passed));
        assert_eq!(polls(TURN_MAX), Some(POLLS_PER_PROBE));
        core.learn(SHARED_CORE_NS + 1);
        assert_eq!(polls(TURN_MAX / 2), Some(POLLS_PER_YIELD));
        assert_eq!(polls(TURN_MAX), Some(POLLS_PER_LOOK));
    }

    #[test]
    fn one_slow_yield_is_believed_and_several_fast_ones_take_it_back() {
        let core = Core::default();
        core.learn(SHARED_CORE_NS + 1);
        assert!(core.is_shared());
        for _ in 1..QUIET_YIELDS {
            core.learn(100);
        }
        assert!(core.is_shared());
        core.learn(100);
        assert!(!core.is_shared());
    }
}
