//! Which tier reaches a peer: decided at first contact, kept until the peer is gone.

use std::collections::HashMap;

use bcl_tier::Tier;
use bcl_types::Address;

/// See the module.
#[derive(Debug, Default)]
pub struct Routes {
    kept: HashMap<Address, Tier>,
    /// The one that was asked for last.
    last: Option<(Address, Tier)>,
}

impl Routes {
    /// The tier that has been decided on.
    #[inline]
    pub fn find(&mut self, peer: Address) -> Option<Tier> {
        match self.last {
            Some((last, tier)) if last == peer => Some(tier),
            _ => {
                let tier = *self.kept.get(&peer)?;
                self.last = Some((peer, tier));
                Some(tier)
            }
        }
    }

    pub fn keep(&mut self, peer: Address, tier: Tier) {
        self.kept.insert(peer, tier);
        self.last = Some((peer, tier));
    }

    /// The peer is gone, or was never reached: whoever has its address next may be elsewhere.
    pub fn forget(&mut self, peer: Address) {
        self.kept.remove(&peer);
        self.last = None;
    }
}
