//! Which tier reaches a peer: decided at first contact, kept until the peer is gone.

use std::collections::HashMap;

use bcl_types::Address;

/// What has been decided: whether the far tier reaches a peer.
#[derive(Debug, Default)]
pub struct Routes {
    kept: HashMap<Address, bool>,
    /// The one that was asked for last.
    last: Option<(Address, bool)>,
}

impl Routes {
    /// What has been decided on for this peer.
    #[inline]
    pub fn find(&mut self, peer: Address) -> Option<bool> {
        match self.last {
            Some((last, is_far)) if last == peer => Some(is_far),
            _ => {
                let is_far = *self.kept.get(&peer)?;
                self.last = Some((peer, is_far));
                Some(is_far)
            }
        }
    }

    /// The far tier reaches this peer, or the near one does.
    pub fn keep(&mut self, peer: Address, is_far: bool) {
        self.kept.insert(peer, is_far);
        self.last = Some((peer, is_far));
    }

    /// The peer is gone, or was never reached: whoever has its address next may be elsewhere.
    pub fn forget(&mut self, peer: Address) {
        self.kept.remove(&peer);
        self.last = None;
    }
}
