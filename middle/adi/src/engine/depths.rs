//! How full the books are.

use super::Engine;
use super::meeting::{Lies, Message};
use crate::credit::BUDGET_BYTES;

/// What the books of an endpoint hold at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Depths {
    /// Receives that no message has met.
    pub posted: usize,
    /// Messages that no receive has met, and nobody has claimed.
    pub unexpected: usize,
    /// Those that were claimed.
    pub claimed: usize,
    /// Bytes of both, as far as they are here.
    pub unexpected_bytes: usize,
    /// Messages that were announced and have not gone.
    pub outgoing: usize,
    /// Of these, short ones that go when they are asked for or there is credit.
    pub held: usize,
    /// Bytes kept of those whose memory is the program's again.
    pub kept_bytes: usize,
    /// Messages that have met a receive and are not here yet.
    pub incoming: usize,
    /// Short messages that were announced by peers and are not here yet, whether they have met a receive or not.
    pub announced: usize,
    /// One-sided operations that have no answer yet.
    pub requests: usize,
    /// Answers to those of peers that have not left, and bodies under way for them.
    pub served: usize,
    /// Multi-receive buffers that are not the program's again.
    pub buffers: usize,
    /// Peers to which something is to be said.
    pub backlogs: usize,
    /// What peers have been granted, all together.
    pub granted_bytes: usize,
    /// What they are charged, of that, for messages that have met no receive.
    pub charged_bytes: usize,
    /// Peers of which nothing is believed any more ([ADI-2.3]).
    pub faults: usize,
}

impl Engine {
    /// How full they are. Counted anew, by looking at everything.
    pub fn depths(&self) -> Depths {
        let spaces = &self.spaces;
        let waiting = spaces.iter().flat_map(|space| space.unexpected.values());
        let claimed = self.claimed.iter().map(|(_, claimed)| &claimed.message);
        let peers = self.peers.iter();
        Depths {
            posted: spaces.iter().map(|space| space.posted.len()).sum(),
            unexpected: spaces.iter().map(|space| space.unexpected.len()).sum(),
            claimed: self.claimed.len(),
            unexpected_bytes: waiting.chain(claimed).map(bytes_here).sum(),
            outgoing: self.outgoing.len(),
            held: peers.clone().map(|peer| peer.held.len()).sum(),
            kept_bytes: self.kept_bytes,
            incoming: self.incoming.len(),
            announced: self.announced.len(),
            requests: self.requests,
            served: peers
                .clone()
                .map(|peer| peer.replies.len() + peer.served as usize)
                .sum(),
            buffers: self.multis.len(),
            backlogs: self.waiting.len(),
            granted_bytes: (BUDGET_BYTES - self.budget.left()) as usize,
            charged_bytes: peers
                .clone()
                .map(|peer| peer.grant.charged() as usize)
                .sum(),
            faults: peers.filter(|peer| peer.fault.is_some()).count(),
        }
    }
}

fn bytes_here(message: &Message) -> usize {
    match &message.lies {
        Lies::Here(bytes, _) => bytes.len(),
        Lies::There(..) | Lies::Gone(_) => 0,
    }
}
