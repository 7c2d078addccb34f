//! What a receiver should do, by going through lists.

use std::collections::{BTreeMap, VecDeque};

/// A message as its sender has sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub from: usize,
    pub tag: u64,
    pub data: Option<u64>,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub struct Posted {
    pub context: u64,
    pub from: Option<usize>,
    pub tag: u64,
    pub ignore: u64,
    /// Bytes that are left, and the least that must be left for another message; `None`: it takes one.
    pub free: usize,
    pub multi: Option<usize>,
}

impl Posted {
    fn fits(&self, message: &Sent) -> bool {
        self.from.is_none_or(|from| from == message.from)
            && (self.tag ^ message.tag) & !self.ignore == 0
    }
}

/// One receiver.
#[derive(Debug, Default)]
pub struct Oracle {
    pub posted: Vec<Posted>,
    pub waiting: Vec<Sent>,
    /// What each receive is to get, in order for each receive.
    pub due: BTreeMap<u64, VecDeque<Sent>>,
}

impl Oracle {
    pub fn arrived(&mut self, message: Sent) {
        match self.posted.iter().position(|posted| posted.fits(&message)) {
            Some(place) => self.meet(place, message),
            None => self.waiting.push(message),
        }
    }

    pub fn post(&mut self, posted: Posted) {
        self.posted.push(posted);
        let place = self.posted.len() - 1;
        while let Some(posted) = self.posted.get(place) {
            let Some(found) = self.waiting.iter().position(|message| posted.fits(message)) else {
                break;
            };
            let message = self.waiting.remove(found);
            self.meet(place, message);
        }
    }

    fn meet(&mut self, place: usize, message: Sent) {
        let posted = &mut self.posted[place];
        posted.free -= message.bytes.len().min(posted.free);
        let stays = posted
            .multi
            .is_some_and(|least| posted.free >= least.max(1));
        self.due
            .entry(posted.context)
            .or_default()
            .push_back(message);
        if !stays {
            self.posted.remove(place);
        }
    }

    /// Takes the oldest out that fits.
    pub fn claim(&mut self, from: Option<usize>, tag: u64) -> Option<Sent> {
        let wanted =
            |message: &Sent| from.is_none_or(|from| from == message.from) && message.tag == tag;
        let place = self.waiting.iter().position(wanted)?;
        Some(self.waiting.remove(place))
    }
}
