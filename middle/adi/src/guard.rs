//! Who looks after an endpoint while its program computes: independent progress ([ADI-7]).
//!
//! All that threads share is under one lock, and nothing is decided outside it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bcl_raw::{Error as PortError, generation, without_signals};

use crate::endpoint::Endpoint;
use crate::error::Error;

/// Who makes what is under way go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The program's calls, and a thread while it makes none.
    Automatic,
    /// The program's calls alone.
    Manual,
}

/// Between two looks at a program that makes no calls.
const TICK: Duration = Duration::from_millis(1);
/// ... and at one that makes calls.
const LONG_TICK: Duration = Duration::from_millis(4);

/// An endpoint under its lock.
#[derive(Debug)]
pub struct Room {
    inside: Mutex<Inside>,
    /// The thread has something to look after, or is to end.
    kick: Condvar,
    generation: u64,
}

#[derive(Debug)]
struct Inside {
    endpoint: Endpoint,
    /// Threads of the program that wait, and so look after it.
    guests: usize,
    /// The thread waits to be kicked.
    is_parked: bool,
    is_over: bool,
}

impl Room {
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            inside: Mutex::new(Inside {
                endpoint,
                guests: 0,
                is_parked: false,
                is_over: false,
            }),
            kick: Condvar::new(),
            generation: generation(),
        }
    }

    /// Does something with the endpoint.
    #[inline]
    pub fn with<R>(
        &self,
        body: impl FnOnce(&mut Endpoint) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut inside = self.lock()?;
        let result = body(&mut inside.endpoint);
        self.kick_if_needed(&inside);
        result
    }

    /// In a forked child another thread's lock would never be given back, so that it is not asked for.
    fn lock(&self) -> Result<MutexGuard<'_, Inside>, Error> {
        if self.generation != generation() {
            return Err(PortError::Forked.into());
        }
        Ok(self.inside.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn kick_if_needed(&self, inside: &Inside) {
        if inside.is_parked && inside.needs_guard() {
            self.kick.notify_one();
        }
    }

    /// A thread of the program begins to wait, until the guest is dropped.
    pub fn enter(&self) -> Result<Guest<'_>, Error> {
        self.lock()?.guests += 1;
        Ok(Guest(self))
    }
}

/// A thread that waits.
pub struct Guest<'a>(&'a Room);

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        if let Ok(mut inside) = self.0.lock() {
            inside.guests -= 1;
            self.0.kick_if_needed(&inside);
        }
    }
}

impl Inside {
    fn needs_guard(&self) -> bool {
        self.is_over || self.guests == 0 && self.endpoint.has_pending()
    }
}

/// The thread, which ends with this.
#[derive(Debug)]
pub struct Guard {
    room: Arc<Room>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Starts the thread, if one is wanted.
    pub fn start(room: Arc<Room>, progress: Progress) -> Result<Self, Error> {
        let thread = match progress {
            Progress::Manual => None,
            Progress::Automatic => {
                let room = Arc::clone(&room);
                let started = without_signals("bcl-adi", move || room.look_after());
                Some(started.map_err(Error::NoThread)?)
            }
        };
        Ok(Self { room, thread })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The thread is the parent's in a forked child.
        if let (Ok(mut inside), Some(thread)) = (self.room.lock(), self.thread.take()) {
            inside.is_over = true;
            self.room.kick.notify_one();
            drop(inside);
            let _ = thread.join();
        }
    }
}

impl Room {
    /// What the thread does.
    fn look_after(&self) {
        let Ok(mut inside) = self.lock() else { return };
        let mut tick = LONG_TICK;
        while !inside.is_over {
            if !inside.needs_guard() {
                inside.is_parked = true;
                inside = self
                    .kick
                    .wait(inside)
                    .unwrap_or_else(PoisonError::into_inner);
                inside.is_parked = false;
                tick = LONG_TICK;
                continue;
            }
            let turns = inside.endpoint.turns();
            let waited = self.kick.wait_timeout(inside, tick);
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
            let is_looked_after = inside.endpoint.turns() != turns;
            tick = if is_looked_after { LONG_TICK } else { TICK };
            if !is_looked_after && inside.needs_guard() && !inside.is_over {
                // What fails here fails in the program's next call too.
                let _ = inside.endpoint.stand_in();
            }
        }
    }
}
