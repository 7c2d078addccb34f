//! What `bcl_port *` points to: the port, and its lock unless the program promised not to need one.

use std::cell::UnsafeCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bcl_os::PerProcess;
use bcl_os::process::generation;
use bcl_raw::Error;
use bcl_raw::{RawPort, Region, RegionCache};

use crate::call::Failure;

/// "BCLport1", in the first word of every port.
const MAGIC: u64 = 0x3174_726f_704c_4342;

/// An open port and what the C API keeps beside it.
pub struct Open {
    pub raw: RawPort,
    pub cache: RegionCache,
    /// DMA buffers that windows lie in.
    pub windows: BTreeMap<u16, Arc<Region>>,
    /// Threads that wait for events.
    pub waiting: usize,
}

enum Lock {
    /// The program's promise stands for a lock.
    OneThread(UnsafeCell<Option<Open>>),
    Threads(Mutex<Option<Open>>),
}

/// `bcl_port`. Closed, it is an empty shell.
pub struct CPort {
    magic: u64,
    generation: u64,
    lock: Lock,
    /// Told when the last waiting thread has left a port that closes.
    left: Condvar,
}

impl CPort {
    pub fn new(raw: RawPort, one_thread: bool) -> Box<Self> {
        let open = Some(Open {
            raw,
            cache: RegionCache::default(),
            windows: BTreeMap::new(),
            waiting: 0,
        });
        Box::new(Self {
            magic: MAGIC,
            generation: generation(),
            lock: if one_thread {
                Lock::OneThread(UnsafeCell::new(open))
            } else {
                Lock::Threads(Mutex::new(open))
            },
            left: Condvar::new(),
        })
    }

    /// The port behind a pointer of the program's.
    ///
    /// # Safety
    /// If not null, `port` came from `bcl_open`. A port closed long ago is the program's mistake, which cannot always
    /// be noticed; see [`retire`].
    #[inline]
    pub unsafe fn check<'a>(port: *const Self) -> Result<&'a Self, Failure> {
        if port.is_null() || !port.is_aligned() {
            return Err(Failure::invalid("port is NULL, or not one of bcl_open's"));
        }
        // SAFETY: not null and aligned, and from `bcl_open` by the contract.
        let port = unsafe { &*port };
        if port.magic != MAGIC {
            return Err(Failure::invalid("port is not one of bcl_open's"));
        }
        // Before the lock: a thread of the parent may have held it at the time of the fork.
        if port.generation != generation() {
            return Err(Error::Forked.into());
        }
        Ok(port)
    }

    /// Runs `body` with the port if it is open, under the lock if there is one.
    #[inline]
    pub fn with<T>(
        &self,
        body: impl FnOnce(&mut Open) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match &self.lock {
            Lock::OneThread(open) => {
                // SAFETY: the program promised that no other thread is inside a call, and `body` makes none.
                body(unsafe { &mut *open.get() }.as_mut().ok_or(Error::Closed)?)
            }
            Lock::Threads(mutex) => body(lock(mutex).as_mut().ok_or(Error::Closed)?),
        }
    }

    /// The lock, if threads share the port.
    pub fn mutex(&self) -> Option<&Mutex<Option<Open>>> {
        match &self.lock {
            Lock::OneThread(_) => None,
            Lock::Threads(mutex) => Some(mutex),
        }
    }

    /// A thread that waited has left.
    pub fn leave(&self) -> Result<(), Failure> {
        self.with(|open| {
            open.waiting -= 1;
            Ok(())
        })?;
        self.left.notify_all();
        Ok(())
    }

    /// Closes the port, and frees what is inside when no thread waits in it any more.
    pub fn close(&self) -> Result<(), Failure> {
        let open = match &self.lock {
            // SAFETY: as in `with`.
            Lock::OneThread(open) => unsafe { &mut *open.get() }.take(),
            Lock::Threads(mutex) => {
                let mut open = lock(mutex);
                open.as_mut().ok_or(Error::Closed)?.raw.close()?;
                let waited =
                    |open: &mut Option<Open>| open.as_ref().is_some_and(|open| open.waiting > 0);
                let mut open = self
                    .left
                    .wait_while(open, waited)
                    .unwrap_or_else(PoisonError::into_inner);
                open.take()
            }
        };
        drop(open.ok_or(Error::Closed)?);
        Ok(())
    }
}

/// After a panic the port goes on as well as it can; the call that panicked has said so.
pub fn lock(mutex: &Mutex<Option<Open>>) -> MutexGuard<'_, Option<Open>> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shells of closed ports that are kept, so that a call on one is told so instead of reading memory that is
/// somebody else's by now.
const RETIRED_MAX: usize = 64;
static RETIRED: PerProcess<Mutex<VecDeque<Retired>>> = PerProcess::new(Mutex::default);

struct Retired(#[expect(dead_code, reason = "kept for its address")] Box<CPort>);

// SAFETY: a closed port is empty; nobody looks into it but to find that out.
unsafe impl Send for Retired {}

/// Frees a closed port's shell, but only when others have been closed after it.
///
/// # Safety
/// `port` came from `Box::into_raw`, is closed, and was not retired before.
pub unsafe fn retire(port: *mut CPort) {
    // SAFETY: by the contract.
    let port = Retired(unsafe { Box::from_raw(port) });
    let mut retired = RETIRED.get().lock().unwrap_or_else(PoisonError::into_inner);
    retired.push_back(port);
    if retired.len() > RETIRED_MAX {
        retired.pop_front();
    }
}
