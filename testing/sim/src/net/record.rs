//! What a listener on the wire has kept, to play it back later.

use bcl_types::Random;

use super::Datagram;

/// A bounded, fair sample of all that was sent: each packet has the same chance to be in it.
#[derive(Debug)]
pub(super) struct Record {
    kept: Vec<Datagram>,
    most: usize,
    seen: u64,
    random: Random,
}

impl Record {
    pub(super) fn new(most: usize, random: Random) -> Self {
        Self {
            kept: Vec::new(),
            most,
            seen: 0,
            random,
        }
    }

    pub(super) fn resize(&mut self, most: usize) {
        self.most = most;
        self.kept.truncate(most);
    }

    /// Reservoir sampling.
    pub(super) fn hear(&mut self, datagram: &Datagram) {
        if self.most == 0 {
            return;
        }
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(datagram.clone());
        } else {
            let place = self.random.below(self.seen) as usize;
            if let Some(kept) = self.kept.get_mut(place) {
                *kept = datagram.clone();
            }
        }
    }

    pub(super) fn kept(&self) -> &[Datagram] {
        &self.kept
    }
}
