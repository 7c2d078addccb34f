//! Who makes operations go on: whoever reads a queue or a counter, or waits for it, looks at the endpoints whose operations end
//! there.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bcl_os::sync::{AtomicUsize, Ordering};
use bcl_os::wait::{Advice, Courtesy, Waiter};
use bcl_os::{Fd, cancel, ready};
use rustix::event::epoll;
use rustix::io::Errno;

use crate::call::Failure;
use crate::lock::Lock;
use crate::wait::{event, no_descriptor};

/// An endpoint, to the queues and counters that it is bound to.
pub trait Driver: Send + Sync {
    /// Looks at what has come, and tells of what has ended.
    fn drive(&self);

    /// A descriptor that is readable while there is something to look at, or may be.
    ///
    /// # Errors
    /// If none can be had.
    fn descriptor(&self) -> Result<Fd, Failure>;
}

/// The endpoints of one queue or counter.
pub struct Drivers {
    list: Lock<Vec<Listed>>,
    /// What threads sleep on, once one does.
    bed: OnceLock<Bed>,
    sleepers: AtomicUsize,
    courtesy: Courtesy,
}

/// One of them.
pub struct Listed {
    driver: Arc<dyn Driver>,
    /// Its descriptor, once it is in the bed.
    descriptor: Option<Fd>,
}

struct Bed {
    all: Fd,
    /// Readable when what threads wait for may have come by another thread's doing.
    nudge: Fd,
}

impl Drivers {
    /// Those of a list, which is empty, under a lock of the domain's.
    pub fn new(list: Lock<Vec<Listed>>) -> Self {
        Self {
            list,
            bed: OnceLock::new(),
            sleepers: AtomicUsize::new(0),
            courtesy: Courtesy::new(),
        }
    }

    /// One more.
    ///
    /// # Errors
    /// If it has no descriptor and somebody sleeps.
    pub fn add(&self, driver: Arc<dyn Driver>) -> Result<(), Failure> {
        self.list.with(|list| {
            let mut listed = Listed {
                driver,
                descriptor: None,
            };
            if let Some(bed) = self.bed.get() {
                listed.lie_down(bed)?;
            }
            list.push(listed);
            Ok(())
        })
    }

    /// One fewer.
    pub fn remove(&self, driver: &Arc<dyn Driver>) {
        let is_it = |listed: &Listed| {
            Arc::as_ptr(&listed.driver).cast::<()>() == Arc::as_ptr(driver).cast::<()>()
        };
        self.list.with(|list| list.retain(|listed| !is_it(listed)));
    }

    /// Looks at all of them.
    #[inline]
    pub fn drive(&self) {
        self.list
            .with(|list| list.iter().for_each(|listed| listed.driver.drive()));
    }

    /// A program has looked, and what it found was nothing. It will look again at once, over and over, even if the process that is
    /// to send something waits for this very core: so the core is given to that process now and then.
    #[inline]
    pub fn in_vain(&self) {
        self.courtesy.after_empty_poll();
    }

    /// It has found something.
    #[inline]
    pub fn with_success(&self) {
        self.courtesy.after_full_poll();
    }

    /// What is waited for may have come: wakes who sleeps.
    #[inline]
    pub fn nudge(&self) {
        // Who sleeps has said so before it looked for the last time, under the lock under which this came.
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            if let Some(bed) = self.bed.get() {
                // Refused only if it was nudged too often already.
                let _ = rustix::io::write(&bed.nudge, &1u64.to_ne_bytes());
            }
        }
    }

    /// Looks, at the endpoints and then for what is waited for, until that is found; `None` when the time has passed.
    ///
    /// # Errors
    /// If no descriptor to sleep on can be had.
    pub fn wait<R>(
        &self,
        timeout: Option<Duration>,
        mut look: impl FnMut() -> Option<R>,
    ) -> Result<Option<R>, Failure> {
        let _off = cancel::Off::new();
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let left = || until.map(|until| until.saturating_duration_since(Instant::now()));
        let mut waiter = Waiter::default();
        loop {
            self.drive();
            if let Some(found) = look() {
                return Ok(Some(found));
            }
            if left().is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            if waiter.after_empty_poll(self.courtesy.core(), || true) != Advice::Sleep {
                continue;
            }
            let bed = self.bed()?;
            self.sleepers.fetch_add(1, Ordering::Relaxed);
            self.drive();
            let found = look();
            if found.is_none() {
                let _ = ready::wait_for([bed.all.as_fd()], left());
                let _ = rustix::io::read(&bed.nudge, &mut [0; 8]);
            }
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
            if found.is_some() {
                return Ok(found);
            }
            waiter = Waiter::default();
        }
    }

    /// A descriptor that is readable while `bell` is, or while an endpoint may have something.
    ///
    /// # Errors
    /// If none can be had.
    pub fn descriptor(&self, bell: BorrowedFd<'_>) -> Result<BorrowedFd<'_>, Failure> {
        let bed = self.bed()?;
        match bed.enter(bell) {
            // It was asked for before.
            Ok(()) | Err(Errno::EXIST) => Ok(bed.all.as_fd()),
            Err(errno) => Err(no_descriptor(errno)),
        }
    }

    fn bed(&self) -> Result<&Bed, Failure> {
        if let Some(bed) = self.bed.get() {
            return Ok(bed);
        }
        self.list.with(|list| {
            if self.bed.get().is_none() {
                let bed = Bed::new().map_err(no_descriptor)?;
                for listed in list {
                    listed.lie_down(&bed)?;
                }
                let _ = self.bed.set(bed);
            }
            Ok::<(), Failure>(())
        })?;
        self.bed
            .get()
            .ok_or_else(|| no_descriptor(Errno::NOTRECOVERABLE))
    }
}

impl Listed {
    fn lie_down(&mut self, bed: &Bed) -> Result<(), Failure> {
        let descriptor = self.driver.descriptor()?;
        bed.enter(descriptor.as_fd()).map_err(no_descriptor)?;
        self.descriptor = Some(descriptor);
        Ok(())
    }
}

impl Bed {
    fn new() -> Result<Self, Errno> {
        let bed = Self {
            all: Fd::make(|| epoll::create(epoll::CreateFlags::CLOEXEC))?,
            nudge: event()?,
        };
        bed.enter(bed.nudge.as_fd())?;
        Ok(bed)
    }

    fn enter(&self, descriptor: BorrowedFd<'_>) -> Result<(), Errno> {
        let data = epoll::EventData::new_u64(0);
        epoll::add(&self.all, descriptor, data, epoll::EventFlags::IN)
    }
}
