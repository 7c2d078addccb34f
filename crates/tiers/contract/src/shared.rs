//! What a port's program and the background threads of its tiers have in common.

use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::page::Page;
use bcl_os::bell::{self, Bell};
use bcl_os::sync::{Ordering, fence};
use bcl_types::Address;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::window::WindowTable;

/// See the module.
#[derive(Debug)]
pub struct Shared {
    /// The port's address.
    pub address: Address,
    /// What everybody may read.
    pub page: Page,
    /// Rung by peers, and by threads, while the port sleeps.
    pub bell: Bell,
    windows: Mutex<WindowTable>,
    failure: OnceLock<String>,
}

impl Shared {
    /// A port without windows.
    pub fn new(address: Address, page: Page, bell: Bell) -> Self {
        Self {
            address,
            page,
            bell,
            windows: Mutex::default(),
            failure: OnceLock::new(),
        }
    }

    /// Why the port is of no use any more, if a background thread of it has died.
    #[inline]
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// The port is of no use from now on; who sleeps on it wakes. The first reason counts.
    pub(crate) fn fail(&self, why: String) {
        let _ = self.failure.set(why);
        self.wake();
    }

    /// The port's windows; held by a thread while it acts on one for a peer.
    pub fn windows(&self) -> MutexGuard<'_, WindowTable> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings the port's own bell if it sleeps. What it is to find must have been stored before.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.page.sleep_epoch().load(Ordering::Relaxed) & 1 == 1 {
            bell::ring(self.bell.ringer());
        }
    }

    /// Waits until the bell rings, or one of `others` is readable; false on timeout. Several threads can wait together.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn wait<'a>(
        &'a self,
        others: impl IntoIterator<Item = BorrowedFd<'a>>,
        timeout: Option<Duration>,
    ) -> Result<bool, Errno> {
        wait_for([self.bell.as_fd()].into_iter().chain(others), timeout)
    }

    /// Whether somebody has rung since the bell was silenced.
    pub fn was_rung(&self) -> bool {
        let mut bell = [PollFd::from_borrowed_fd(self.bell.as_fd(), PollFlags::IN)];
        poll(&mut bell, Some(Duration::ZERO)).unwrap_or(true)
    }
}

/// Waits until one of some descriptors is readable, or a signal comes; false on timeout.
///
/// # Errors
/// What poll(2) says.
pub fn wait_for<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    timeout: Option<Duration>,
) -> Result<bool, Errno> {
    let mut fds: Vec<_> = descriptors
        .into_iter()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    poll(&mut fds, timeout)
}

/// True if something is readable, or a signal came.
fn poll(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<bool, Errno> {
    let timeout = timeout.map(|time| Timespec {
        tv_sec: time.as_secs().min(i32::MAX as u64) as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    match rustix::event::poll(fds, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(errno) => Err(errno),
    }
}
