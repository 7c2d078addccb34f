//! What a receiver should do, by going through lists. Tests of the books have this file in common with simulated worlds.

use std::collections::{BTreeMap, VecDeque};

/// A message as its sender has sent it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sent {
    pub from: usize,
    pub tag: u64,
    pub data: Option<u64>,
    pub bytes: Vec<u8>,
    /// It was announced under this name, and lies with its sender.
    pub announced_as: Option<u64>,
    /// It came after so many ends of its sender.
    pub life: u32,
    /// Where in the memory that it has met it begins.
    pub offset: usize,
}

#[derive(Debug)]
pub struct Posted {
    pub context: u64,
    pub from: Option<usize>,
    pub tag: u64,
    pub ignore: u64,
    /// Bytes that messages have, and bytes that are left.
    pub used: usize,
    pub free: usize,
    /// The least that must be left for another message; `None`: it takes one.
    pub multi: Option<usize>,
}

impl Posted {
    fn fits(&self, message: &Sent) -> bool {
        fits(self.from, self.tag, self.ignore, message)
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
        // It is the last, and is there as long as it takes more.
        while let Some(posted) = self.posted.get(place) {
            let Some(found) = self.waiting.iter().position(|message| posted.fits(message)) else {
                break;
            };
            let message = self.waiting.remove(found);
            self.meet(place, message);
        }
    }

    /// The connection with a peer has ended: receives that want this peer alone, and messages that lie with it, are no more.
    pub fn lose(&mut self, peer: usize) {
        self.posted.retain(|posted| posted.from != Some(peer));
        self.waiting
            .retain(|sent| sent.from != peer || sent.announced_as.is_none());
    }

    /// What was announced has come, though nobody has asked for it.
    pub fn pushed(&mut self, peer: usize, name: u64) {
        let is_it = |sent: &&mut Sent| sent.from == peer && sent.announced_as == Some(name);
        if let Some(sent) = self.waiting.iter_mut().find(is_it) {
            sent.announced_as = None;
        }
    }

    fn meet(&mut self, place: usize, mut message: Sent) {
        let posted = &mut self.posted[place];
        let taken = message.bytes.len().min(posted.free);
        message.offset = posted.used;
        posted.used += taken;
        posted.free -= taken;
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
    pub fn claim(&mut self, from: Option<usize>, tag: u64, ignore: u64) -> Option<Sent> {
        let wanted = |message: &Sent| fits(from, tag, ignore, message);
        let place = self.waiting.iter().position(wanted)?;
        Some(self.waiting.remove(place))
    }
}

fn fits(from: Option<usize>, tag: u64, ignore: u64, message: &Sent) -> bool {
    from.is_none_or(|from| from == message.from) && (tag ^ message.tag) & !ignore == 0
}
