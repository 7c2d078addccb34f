//! The port for one thread at a time: exclusive access is checked by the compiler and costs nothing.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use bcl_raw::{Action, Atomic, Buffer, Error, Event, RawPort, SystemMessage, Which};
use bcl_types::{Access, Address, Device};

use crate::options::PortOptions;
use crate::window::WindowView;

/// What is connected to a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerInfo {
    /// Who.
    pub address: Address,
    /// What moves the messages.
    pub device: Device,
    /// How long messages are copied, and why so.
    pub copy: String,
}

/// A port: an address, channels, and event queues ([SEM-1]).
///
/// A port makes progress inside calls on it, whichever they are. A send to a peer it has not met yet leaves when the
/// connection is there, which is a moment later: wait for its completion, or go on polling, before doing something
/// else for long.
///
/// No call blocks but [`wait`](Self::wait) and [`close`](Self::close) (which waits for the background thread, not
/// for peers). Operations carry a cookie and complete with an event.
#[derive(Debug)]
pub struct Port {
    raw: RawPort,
    windows: BTreeMap<u16, Buffer>,
}

impl Port {
    pub(crate) fn of(raw: RawPort) -> Self {
        Self {
            raw,
            windows: BTreeMap::new(),
        }
    }

    pub(crate) fn raw(&mut self) -> &mut RawPort {
        &mut self.raw
    }

    /// Opens a port with everything at its default.
    pub fn open() -> Result<Self, Error> {
        PortOptions::new().open()
    }

    /// Settings to open a port with.
    pub fn options() -> PortOptions {
        PortOptions::new()
    }

    /// Where others reach the port.
    pub fn address(&self) -> Address {
        self.raw.address()
    }

    /// Sends at most [`SYSTEM_MAX`](crate::SYSTEM_MAX) bytes to the peer's system channel; they are copied
    /// before this returns ([SEM-4.1]).
    #[inline]
    pub fn send_system(&mut self, to: Address, data: &[u8], cookie: u64) -> Result<(), Error> {
        self.raw.send_system(to, data, 0, cookie)
    }

    /// As [`send_system`](Self::send_system), with 64 bits of our own, which the receiver finds in the message
    /// ([`SystemMessage::immediate`](crate::SystemMessage::immediate)). 0 is what messages without them have. [SEM-4.8]
    #[inline]
    pub fn send_system_immediate(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.raw.send_system(to, data, immediate, cookie)
    }

    /// Sends to the peer's system channel, where it arrives as a system message does, at most once, intact, or not at
    /// all ([SEM-4.7]). Nobody is told which, and it never waits: it is dropped if the peer is not connected yet
    /// (which sets the connection up) or has no room.
    #[inline]
    pub fn send_unreliable(&mut self, to: Address, data: &[u8]) -> Result<(), Error> {
        self.raw.send_unreliable(to, data)
    }

    /// Longest message that [`send_unreliable`](Self::send_unreliable) takes for this peer at this moment: one packet,
    /// if it is on another node. How long packets may be is known once the peer is connected, and changes with the way.
    pub fn unreliable_max(&mut self, to: Address) -> Result<usize, Error> {
        self.raw.unreliable_max(to)
    }

    /// Sends a message of any length on a normal channel (1 to 65535). It goes into a buffer that the peer
    /// posts there; the memory comes back with [`Event::Sent`]. Messages meet buffers in order, but a short one may be
    /// complete before a long one that met its buffer earlier ([SEM-4.2]).
    #[inline]
    pub fn send(
        &mut self,
        to: Address,
        channel: u16,
        data: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.send_immediate(to, channel, data, 0, cookie)
    }

    /// As [`send`](Self::send), with 64 bits of our own, which come with the receiver's
    /// [`Event::Received`]. 0 is what messages without them have. [SEM-4.8]
    #[inline]
    pub fn send_immediate(
        &mut self,
        to: Address,
        channel: u16,
        data: impl Into<Buffer>,
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        let buffer = data.into();
        let source = buffer.source();
        // SAFETY: the operation owns the buffer until it completes, and moving it does not move its bytes.
        let sent = unsafe {
            self.raw
                .send(to, channel, source, immediate, Some(buffer), cookie)
        };
        sent.map(drop)
    }

    /// Takes back the oldest send to this peer with this cookie, on a normal channel, that has not begun; it ends with
    /// [`OpError::Canceled`](crate::OpError::Canceled), and its message never arrives.
    ///
    /// A send has begun once a byte of the message has left, or the announcement of a long one, whether or not the receiver
    /// has a buffer for it: then it goes on, and this is [`Error::NotFound`]. What waits for a connection, or behind others
    /// for room, has not. [SEM-4.9]
    pub fn cancel_send(&mut self, to: Address, cookie: u64) -> Result<(), Error> {
        self.raw.cancel_send(to, cookie)
    }

    /// Posts a buffer for one message on a normal channel, from whichever peer; it comes back with
    /// [`Event::Received`], its length unchanged. Buffers meet messages in order; they need not come back in order
    /// ([SEM-4.2]).
    #[inline]
    pub fn post(
        &mut self,
        channel: u16,
        into: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        let mut buffer = into.into();
        let bytes = buffer.as_mut_slice();
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: as in `send`.
        unsafe { self.raw.post(channel, start, len, Some(buffer), cookie) }
    }

    /// Takes back the oldest post with this cookie that no message has met; it ends with
    /// [`OpError::Canceled`](crate::OpError::Canceled).
    pub fn cancel_post(&mut self, channel: u16, cookie: u64) -> Result<(), Error> {
        self.raw.cancel_post(channel, cookie)
    }

