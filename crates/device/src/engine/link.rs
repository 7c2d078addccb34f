//! An established connection: the rings, the peer's page and bell, and what may be done with the peer's memory.

use std::os::fd::{AsFd, OwnedFd};

use bcl_shm::page::{Counter, Page};
use bcl_shm::pair::PairEnd;
use bcl_shm::sync::{Ordering, bump};
use bcl_shm::{bell, fence};

use super::upcalls::LinkId;
use crate::cma::PeerMemory;

/// What the service thread hands over once two ports know and trust each other.
#[derive(Debug)]
pub struct Link {
    pub id: LinkId,
    pub pair: PairEnd,
    pub page: Page,
    pub ringer: OwnedFd,
    /// Whether our stores must be fenced before we look if the peer sleeps.
    pub needs_fence: bool,
    /// Single copy, if it is permitted; else why not.
    pub memory: Result<PeerMemory, String>,
    pub segment_len_bytes: usize,
    rung_epoch: u64,
}

impl Link {
    pub fn new(
        id: LinkId,
        pair: PairEnd,
        page: Page,
        ringer: OwnedFd,
        segment_len_bytes: usize,
    ) -> Self {
        let needs_fence = page.senders_fence().load(Ordering::Relaxed) != 0 || !fence::register();
        Self {
            id,
            pair,
            page,
            ringer,
            needs_fence,
            memory: Err(String::new()),
            segment_len_bytes,
            rung_epoch: 0,
        }
    }

    /// Call after publishing cells: wakes the peer if it sleeps, once for each time it fell asleep ([SHM-6.2]).
    #[inline]
    pub fn after_cells(&mut self, counters: &Page) {
        fence::light(self.needs_fence);
        let epoch = self.page.sleep_epoch().load(Ordering::Relaxed);
        if epoch & 1 == 1 && epoch != self.rung_epoch {
            self.ring(epoch, counters);
        }
    }

    /// Call after writing the return line: wakes the peer if it sleeps and asked to be woken for that.
    #[inline]
    pub fn after_returns(&mut self, counters: &Page) {
        fence::light(self.needs_fence);
        let epoch = self.page.sleep_epoch().load(Ordering::Relaxed);
        if epoch & 1 == 1
            && epoch != self.rung_epoch
            && self.pair.peer_wishes().returns.load(Ordering::Relaxed) != 0
        {
            self.ring(epoch, counters);
        }
    }

    #[cold]
    fn ring(&mut self, epoch: u64, counters: &Page) {
        self.rung_epoch = epoch;
        bump(counters.counter(Counter::BellsRung), 1);
        bell::ring(self.ringer.as_fd());
    }
}
