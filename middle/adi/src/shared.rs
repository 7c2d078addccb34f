//! The endpoint for many threads: the same calls, each under a lock; who waits sleeps outside it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_raw::slab::Id;
use bcl_raw::{Bed, HasPort, Options, Which, wait_unlocked};
use bcl_types::Address;

use crate::completion::{Completion, Probed};
use crate::endpoint::{ASKED_EACH, Endpoint};
use crate::engine::{OneSided, Receive, Send, Wanted};
use crate::error::Error;
use crate::guard::{Guard, Progress, Room};
use crate::memory::Memory;

/// An endpoint that threads share; clones are the same endpoint. Each completion goes to one of the threads that ask.
///
/// Unless it is to make progress by [hand](Progress::Manual), a thread of its own looks after it while the program computes: what
/// has met a receive goes on then, within a millisecond or two.
#[derive(Debug, Clone)]
pub struct SharedEndpoint {
    room: Arc<Room>,
    _guard: Arc<Guard>,
    bed: Bed,
    address: Address,
}

impl SharedEndpoint {
    /// Opens a port, and an endpoint on it.
    ///
    /// # Errors
    /// As [`Endpoint::open`], and if no thread can be had.
    pub fn open(options: Options, progress: Progress) -> Result<Self, Error> {
        let mut endpoint = Endpoint::open(options)?;
        let (bed, address) = (endpoint.port().bed(), endpoint.address());
        let room = Arc::new(Room::new(endpoint));
        let guard = Arc::new(Guard::start(Arc::clone(&room), progress)?);
        Ok(Self {
            room,
            _guard: guard,
            bed,
            address,
        })
    }

    /// Where others reach it.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Does something with the endpoint, which other threads do not use meanwhile.
    ///
    /// # Errors
    /// Those of `body`; or that it is the parent's.
    #[inline]
    pub fn with<R>(
        &self,
        body: impl FnOnce(&mut Endpoint) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.room.with(body)
    }

    /// As [`Endpoint::send`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn send(&self, send: Send) -> Result<(), Error> {
        // SAFETY: by the contract.
        self.room.with(|endpoint| unsafe { endpoint.send(send) })
    }

    /// As [`Endpoint::receive`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn receive(&self, receive: Receive) -> Result<(), Error> {
        // SAFETY: by the contract.
        self.room
            .with(|endpoint| unsafe { endpoint.receive(receive) })
    }

    /// As [`Endpoint::one_sided`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn one_sided(&self, asked: OneSided) -> Result<(), Error> {
        self.room
            // SAFETY: by the contract.
            .with(|endpoint| unsafe { endpoint.one_sided(asked) })
    }

    /// As [`Endpoint::cancel`].
    ///
    /// # Errors
    /// As there.
    pub fn cancel(&self, space: u8, context: u64) -> Result<(), Error> {
        self.room.with(|endpoint| endpoint.cancel(space, context))
    }

    /// As [`Endpoint::probe`].
    ///
    /// # Errors
    /// As there.
    pub fn probe(&self, wanted: &Wanted) -> Result<Option<Probed>, Error> {
        self.room.with(|endpoint| endpoint.probe(wanted))
    }

    /// As [`Endpoint::claim`].
    ///
    /// # Errors
    /// As there.
    pub fn claim(&self, wanted: &Wanted) -> Result<Option<(Probed, Id)>, Error> {
        self.room.with(|endpoint| endpoint.claim(wanted))
    }

    /// As [`Endpoint::receive_claimed`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn receive_claimed(
        &self,
        claim: Id,
        memory: Memory,
        context: (u64, u8),
    ) -> Result<(), Error> {
        self.room.with(|endpoint| {
            // SAFETY: by the contract.
            unsafe { endpoint.receive_claimed(claim, memory, context) }
        })
    }

    /// As [`Endpoint::discard_claimed`].
    ///
    /// # Errors
    /// As there.
    pub fn discard_claimed(&self, claim: Id) -> Result<(), Error> {
        self.room.with(|endpoint| endpoint.discard_claimed(claim))
    }

    /// As [`Endpoint::poll`].
    ///
    /// # Errors
    /// As there.
    pub fn poll(&self) -> Result<Option<Completion>, Error> {
        self.room.with(Endpoint::poll)
    }

    /// As [`Endpoint::wait`]; several threads may wait.
    ///
    /// # Errors
    /// As there.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<Option<Completion>, Error> {
        let _guest = self.room.enter()?;
        let locked = |act: &mut dyn FnMut(&mut Endpoint)| {
            // It does not fail: it was entered.
            let _ = self.room.with(|endpoint| {
                act(endpoint);
                Ok(())
            });
        };
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let patience = left.map_or(ASKED_EACH, |left| left.min(ASKED_EACH));
            let (which, poll) = (Which::Any, Endpoint::poll);
            let found = wait_unlocked(&self.bed, which, Some(patience), locked, poll)?;
            if found.is_some() || left == Some(patience) {
                return Ok(found);
            }
            self.room.with(Endpoint::ask_after_peers)?;
        }
    }

    /// A descriptor that is readable while there are completions, or may be: poll until there is none before sleeping on it.
    ///
    /// # Errors
    /// When the kernel gives no descriptor.
    pub fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        self.room.with(|endpoint| endpoint.fd().map(drop))?;
        Ok(self.bed.descriptor()?)
    }

    /// As [`Endpoint::close`]. Other threads' calls fail from then on.
    ///
    /// # Errors
    /// As there.
    pub fn close(&self, linger: Duration) -> Result<(), Error> {
        self.room.with(|endpoint| endpoint.close(linger))
    }
}
