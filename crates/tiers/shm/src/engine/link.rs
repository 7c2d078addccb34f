//! An established connection: the rings, the peer's page and bell, and what may be done with the peer's memory.

use std::os::fd::AsFd;

use bcl_os::Fd;
use bcl_os::sleep::Ringer;
use bcl_os::sync::{self, Ordering, bump};
use bcl_os::{bell, fence};
use bcl_rings::pair::PairEnd;
use bcl_tier::page::{Counter, Page};
use rustix::io::Errno;

use crate::cma::PeerMemory;
use crate::service::CopyMode;

/// A connection of the port, never reused.
pub type LinkId = u64;

/// What the service thread hands over once two ports know and trust each other.
#[derive(Debug)]
pub struct Link {
    pub id: LinkId,
    pub pair: PairEnd,
    pub page: Page,
    pub ringer: Fd,
    /// Single copy, if it is permitted; else why not.
    pub memory: Result<PeerMemory, String>,
    pub copy_mode: CopyMode,
    pub segment_len_bytes: usize,
    /// The kernel says of the peer that it is of our user: it is shown the stage ([SHM-4.15]).
    pub is_of_own_user: bool,
    bell: Ringer,
}

impl Link {
    pub fn new(
        id: LinkId,
        pair: PairEnd,
        page: Page,
        ringer: Fd,
        segment_len_bytes: usize,
        copy_mode: CopyMode,
    ) -> Self {
        let needs_fence = page.senders_fence().load(Ordering::Relaxed) != 0 || !fence::register();
        Self {
            id,
            pair,
            page,
            ringer,
            memory: Err(String::new()),
            copy_mode,
            segment_len_bytes,
            is_of_own_user: false,
            bell: Ringer::new(needs_fence),
        }
    }

    /// Call after publishing cells: wakes the peer if it sleeps, once for each time it fell asleep ([SHM-6.2]).
    #[inline]
    pub fn after_cells(&mut self, counters: &Page) {
        if self.bell.after_cells(self.page.sleep_epoch()) {
            self.ring(counters);
        }
    }

    /// Call after writing the return line: wakes the peer if it sleeps and asked to be woken for that.
    #[inline]
    pub fn after_returns(&mut self, counters: &Page) {
        let wish = &self.pair.peer_wishes().returns;
        if self.bell.after_returns(self.page.sleep_epoch(), wish) {
            self.ring(counters);
        }
    }

    /// Whether the peer had begun to close by now: what was read of its memory may be anything then. The fence orders what is
    /// looked at after this, too.
    pub fn was_closing(&self) -> bool {
        sync::fence(Ordering::SeqCst);
        self.pair.peer_wishes().closing.load(Ordering::Acquire) != 0
    }

    /// How long messages are copied, for people.
    pub fn describe_copy(&self) -> String {
        match (&self.memory, self.copy_mode) {
            (Err(why), _) => format!("pipelined through shared memory: {why}"),
            (Ok(_), CopyMode::Single) => {
                "single copy (process_vm_readv), as asked for (BCL_COPY=single)".to_owned()
            }
            (Ok(_), _) => {
                "single copy (process_vm_readv) or shared memory, whichever is quicker".to_owned()
            }
        }
    }

    /// The kernel does not let us read the peer's memory any more.
    pub fn stop_reading(&mut self, errno: Errno) {
        self.memory = Err(format!("process_vm_readv stopped working: {errno}"));
    }

    #[cold]
    fn ring(&self, counters: &Page) {
        bump(counters.counter(Counter::BellsRung), 1);
        bell::ring(self.ringer.as_fd());
    }
}
