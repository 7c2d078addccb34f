//! The books of an endpoint: receives and messages, credits, what is under way. No memory is touched but the program's, no
//! clock read, no call made but on the [`Carrier`](crate::carrier::Carrier), so that all of it runs on a model as well.
//!
//! In the order of a message's way: `sending`, `arriving`, `receiving`, `tasks`, `pushing`, and `ending`. What they hold meanwhile
//! is in `meeting`, `multi` and `in_order`. What needs no receive is in `one_sided`. Who is waited for in vain is asked after in `patience`.
//! What an endpoint that closes still has to do is in `closing`.

mod arriving;
mod closing;
mod depths;
mod ending;
mod in_order;
mod meeting;
mod multi;
mod one_sided;
mod patience;
mod probing;
mod pushing;
mod receiving;
mod sending;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use bcl_raw::slab::Slab;
use bcl_types::{Address, LONG_SYSTEM_MAX};

use crate::completion::{Completion, Ended};
use crate::credit::Budget;
use crate::header::SPACES;
use crate::matching::{PeerNumber, Posted, Seeded, Unexpected};
use crate::peers::Peers;
use crate::regions::Regions;

use meeting::Whereabouts;

pub use depths::Depths;
pub(crate) use in_order::InOrder;
pub use one_sided::{OneSided, What};
pub(crate) use one_sided::{Reply, Request};
pub use receiving::{Receive, Source, Wanted};
pub use sending::{Send, When};

/// Everything that an endpoint knows: its books, for whoever has a port of another kind. What the port has to tell goes to
/// [`arrived`](Self::arrived), [`body_received`](Self::body_received), [`system_sent`](Self::system_sent),
/// [`body_sent`](Self::body_sent), [`peer_up`](Self::peer_up) and [`peer_gone`](Self::peer_gone); where it has room again,
/// [`catch_up`](Self::catch_up) uses it; once a second or so, [`ask_after_peers`](Self::ask_after_peers) is to be called.
#[derive(Debug)]
pub struct Engine {
    address: Address,
    peers: Peers,
    spaces: [Space; SPACES],
    /// Messages that were announced and have not gone.
    outgoing: Slab<sending::Outgoing>,
    /// Of these, bodies that nobody has asked for.
    unasked: usize,
    /// Messages that have met a receive and are not here yet, and what else comes so.
    incoming: Slab<meeting::Incoming>,
    /// Messages that come as DATA and are not here yet, by their senders' names.
    announced: HashMap<(PeerNumber, u64), Whereabouts, Seeded>,
    /// Counts what was announced so: whose turn it is first is pushed first.
    last_turn: u64,
    claimed: Slab<meeting::Claimed>,
    multis: Slab<multi::Multi>,
    /// Memory that peers may use.
    regions: Arc<Regions>,
    /// One-sided operations that have no answer yet, of all peers.
    requests: usize,
    /// Peers with a backlog.
    waiting: VecDeque<PeerNumber>,
    /// Peers that were waited for when they were last asked after.
    awaited: BTreeSet<PeerNumber>,
    completions: VecDeque<Completion>,
    budget: Budget,
    /// What is kept, so that programs need not; and its bytes.
    kept: usize,
    kept_bytes: usize,
    scratch: Box<[u8; LONG_SYSTEM_MAX]>,
    /// Of atomic operations.
    elements: Vec<u8>,
}

/// Where receives and messages meet.
#[derive(Debug, Default)]
struct Space {
    posted: Posted<meeting::Waiting>,
    unexpected: Unexpected<meeting::Message>,
}

impl Engine {
    /// That of an endpoint with this address. Its names for messages begin at `first_name`, drawn at random: an endpoint that
    /// had the address before has used others, of which bodies may still be told ([ADI-2.2]).
    pub fn new(address: Address, first_name: u32) -> Self {
        Self {
            address,
            peers: Peers::default(),
            spaces: Default::default(),
            outgoing: Slab::starting(first_name),
            incoming: Slab::default(),
            announced: HashMap::default(),
            last_turn: 0,
            claimed: Slab::default(),
            multis: Slab::default(),
            waiting: VecDeque::new(),
            awaited: BTreeSet::new(),
            completions: VecDeque::new(),
            budget: Budget::default(),
            unasked: 0,
            kept: 0,
            kept_bytes: 0,
            scratch: Box::new([0; LONG_SYSTEM_MAX]),
            elements: Vec::new(),
            regions: Arc::default(),
            requests: 0,
        }
    }

    /// The memory that peers may use.
    pub fn regions(&self) -> &Arc<Regions> {
        &self.regions
    }

    /// Peers may use the same memory as those of other endpoints.
    pub fn share_regions(&mut self, regions: Arc<Regions>) {
        self.regions = regions;
    }

    /// What has ended and was not taken yet.
    #[inline]
    pub fn next_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The first of these, which stays.
    #[inline]
    pub fn first_completion(&self) -> Option<&Completion> {
        self.completions.front()
    }

    /// Whether there is such.
    #[inline]
    pub fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// Whether anything is under way, or waited for. While memory is exposed, peers are.
    pub fn has_pending(&self) -> bool {
        let is_posted = |space: &Space| space.posted.len() > 0;
        self.requests > 0
            || !self.regions.is_empty()
            || !self.outgoing.is_empty()
            || !self.incoming.is_empty()
            || !self.waiting.is_empty()
            || self.spaces.iter().any(is_posted)
    }
}
