//! Giving way while polling without end.

use super::core::Core;
use crate::sync::{AtomicU32, Ordering};

/// For those who look again and again and never say that they wait, as MPI libraries do: the core is given away now and then, and
/// often if it is shared. Threads may share it.
#[derive(Debug)]
pub struct Courtesy {
    core: Core,
    polls: AtomicU32,
}

impl Default for Courtesy {
    fn default() -> Self {
        Self::new()
    }
}

impl Courtesy {
    /// Believes that the core is free until measured otherwise.
    pub fn new() -> Self {
        Self {
            core: Core::new(),
            polls: AtomicU32::new(0),
        }
    }

    /// Called after each poll that found nothing; returns late if others want the core.
    #[inline]
    pub fn after_empty_poll(&self) {
        // What is lost between threads that poll at once does not matter.
        let polls = self.polls.load(Ordering::Relaxed).wrapping_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        if polls % self.core.polls_per_yield() == 0 {
            self.core.give_away();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::hint::spin_loop;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;

    /// How often the scheduler has taken the core from this thread.
    fn switches() -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("nonvoluntary_ctxt_switches"));
        let count = line.unwrap().rsplit('\t').next();
        count.unwrap().parse().unwrap()
    }

    #[test]
    fn others_on_the_core_run_while_one_polls_in_vain() {
        const YIELDS: u32 = 16;
        let ours = sched_getaffinity(None).unwrap();
        let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| ours.is_set(cpu)).unwrap();
        let mut one = CpuSet::new();
        one.set(cpu);
        sched_setaffinity(None, &one).unwrap();
        let is_over = AtomicBool::new(false);
        let polls = YIELDS * Core::new().polls_per_yield();
        let given = thread::scope(|scope| {
            // It stays on the core of who starts it.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
            let before = switches();
            let courtesy = Courtesy::new();
            (0..polls).for_each(|_| courtesy.after_empty_poll());
            let given = switches() - before;
            is_over.store(true, Ordering::Relaxed);
            given
        });
        assert!(
            given >= u64::from(YIELDS) / 4,
            "given away {given} times in {polls} polls"
        );
    }
}
