//! Giving way while polling without end.

use std::time::{Duration, Instant};

use super::core::Core;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// For those who look again and again and never say that they wait, as MPI libraries do: the core is given away now and then, and
/// often if it is shared. Threads may share it.
#[derive(Debug)]
pub struct Courtesy {
    core: Core,
    /// In vain, since the last that found something or gave the core away.
    polls: AtomicU32,
    /// When one of the first of them was, after `began`; 0 if that was not looked at.
    since_ns: AtomicU64,
    began: Instant,
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
            core: Core::default(),
            polls: AtomicU32::new(0),
            since_ns: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    /// What has been found out about the core, for those who wait and say so.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Called after each poll that found something.
    #[inline]
    pub fn after_full_poll(&self) {
        self.begin_again();
    }

    /// Called after each poll that found nothing; returns late if others want the core.
    #[inline]
    pub fn after_empty_poll(&self) {
        // What is lost between threads that poll at once does not matter.
        let polls = self.polls.load(Ordering::Relaxed).wrapping_add(1);
        self.polls.store(polls, Ordering::Relaxed);
        if self.core.is_enough(polls, || self.passed()) {
            self.begin_again();
            self.core.give_away();
        }
    }

    #[inline]
    fn begin_again(&self) {
        self.polls.store(0, Ordering::Relaxed);
        self.since_ns.store(0, Ordering::Relaxed);
    }

    fn passed(&self) -> Duration {
        let now_ns = self.began.elapsed().as_nanos() as u64;
        match self.since_ns.load(Ordering::Relaxed) {
            0 => {
                self.since_ns.store(now_ns, Ordering::Relaxed);
                Duration::ZERO
            }
            since_ns => Duration::from_nanos(now_ns.saturating_sub(since_ns)),
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
        // As on a core that is believed to be free.
        let polls = YIELDS * 256;
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
