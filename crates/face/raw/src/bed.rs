//! Where threads of a port sleep: on its bell and, if it has a network tier, on the sources of its packets.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use bcl_tier::Shared;
use bcl_tier_net::Station;

use crate::error::Error;

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
        let Some(station) = &self.station else {
            return Ok(self.shared.bell.as_fd());
        };
        station.descriptor().map_err(|errno| Error::System {
            what: "making a descriptor for events",
            errno,
        })
    }

    /// Sleeps until the bell rings, a packet comes, a timer of the protocol has run off, or the time comes.
    pub fn sleep(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let slept = match &self.station {
            Some(station) => station.sleep(left),
            None => self.shared.wait([], left).map(drop),
        };
        slept.map_err(|errno| Error::System {
            what: "waiting for the bell",
            errno,
        })
    }
}
