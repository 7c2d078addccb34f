//! The port for many threads: the same calls, each under a lock; waiting threads sleep outside it.

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bcl_types::{Access, Address};

use bcl_raw::{Bed, Buffer, Error, Event, RawPort, SystemMessage, Which, wait_unlocked};

use crate::port::{PeerInfo, Port};

/// A port that threads share; clones are the same port. It closes when the last clone is dropped.
///
/// Each event goes to one of the threads that ask. Operations of one thread begin in its order; those of
/// several threads have none among them.
#[derive(Debug, Clone)]
pub struct SharedPort {
    port: Arc<Mutex<Port>>,
    bed: Bed,
    generation: u64,
}

impl SharedPort {
    pub(crate) fn of(mut port: Port) -> Self {
        let bed = port.raw().bed();
        Self {
            port: Arc::new(Mutex::new(port)),
            bed,
            generation: bcl_os::process::generation(),
        }
    }

    /// In a forked child another thread's lock would never be given back, so that it is not asked for ([SEM-8.2]).
    fn lock(&self) -> Result<MutexGuard<'_, Port>, Error> {
        if self.generation != bcl_os::process::generation() {
            return Err(Error::Forked);
        }
        Ok(self.port.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`Port::address`].
    pub fn address(&self) -> Address {
        self.bed.shared().address
    }

    /// As [`Port::send_system`].
    pub fn send_system(&self, to: Address, data: &[u8], cookie: u64) -> Result<(), Error> {
        self.lock()?.send_system(to, data, cookie)
    }

    /// As [`Port::send_system_immediate`].
    pub fn send_system_immediate(
        &self,
        to: Address,
        data: &[u8],
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?
            .send_system_immediate(to, data, immediate, cookie)
    }

    /// As [`Port::send_unreliable`].
    pub fn send_unreliable(&self, to: Address, data: &[u8]) -> Result<(), Error> {
        self.lock()?.send_unreliable(to, data)
    }

    /// As [`Port::unreliable_max`].
    pub fn unreliable_max(&self, to: Address) -> Result<usize, Error> {
        self.lock()?.unreliable_max(to)
    }

    /// As [`Port::send`].
    pub fn send(
        &self,
        to: Address,
        channel: u16,
        data: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?.send(to, channel, data, cookie)
    }

    /// As [`Port::send_immediate`].
    pub fn send_immediate(
        &self,
        to: Address,
        channel: u16,
        data: impl Into<Buffer>,
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?
            .send_immediate(to, channel, data, immediate, cookie)
    }

    /// As [`Port::cancel_send`].
    pub fn cancel_send(&self, to: Address, cookie: u64) -> Result<(), Error> {
        self.lock()?.cancel_send(to, cookie)
    }

    /// As [`Port::post`].
    pub fn post(&self, channel: u16, into: impl Into<Buffer>, cookie: u64) -> Result<(), Error> {
        self.lock()?.post(channel, into, cookie)
    }

    /// As [`Port::cancel_post`].
    pub fn cancel_post(&self, channel: u16, cookie: u64) -> Result<(), Error> {
        self.lock()?.cancel_post(channel, cookie)
    }

    /// As [`Port::bind`].
    pub fn bind(
        &self,
        window: u16,
        memory: impl Into<Buffer>,
        access: Access,
    ) -> Result<(), Error> {
        self.lock()?.bind(window, memory, access)
    }

    /// As [`Port::unbind`].
    pub fn unbind(&self, window: u16) -> Result<Buffer, Error> {
        self.lock()?.unbind(window)
    }

    /// As [`Port::put`].
    pub fn put(
        &self,
        to: Address,
        window: u16,
        offset: u64,
        data: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?.put(to, window, offset, data, cookie)
    }

    /// As [`Port::get`].
    pub fn get(
        &self,
        from: Address,
        window: u16,
        offset: u64,
        into: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?.get(from, window, offset, into, cookie)
    }

    /// As [`Port::fetch_add`].
    pub fn fetch_add(
        &self,
        peer: Address,
        window: u16,
        offset: u64,
        value: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?.fetch_add(peer, window, offset, value, cookie)
    }

    /// As [`Port::compare_swap`].
    pub fn compare_swap(
        &self,
        peer: Address,
        window: u16,
        offset: u64,
        expected: u64,
        new: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.lock()?
            .compare_swap(peer, window, offset, expected, new, cookie)
    }

    /// As [`Port::poll`].
    pub fn poll(&self, which: Which) -> Result<Option<Event>, Error> {
        self.lock()?.poll(which)
    }

    /// As [`Port::wait`]; several threads may wait.
    pub fn wait(&self, which: Which, timeout: Option<Duration>) -> Result<Option<Event>, Error> {
        drop(self.lock()?);
        let locked = |act: &mut dyn FnMut(&mut RawPort)| {
            if let Ok(mut port) = self.lock() {
                act(port.raw());
            }
        };
        wait_unlocked(&self.bed, which, timeout, locked, |port| port.poll(which))
    }

    /// As [`Port::fd`].
    pub fn fd(&self) -> Result<BorrowedFd<'_>, Error> {
        self.lock()?.fd()?;
        self.bed.descriptor()
    }

    /// As [`Port::data`].
    pub fn data<'a>(&'a self, message: &'a SystemMessage) -> &'a [u8] {
        let is_held = |mut port: MutexGuard<'_, Port>| port.raw().holds(message);
        if message.is_empty() || !self.lock().is_ok_and(is_held) {
            return &[];
        }
        // SAFETY: as in `Port::data`; the port lives as long as its clones, one of which is borrowed.
        unsafe { std::slice::from_raw_parts(message.handle().start, message.len()) }
    }

    /// As [`Port::release`].
    pub fn release(&self, message: SystemMessage) -> Result<(), Error> {
        self.lock()?.release(message)
    }

    /// As [`Port::peers`].
    pub fn peers(&self) -> Vec<PeerInfo> {
        self.lock().map(|port| port.peers()).unwrap_or_default()
    }
}
