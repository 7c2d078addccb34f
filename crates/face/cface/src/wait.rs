//! Waiting for events of a port that is inside a handle.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use bcl_raw::{Event, HasPort, Which, wait_unlocked};

use crate::handle::{Handle, Inside, Lock, Outcome, Shared};

impl<T: Inside + HasPort> Handle<T> {
    /// Waits until `take` says that it has enough, or until the time comes; `None` is never. `take` is asked first what there
    /// is already, and then given each event that comes; other threads use the object between two events.
    pub fn wait(
        &self,
        which: Which,
        deadline: Option<Instant>,
        take: impl FnMut(&mut T, Option<Event>) -> Outcome<T, bool>,
    ) -> Outcome<T, ()> {
        match &self.lock {
            Lock::OneThread(_) => self.wait_alone(which, deadline, take),
            Lock::Threads(mutex) => self.wait_among_threads(mutex, which, deadline, take),
        }
    }

    fn wait_alone(
        &self,
        which: Which,
        deadline: Option<Instant>,
        mut take: impl FnMut(&mut T, Option<Event>) -> Outcome<T, bool>,
    ) -> Outcome<T, ()> {
        self.with(|inside| {
            let mut enough = take(inside, None)?;
            while !enough {
                let Some(event) = inside.port().wait(which, left(deadline))? else {
                    break;
                };
                enough = take(inside, Some(event))?;
            }
            Ok(())
        })
    }

    fn wait_among_threads(
        &self,
        mutex: &Mutex<Shared<T>>,
        which: Which,
        deadline: Option<Instant>,
        mut take: impl FnMut(&mut T, Option<Event>) -> Outcome<T, bool>,
    ) -> Outcome<T, ()> {
        let entered = self.enter(mutex, |inside| {
            let enough = take(inside, None)?;
            Ok((!enough).then(|| inside.port().bed()))
        })?;
        let Some((bed, _guest)) = entered else {
            return Ok(());
        };
        loop {
            let locked = |act: &mut dyn FnMut(&mut T)| {
                // It does not fail: what a guest waits for stays.
                let _ = self.with(|inside| {
                    act(inside);
                    Ok(())
                });
            };
            let poll = |inside: &mut T| inside.port().poll(which);
            let event = wait_unlocked(&bed, which, left(deadline), locked, poll)?;
            let Some(event) = event else { return Ok(()) };
            if self.with(|inside| take(inside, Some(event)))? {
                return Ok(());
            }
        }
    }
}

fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}
