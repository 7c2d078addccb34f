//! Where threads of a port sleep: on its bell and, if it has one, on its network socket.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_device::Shared;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::error::Error;
use crate::net::Station;

/// See the module. Needs no exclusive port, so that several threads can sleep at once.
#[derive(Debug, Clone)]
pub struct Bed {
    shared: Arc<Shared>,
    station: Option<Arc<Station>>,
}

impl Bed {
    pub(crate) fn new(shared: Arc<Shared>, station: Option<Arc<Station>>) -> Self {
        Self { shared, station }
    }

    /// What peers and the service thread share with the port.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// A descriptor that is readable while something may have come.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>, Error> {
        let bell = self.shared.bell.as_fd();
        match &self.station {
            Some(station) => station.descriptor(bell),
            None => Ok(bell),
        }
    }

    /// Sleeps until the bell rings, a packet comes, a timer of the protocol has run off, or the time comes.
    pub fn sleep(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let slept = match &self.station {
            Some(station) => {
                station.while_asleep(|timer| self.poll(Some(station), earlier(left, timer)))
            }
            None => self.poll(None, left),
        };
        slept.map_err(|errno| Error::System {
            what: "waiting for the bell",
            errno,
        })
    }

    fn poll(&self, station: Option<&Station>, timeout: Option<Duration>) -> Result<(), Errno> {
        let bell = PollFd::from_borrowed_fd(self.shared.bell.as_fd(), PollFlags::IN);
        let timeout = timeout.map(|time| Timespec {
            tv_sec: time.as_secs().min(i32::MAX as u64) as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        let woken = match station {
            Some(station) => {
                let socket = PollFd::from_borrowed_fd(station.socket(), PollFlags::IN);
                rustix::event::poll(&mut [bell, socket], timeout.as_ref())
            }
            None => rustix::event::poll(&mut [bell], timeout.as_ref()),
        };
        match woken {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
