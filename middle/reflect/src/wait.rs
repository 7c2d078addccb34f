//! Waiting for words of a region ([REFLECT-4]).

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bcl_os::sync::Ordering;
use bcl_os::wait::{Advice, Core, Waiter};
use bcl_os::{fence, futex};

use crate::net::desk::Desk;
use crate::segment::{ANYWHERE, Segment};

/// Longest sleep where the kernel gives no fence for others: a writer that has not seen yet that it has to fence is missed by so
/// much.
const UNFENCED: Duration = Duration::from_millis(10);

/// How a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// The word has this value; of several, the first that has changed.
    Changed(u64),
    /// A member has ended, of which [`Region::news`](crate::Region::news) tells.
    MemberGone,
    /// The time is over.
    TimedOut,
}

/// How the threads of this process wait.
#[derive(Debug, Default)]
pub struct Bed {
    core: Core,
    sleepers: Mutex<u32>,
}

/// One wait.
pub struct Wait<'a> {
    pub segment: &'a Segment,
    pub member: u16,
    /// Where words lie, at multiples of 8, and what they are not to be.
    pub words: &'a [(u64, u64)],
    /// Ends of members that the program has been told of.
    pub ends_known: u32,
    /// Where packets come, if other hosts have the region.
    pub desk: Option<&'a Desk>,
}

impl Wait<'_> {
    /// Once, without waiting.
    fn look(&self) -> Waited {
        if let (None, Some(desk)) = (self.outcome(), self.desk) {
            desk.attend();
        }
        self.outcome().unwrap_or(Waited::TimedOut)
    }

    fn outcome(&self) -> Option<Waited> {
        let all = self.segment.words();
        for (offset, not) in self.words {
            let value = all[*offset as usize / size_of::<u64>()].load(Ordering::Acquire);
            if value != *not {
                return Some(Waited::Changed(value));
            }
        }
        // One's own end is among them.
        (self.segment.ends() != self.ends_known).then_some(Waited::MemberGone)
    }
}

impl Bed {
    /// Waits; `None` is for ever.
    pub fn wait(&self, wait: &Wait<'_>, timeout: Option<Duration>) -> Waited {
        if timeout == Some(Duration::ZERO) {
            return wait.look();
        }
        let mut waiter = Waiter::default();
        // Longer than the clock can count is for ever.
        let mut deadline = None;
        let mut attendance = None;
        loop {
            if let Some(outcome) = wait.outcome() {
                return outcome;
            }
            if let Some(desk) = wait.desk {
                attendance.get_or_insert_with(|| desk.come(wait.segment));
                desk.attend();
            }
            let advice = waiter.after_empty_poll(&self.core, || false);
            if advice == Advice::Again {
                std::hint::spin_loop();
                continue;
            }
            let now = Instant::now();
            let deadline = *deadline.get_or_insert_with(|| now.checked_add(timeout?));
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            if left == Some(Duration::ZERO) {
                return Waited::TimedOut;
            }
            if advice == Advice::Sleep {
                attendance = None;
                self.sleep(wait, left);
            }
        }
    }

    /// Returns when woken, or sooner.
    fn sleep(&self, wait: &Wait<'_>, left: Option<Duration>) {
        if let Some(desk) = wait.desk {
            desk.is_left(wait.segment);
        }
        let at = match wait.words {
            [(offset, _)] => *offset,
            _ => ANYWHERE,
        };
        let changes = {
            let mut sleepers = self.lock();
            *sleepers += 1;
            wait.segment.lie_down(wait.member, at, *sleepers == 1)
        };
        let seen = changes.load(Ordering::Acquire);
        let limit = match fence::heavy() {
            true => left,
            false => {
                wait.segment.have_all_fence();
                Some(left.map_or(UNFENCED, |left| left.min(UNFENCED)))
            }
        };
        if wait.outcome().is_none() {
            futex::sleep(changes, seen, limit);
        }
        let mut sleepers = self.lock();
        *sleepers -= 1;
        if *sleepers == 0 {
            wait.segment.rise(wait.member);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, u32> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
