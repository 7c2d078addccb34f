//! Falling asleep without losing a message, at no cost to senders ([SHM-6]).
//!
//! Sleeper: say so, fence, look once more, sleep. Sender: publish, fence, look whether the receiver
//! sleeps. At least one of the two sees the other ([`crate::fence`] says who pays for it).

use crate::fence;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The sleeping half: one a port. Its epoch is odd while the port sleeps.
#[derive(Debug, Default)]
pub struct Sleeper {
    epoch: u64,
}

impl Sleeper {
    /// Falls asleep in the eyes of the senders. The caller has written its wishes before, looks at all
    /// its rings afterwards, and waits for the bell only if they are empty.
    ///
    /// False if this kernel has no fence for other processes: then senders must be told to fence.
    pub fn fall_asleep(&mut self, published: &AtomicU64) -> bool {
        debug_assert!(!self.is_asleep());
        self.epoch += 1;
        published.store(self.epoch, Ordering::Relaxed);
        fence::heavy()
    }

    /// Awake again: senders stop ringing. Silence the bell afterwards, not before, and poll after that.
    pub fn awake(&mut self, published: &AtomicU64) {
        debug_assert!(self.is_asleep());
        self.epoch += 1;
        published.store(self.epoch, Ordering::Relaxed);
    }

    /// Whether senders ring.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.epoch & 1 == 1
    }
}

/// The sending half: one a connection.
#[derive(Debug)]
pub struct Ringer {
    needs_fence: bool,
    rung_epoch: u64,
}

impl Ringer {
    /// `needs_fence` unless the peer can fence for us and we are registered for it.
    pub fn new(needs_fence: bool) -> Self {
        Self {
            needs_fence,
            rung_epoch: 0,
        }
    }

    /// Call after publishing cells: whether the bell has to be rung. True once for each time the peer
    /// fell asleep, so a burst of messages costs one system call.
    #[inline]
    pub fn after_cells(&mut self, peer_epoch: &AtomicU64) -> bool {
        fence::light(self.needs_fence);
        let epoch = peer_epoch.load(Ordering::Relaxed);
        self.sleeps_unrung(epoch) && self.rings(epoch)
    }

    /// Call after writing the return line: as [`after_cells`](Self::after_cells), if the peer wishes it.
    #[inline]
    pub fn after_returns(&mut self, peer_epoch: &AtomicU64, peer_wish: &AtomicU32) -> bool {
        fence::light(self.needs_fence);
        let epoch = peer_epoch.load(Ordering::Relaxed);
        self.sleeps_unrung(epoch) && peer_wish.load(Ordering::Relaxed) != 0 && self.rings(epoch)
    }

    #[inline]
    fn sleeps_unrung(&self, epoch: u64) -> bool {
        epoch & 1 == 1 && epoch != self.rung_epoch
    }

    #[cold]
    fn rings(&mut self, epoch: u64) -> bool {
        self.rung_epoch = epoch;
        true
    }
}
