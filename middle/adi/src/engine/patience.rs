//! Waiting for long ([ADI-6.5]): who is waited for and says nothing is spoken to, so that the port finds out whether it is there.

use std::collections::BTreeSet;

use super::Engine;
use crate::carrier::Carrier;
use crate::error::Error;
use crate::matching::PeerNumber;
use crate::peers::Task;

impl Engine {
    /// Speaks to each peer that was waited for at the last call, and still is or is again. A port lets an idle connection be, and
    /// makes none to somebody to whom nothing is sent: of neither it would say, for long or for ever, that the peer is gone.
    pub fn ask_after_peers<C: Carrier>(&mut self, carrier: &mut C) -> Result<(), Error> {
        let awaited = self.awaited();
        let before = std::mem::replace(&mut self.awaited, awaited);
        let still: Vec<PeerNumber> = self.awaited.intersection(&before).copied().collect();
        still
            .into_iter()
            .try_for_each(|number| self.attempt(carrier, number, Task::Credit))
    }

    /// Peers from whom something is to come, a message that is wanted of them alone or an answer.
    fn awaited(&self) -> BTreeSet<PeerNumber> {
        let posted = self.spaces.iter().flat_map(|space| space.posted.sources());
        let coming = self.incoming.iter().map(|(_, incoming)| incoming.from);
        let announced = self.outgoing.iter().map(|(_, outgoing)| outgoing.to);
        let asked = self
            .peers
            .numbered()
            .filter(|(_, peer)| !peer.requests.is_empty());
        posted
            .chain(coming)
            .chain(announced)
            .chain(asked.map(|(number, _)| number))
            .filter(|number| self.peers[*number].address != self.address)
            .collect()
    }
}
