//! What a tier is: the calls that a port makes on each, the same for all.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use bcl_os::sync::Ordering;
use bcl_types::{Access, Address, OpId, SYSTEM_MAX};
use rustix::io::Errno;

use crate::handles::{LinkInfo, MessageId, NormalSend, SystemHandle, Target};
use crate::page::{Counter, Page};
use crate::rma::RmaOp;
use crate::upcalls::Upcalls;
use crate::window::WindowMemory;

/// Moves messages between a port and some of its peers. Its opening is its own business: each wants something else.
///
/// One thread at a time calls it; the port above sees to that. None of these calls blocks, but [`close`](Self::close), and
/// [`bind`](Self::bind) and [`unbind`](Self::unbind), which may wait for somebody else. What
/// comes of them, and what peers do, it tells by the [`Upcalls`] that it is handed. Calls are dispatched statically: a
/// message within a node takes 200 ns.
pub trait Tier {
    /// Whether there is a connection with this peer, or an attempt at one.
    fn knows(&mut self, peer: Address) -> bool;

    /// Whether a connection with this peer can be attempted.
    fn finds(&self, peer: Address) -> bool;

    /// Longest system message that this peer takes now; [`SYSTEM_MAX`] without a connection.
    fn system_max(&mut self, _to: Address, _up: &mut impl Upcalls) -> usize {
        SYSTEM_MAX
    }

    /// Sends a system message (at most [`system_max`](Self::system_max) bytes) and 64 bits with it, which makes contact
    /// if need be. True: it is on its way and no completion follows. False: a copy waits under the name that `name` gives
    /// it, and `sent` will be called.
    fn send_system<U: Upcalls>(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool;

    /// Longest unreliable message that this peer can be sent now.
    fn unreliable_max(&mut self, to: Address, up: &mut impl Upcalls) -> usize;

    /// Sends a message to the system channel now or not at all: false if it was dropped, for want of room or of a
    /// connection, which then is set up.
    ///
    /// # Errors
    /// The longest that this peer can be sent now, if this is longer; nothing has happened then.
    fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Upcalls,
    ) -> Result<bool, usize>;

    /// Sends on a normal channel; `sent` is called when it is complete.
    fn send_normal(&mut self, to: Address, send: NormalSend, up: &mut impl Upcalls);

    /// Takes back the oldest send on a normal channel to this peer that `wanted` picks of those of which nothing, not even
    /// an announcement, has left ([SEM-4.9]). True: `sent` has been called, with *canceled*. False: there is none.
    fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool;

    /// Starts a one-sided operation; `rma_done` is called when it is complete, perhaps before this returns.
    fn rma(&mut self, peer: Address, op: RmaOp, up: &mut impl Upcalls);

    /// Memory is about to be bound to a window: the tier has others serve it, if it can. Nobody has acted on it for a peer yet, and
    /// the program does not write it. Events may come of this meanwhile, and it takes a moment.
    fn bind(
        &mut self,
        _window: u16,
        _memory: &WindowMemory,
        _access: Access,
        _up: &mut impl Upcalls,
    ) {
    }

    /// Memory was unbound from a window: when this returns nobody acts on it for a peer of the tier's any more.
    fn unbind(&mut self, _window: u16, _up: &mut impl Upcalls) {}

    /// A buffer was posted for a message that waits. False if the message has gone meanwhile.
    fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Upcalls) -> bool;

    /// Gives a system message back. False if it was given back before.
    fn release(&mut self, message: &SystemHandle) -> bool;

    /// Looks at what has come. Returns whether anything moved.
    fn poll(&mut self, up: &mut impl Upcalls) -> bool;

    /// From now on what comes wakes who sleeps, until [`disarm`](Self::disarm). False: there was something to do after
    /// all, and it is not armed for certain.
    fn arm(&mut self, up: &mut impl Upcalls) -> bool;

    /// Whether what comes wakes who sleeps.
    fn is_armed(&self) -> bool;

    /// Nobody sleeps any more.
    fn disarm(&mut self);

    /// What threads sleep on besides the bell of the port, if there is anything.
    fn wait_set(&self) -> Option<Arc<dyn WaitSet>>;

    /// What is connected, for people.
    fn links(&self) -> Vec<(Address, LinkInfo)>;

    /// Adds its queue depths, and writes into the page what else `bcl stat` shows of it.
    fn publish(&self, depths: &mut Depths);

    /// Tells all peers, waits up to `linger` until they have what was sent to them, and gives everything back: nothing of
    /// the port's is touched any more.
    fn close(&mut self, linger: Duration);
}

/// The bell of a port and what else something comes by, to be slept on without holding the port.
pub trait WaitSet: std::fmt::Debug + Send + Sync {
    /// Sleeps until the bell rings, something has come, a timer of the tier has run off, or the time has passed. Several
    /// threads can sleep at once.
    ///
    /// # Errors
    /// What poll(2) says.
    fn sleep(&self, patience: Option<Duration>) -> Result<(), Errno>;

    /// A descriptor that is readable while there may be something.
    ///
    /// # Errors
    /// What the kernel says when it is made.
    fn descriptor(&self) -> Result<BorrowedFd<'_>, Errno>;
}

/// How much waits where in a port: sums over its tiers, written at once so that readers see no half of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depths {
    /// Sends that wait for room, a post or a connection.
    pub pending_sends: usize,
    /// Messages that have arrived and wait for a buffer.
    pub unexpected: usize,
    /// System messages that the program has not given back.
    pub unreleased: usize,
    /// Memory of connections.
    pub peer_memory_bytes: usize,
    /// Connections.
    pub peers: usize,
}

impl Depths {
    /// Where `bcl stat` reads them.
    pub fn store(&self, page: &Page) {
        for (counter, value) in [
            (Counter::PendingSends, self.pending_sends),
            (Counter::Unexpected, self.unexpected),
            (Counter::Unreleased, self.unreleased),
            (Counter::PeerMemory, self.peer_memory_bytes),
            (Counter::Peers, self.peers),
        ] {
            page.counter(counter).store(value as u64, Ordering::Relaxed);
        }
    }
}
