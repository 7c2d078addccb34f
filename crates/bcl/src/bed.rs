//! Where threads of a port sleep: on its bell and, if it has one, on its network socket.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_port::Shared;

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
            Some(station) => station.while_asleep(|timer| {
                let timeout = earlier(left, timer);
                self.shared.wait(&[station.socket()], timeout)
            }),
            None => self.shared.wait(&[], left),
        };
        slept.map(drop).map_err(|errno| Error::System {
            what: "waiting for the bell",
            errno,
        })
    }
}

fn earlier(a: Option<Duration>, b: Option<Duration>) -> Option<Duration> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
