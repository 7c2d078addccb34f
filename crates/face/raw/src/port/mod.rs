//! A port without a lock: the tiers and the books.
//!
//! What it does is in the order of a message's way: `sending`, `posting`, `one_sided`, `events`.

mod events;
mod one_sided;
mod posting;
mod sending;

use std::sync::Arc;
use std::time::Duration;

use bcl_os::bell;
use bcl_os::sync::{AtomicU64, Ordering, bump};
use bcl_tier::page::Counter;
use bcl_tier::{LinkInfo, PIECES_MAX, Piece, Pieces};
use bcl_types::Address;

pub use posting::POSTS_MAX;

use crate::bed::Bed;
use crate::channels::Channels;
use crate::error::Error;
use crate::event::SystemMessage;
use crate::matcher::Matcher;
use crate::open::PortTiers;
use crate::state::State;

/// Operations under way, and completions not taken, that a port may have.
pub const QUEUE_DEPTH: usize = 4096;
const _: () = assert!(QUEUE_DEPTH <= bcl_tier_shm::DEFERRED_MAX);
/// How long a port that closes waits for peers on other nodes to take what it has sent them.
const LINGER: Duration = Duration::from_secs(3);

/// A port on raw memory, for one thread at a time ([SEM-1]). Callers vouch for the memory they give it; what keeps it where it
/// is can be handed along as a [`Buffer`](crate::Buffer), which comes back with the event.
///
/// No call blocks but [`wait`](Self::wait) and [`close`](Self::close).
#[derive(Debug)]
pub struct RawPort<M: Matcher = Channels> {
    tiers: PortTiers,
    state: State<M>,
    generation: u64,
    closed: bool,
    polls: u32,
    /// Threads asleep on the bell, and the program's own `epoll`, which counts as one: while there are any,
    /// the port stays armed, and rings its own bell when there are events for them.
    watchers: usize,
    descriptor_taken: bool,
    rang_myself: bool,
}

impl<M: Matcher> RawPort<M> {
    pub(crate) fn new(tiers: PortTiers, matcher: M) -> Self {
        Self {
            tiers,
            state: State::new(next_number(), matcher),
            generation: bcl_os::process::generation(),
            closed: false,
            polls: 0,
            watchers: 0,
            descriptor_taken: false,
            rang_myself: false,
        }
    }

    pub(crate) fn count(&self, counter: Counter) {
        bump(self.tiers.shared().page.counter(counter), 1);
    }

    /// Whether this port holds the message: another's may lie nowhere any more.
    pub fn holds(&self, message: &SystemMessage) -> bool {
        message.port == self.state.port
    }

    /// Where others reach the port.
    pub fn address(&self) -> Address {
        self.tiers.shared().address
    }

    /// What a thread needs to sleep until something comes, without holding the port.
    pub fn bed(&self) -> Bed {
        self.tiers.bed().clone()
    }

    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.generation != bcl_os::process::generation() {
            return Err(Error::Forked);
        }
        if self.closed {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Whether anything still happens on the port by itself.
    #[inline]
    fn check_background(&self) -> Result<(), Error> {
        match self.tiers.shared().failure() {
            None => Ok(()),
            Some(why) => Err(Error::Background(why.to_owned())),
        }
    }

    #[inline]
    fn check_room(&self) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        let posts = self.state.matcher.posted();
        if self.state.ops.len() - posts.min(self.state.ops.len()) + self.state.sends.len()
            >= QUEUE_DEPTH
        {
            return Err(Error::QueueFull { limit: QUEUE_DEPTH });
        }
        Ok(())
    }

    /// The matcher, which knows what is posted and what waits.
    pub fn matcher(&mut self) -> &mut M {
        &mut self.state.matcher
    }

    /// Connected peers, and how each is reached.
    pub fn peers(&self) -> Vec<(Address, LinkInfo)> {
        self.tiers.links()
    }

    fn report(&mut self) {
        self.tiers.publish();
        self.state.report_failures(&self.tiers.shared().page);
        let posted = self.state.matcher.posted() as u64;
        let page = &self.tiers.shared().page;
        page.counter(Counter::Posted)
            .store(posted, Ordering::Relaxed);
    }

    /// Gives everything back. In a forked child only memory is freed: the rest is the parent's.
    pub fn close(&mut self) -> Result<(), Error> {
        self.check()?;
        self.closed = true;
        self.tiers.close(LINGER);
        if self.watchers > 0 {
            // Nobody silences the bell any more: all who sleep on it wake, and find the port closed.
            bell::ring(self.tiers.shared().bell.ringer());
        }
        Ok(())
    }
}

impl<M: Matcher> Drop for RawPort<M> {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a table of pieces names.
///
/// # Safety
/// The table is kept for as long as the result is used.
unsafe fn memory_of(pieces: &Arc<[Piece]>) -> Result<Pieces, Error> {
    // SAFETY: by the contract.
    unsafe { Pieces::several(pieces) }.ok_or_else(|| {
        Error::invalid(format!(
            "{} pieces of memory: there can be at most {PIECES_MAX}, which together are no longer than memory",
            pieces.len()
        ))
    })
}

fn check_channel(channel: u16) -> Result<(), Error> {
    if channel == 0 {
        return Err(Error::invalid(
            "channel 0 is the system channel: normal channels are numbered from 1",
        ));
    }
    Ok(())
}

#[inline]
fn check_peer(peer: Address) -> Result<(), Error> {
    if peer.port == 0 {
        return Err(Error::invalid(format!(
            "{peer} is not the address of a port: port 0 does not exist"
        )));
    }
    Ok(())
}
