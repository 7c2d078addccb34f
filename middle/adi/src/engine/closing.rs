//! The last that an endpoint does ([ADI-6.4]): what is sent for the program leaves, and nothing is received any more.

use std::collections::BTreeMap;

use bcl_raw::slab::Id;
use bcl_types::Address;

use super::Engine;
use super::receiving::{Source, Wanted};
use crate::carrier::Carrier;
use crate::error::Error;
use crate::header::SPACES;

impl Engine {
    /// Whether there are messages here whose sends have ended for the program, or anything that is to be said or has not left.
    pub fn owes_messages(&self) -> bool {
        let has_queued = || self.peers.iter().any(|peer| peer.queued > 0);
        self.kept > 0 || self.is_behind() || has_queued()
    }

    /// How many such messages there are, by who is to have them. Counted anew, by looking at everything.
    pub fn owed(&self) -> BTreeMap<Address, usize> {
        let mut owed = BTreeMap::new();
        for (_, outgoing) in self.outgoing.iter() {
            if outgoing.kept.is_some() {
                *owed.entry(self.peers[outgoing.to].address).or_default() += 1;
            }
        }
        owed
    }

    /// Nobody will receive what waits for a receive, nor what was claimed: their senders need not wait for that.
    pub fn discard_all<C: Carrier>(&mut self, carrier: &mut C) -> Result<(), Error> {
        for space in 0..SPACES as u8 {
            let anything = Wanted {
                space,
                source: Source::Any,
                tag: 0,
                ignore: u64::MAX,
            };
            while self.claim(&anything)?.is_some() {}
        }
        let claims: Vec<Id> = self.claimed.iter().map(|(claim, _)| claim).collect();
        claims
            .into_iter()
            .try_for_each(|claim| self.discard_claimed(carrier, claim))
    }
}
