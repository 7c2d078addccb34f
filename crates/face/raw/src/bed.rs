//! Where threads of a port sleep: on its bell and, if it has a network tier, on the sources of its packets.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use bcl_os::wait::Core;
use bcl_tier::{Shared, WaitSet};

use crate::error::Error;

/// What threads sleep on. Needs no exclusive port, so that several can sleep at once.
#[derive(Debug, Clone)]
pub struct Bed {
    shared: Arc<Shared>,
    /// More than the bell, if there is more.
    wait_set: Option<Arc<dyn WaitSet>>,
    core: Arc<Core>,
}

impl Bed {
    pub(crate) fn new(shared: Arc<Shared>, wait_set: Option<Arc<dyn WaitSet>>) -> Self {
        Self {
            shared,
            wait_set,
            core: Arc::default(),
        }
    }

    /// What peers and the background threads share with the port.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What the waits so far have found out about the core that they ran on.
    #[inline]
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// A descriptor that is readable while something may have come.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>, Error> {
        let Some(wait_set) = &self.wait_set else {
            return Ok(self.shared.bell.as_fd());
        };
        wait_set.descriptor().map_err(|errno| Error::System {
            what: "making a descriptor for events",
            errno,
        })
    }

    /// Sleeps until the bell rings, a packet comes, a timer of the protocol has run off, or the time comes.
    pub fn sleep(&self, deadline: Option<Instant>) -> Result<(), Error> {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let slept = match &self.wait_set {
            Some(wait_set) => wait_set.sleep(left),
            None => self.shared.wait([], left).map(drop),
        };
        slept.map_err(|errno| Error::System {
            what: "waiting for the bell",
            errno,
        })
    }
}