    /// Binds memory to an open channel (0 to 4095): from now on peers reach it as `access` says ([SEM-5.1]).
    pub fn bind(
        &mut self,
        window: u16,
        memory: impl Into<Buffer>,
        access: Access,
    ) -> Result<(), Error> {
        let mut buffer = memory.into();
        let bytes = buffer.as_mut_slice();
        let (start, len) = (bytes.as_mut_ptr(), bytes.len());
        // SAFETY: the port keeps the buffer until it is unbound, and only gives out a view of it.
        unsafe { self.raw.bind(window, start, len, access)? };
        self.windows.insert(window, buffer);
        Ok(())
    }

    /// Ends a window and gives its memory back.
    pub fn unbind(&mut self, window: u16) -> Result<Buffer, Error> {
        self.raw.unbind(window)?;
        self.windows
            .remove(&window)
            .ok_or_else(|| Error::NotFound(format!("open channel {window} has no memory")))
    }

    /// A view of a bound window, for the owner, while peers act on it.
    pub fn window(&mut self, window: u16) -> Result<WindowView<'_>, Error> {
        match self.windows.get_mut(&window) {
            Some(buffer) => Ok(WindowView::of(buffer)),
            None => Err(Error::NotFound(format!(
                "open channel {window} has no memory bound to it"
            ))),
        }
    }

    /// Writes to a peer's window; completes with [`Event::RmaDone`] when the data is there.
    #[inline]
    pub fn put(
        &mut self,
        to: Address,
        window: u16,
        offset: u64,
        data: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        let buffer = data.into();
        let bytes = buffer.as_slice();
        let action = Action::Put {
            from: bytes.as_ptr(),
            len_bytes: bytes.len(),
        };
        // SAFETY: as in `send`.
        unsafe {
            self.raw
                .rma(to, window, offset, action, Some(buffer), cookie)
        }
    }

    /// Reads from a peer's window, as many bytes as the buffer has.
    #[inline]
    pub fn get(
        &mut self,
        from: Address,
        window: u16,
        offset: u64,
        into: impl Into<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        let mut buffer = into.into();
        let bytes = buffer.as_mut_slice();
        let action = Action::Get {
            to: bytes.as_mut_ptr(),
            len_bytes: bytes.len(),
        };
        // SAFETY: as in `send`.
        unsafe {
            self.raw
                .rma(from, window, offset, action, Some(buffer), cookie)
        }
    }

    /// Adds to a 64-bit word of a peer's window; the event brings what was there.
    #[inline]
    pub fn fetch_add(
        &mut self,
        peer: Address,
        window: u16,
        offset: u64,
        value: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        // SAFETY: no memory of ours is involved.
        unsafe {
            self.raw.rma(
                peer,
                window,
                offset,
                Action::Atomic(Atomic::FetchAdd(value)),
                None,
                cookie,
            )
        }
    }

    /// Stores `new` into a 64-bit word of a peer's window if it is `expected`; the event brings what was there.
    #[inline]
    pub fn compare_swap(
        &mut self,
        peer: Address,
        window: u16,
        offset: u64,
        expected: u64,
        new: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        let action = Action::Atomic(Atomic::CompareSwap { expected, new });
        // SAFETY: no memory of ours is involved.
        unsafe { self.raw.rma(peer, window, offset, action, None, cookie) }
    }

    /// Takes an event if there is one; makes no system call unless [`fd`](Self::fd) was called before.
    #[inline]
    pub fn poll(&mut self, which: Which) -> Result<Option<Event>, Error> {
        self.raw.poll(which)
    }

    /// Waits for an event: spins, then yields, then sleeps. `Ok(None)` when the time is over.
    pub fn wait(
        &mut self,
        which: Which,
        timeout: Option<Duration>,
    ) -> Result<Option<Event>, Error> {
        self.raw.wait(which, timeout)
    }

    /// A descriptor that is readable while there may be events; take events until there are none before
    /// waiting on it again ([SEM-3.3]).
    pub fn fd(&mut self) -> Result<BorrowedFd<'_>, Error> {
        self.raw.fd()
    }

    /// A system message, where it lies. Its sender could still change it: copy before checking what must
    /// not change ([SEM-4.1]). Empty for a message of another port, which may lie nowhere any more.
    pub fn data<'a>(&'a self, message: &'a SystemMessage) -> &'a [u8] {
        if message.is_empty() || !self.raw.holds(message) {
            return &[];
        }
        // SAFETY: this port holds the message, and keeps it where it lies until it is released, which takes it
        // by value, or the port is closed, which is borrowed.
        unsafe { std::slice::from_raw_parts(message.handle().start, message.len()) }
    }

    /// Gives a system message back.
    #[inline]
    pub fn release(&mut self, message: SystemMessage) -> Result<(), Error> {
        self.raw.release(message.handle()).map(drop)
    }

    /// Connected peers, and how each is reached.
    pub fn peers(&self) -> Vec<PeerInfo> {
        let peers = self.raw.peers().into_iter();
        peers
            .map(|(address, info)| PeerInfo {
                address,
                device: info.device,
                copy: info.copy,
            })
            .collect()
    }

    /// Gives everything back; what is not complete is abandoned. What has left for other nodes is seen through first, so that
    /// a peer there that takes nothing holds this up, for at most 3 s. Dropping the port does the same. [SEM-7.1]
    pub fn close(mut self) -> Result<(), Error> {
        self.raw.close()
    }
}

const _: fn() = || {
    fn sent_to_threads<T: Send>() {}
    fn shared_by_threads<T: Send + Sync>() {}
    sent_to_threads::<Port>();
    shared_by_threads::<crate::SharedPort>();
};
