//! One-sided access: puts and gets of one requester take effect in their order, atomics take effect once.
//!
//! Every port has one window. It begins with words that all requesters add 1 to: as many different answers as there
//! were additions means that each took effect once. Then each requester has a word of its own, which it alone
//! compares and swaps, and slots of its own, which it alone writes; so it knows what it must find there, unless
//! an operation of its own failed or the owner was restarted, until it writes again.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::{belong, fill, mix};
use super::{Outcome, Seat, Violation};

/// How many words everybody adds to.
pub const WORD_COUNT: usize = 4;

const SLOTS: usize = 4;

/// The most that one put or get moves.
const SLOT_BYTES: usize = 16 << 10;

/// All windows of a world, as their users have to see them.
#[derive(Debug)]
pub struct Windows {
    seats: usize,
    /// How often each owner was restarted: what was asked of one process may be done by another, or by none.
    epochs: Vec<u32>,
    slots: BTreeMap<(Seat, Seat, usize), Slot>,
    swaps: BTreeMap<(Seat, Seat), u64>,
    additions: BTreeMap<(Seat, usize), Additions>,
    versions: u64,
    /// Versions that perhaps never got there: gets that began behind them may find anything.
    failed: BTreeSet<u64>,
}

/// What a requester knows of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    version: u64,
    len_bytes: usize,
}

#[derive(Debug, Default)]
struct Additions {
    answers: BTreeSet<u64>,
    uncertain: u64,
}

/// What is to be true when an operation ends; made when it begins.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    requester: Seat,
    owner: Seat,
    epoch: u32,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Put {
        slot: usize,
        version: u64,
    },
    Get {
        slot: usize,
        known: Option<Slot>,
    },
    Add {
        word: usize,
    },
    Swap {
        known: Option<u64>,
        guess: u64,
        new: u64,
    },
}

impl Expected {
    /// Whether it is about the slot of this requester's at that owner which `chance` picks.
    pub fn is_about_slot(&self, owner: Seat, chance: u64) -> bool {
        let wanted = chance as usize % SLOTS;
        let is_so = match self.what {
            What::Put { slot, .. } | What::Get { slot, .. } => slot == wanted,
            What::Add { .. } | What::Swap { .. } => false,
        };
        self.owner == owner && is_so
    }
}

impl Windows {
    /// The windows of a world of `seats` ports.
    pub fn new(seats: usize) -> Self {
        Self {
            seats,
            epochs: vec![0; seats],
            slots: BTreeMap::new(),
            swaps: BTreeMap::new(),
            additions: BTreeMap::new(),
            versions: 0,
            failed: BTreeSet::new(),
        }
    }

    /// How long each window is.
    pub fn len_bytes(&self) -> usize {
        self.slot_offset(self.seats, 0)
    }

    /// The longest put.
    pub fn longest_put_bytes(&self) -> usize {
        SLOT_BYTES
    }

    /// A put begins: where, what, and what has to be told when it ends.
    pub fn put(
        &mut self,
        requester: Seat,
        owner: Seat,
        chance: u64,
        len_bytes: usize,
    ) -> (u64, Vec<u8>, Expected) {
        let slot = chance as usize % SLOTS;
        self.versions += 1;
        let version = self.versions;
        let known = Slot { version, len_bytes };
        self.slots.insert((requester, owner, slot), known);
        let mut bytes = vec![0; len_bytes];
        fill(seed(version), &mut bytes);
        let expected = self.expect(requester, owner, What::Put { slot, version });
        (self.slot_offset(requester, slot) as u64, bytes, expected)
    }

    /// A get begins: where, how much, and what has to be told when it ends.
    pub fn get(&self, requester: Seat, owner: Seat, chance: u64) -> (u64, usize, Expected) {
        let slot = chance as usize % SLOTS;
        let known = self.slots.get(&(requester, owner, slot)).copied();
        let len_bytes = known.map_or(100, |known| known.len_bytes);
        let expected = self.expect(requester, owner, What::Get { slot, known });
        (
            self.slot_offset(requester, slot) as u64,
            len_bytes,
            expected,
        )
    }

    /// An addition of 1 begins: where.
    pub fn add(&self, requester: Seat, owner: Seat, chance: u64) -> (u64, Expected) {
        let word = chance as usize % WORD_COUNT;
        let expected = self.expect(requester, owner, What::Add { word });
        (word as u64 * 8, expected)
    }

    /// A compare-and-swap begins: where, what to compare with, what to put there. One at a time for each pair.
    pub fn swap(&self, requester: Seat, owner: Seat, chance: u64) -> (u64, u64, u64, Expected) {
        let known = self.swaps.get(&(requester, owner)).copied();
        let (guess, new) = (known.unwrap_or(0), chance | 1);
        let what = What::Swap { known, guess, new };
        let expected = self.expect(requester, owner, what);
        let word = WORD_COUNT + requester;
        (word as u64 * 8, guess, new, expected)
    }

    /// An operation has ended: `value` is what an atomic found, `bytes` what a get brought.
    pub fn end(
        &mut self,
        expected: Expected,
        outcome: Outcome,
        value: u64,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let Expected {
            requester,
            owner,
            epoch,
            what,
        } = expected;
        let is_certain = outcome == Outcome::Done && epoch == self.epochs[owner];
        let pair = || format!("seat {requester} at the window of seat {owner}");
        match what {
            What::Put { slot, version } => {
                let key = (requester, owner, slot);
                let is_latest = self.slots.get(&key).map(|slot| slot.version) == Some(version);
                if !is_certain {
                    self.failed.insert(version);
                    if is_latest {
                        self.slots.remove(&key);
                    }
                }
            }
            What::Get {
                known: Some(known), ..
            } if is_certain && !self.failed.contains(&known.version) => {
                if !belong(seed(known.version), bytes) {
                    return Err(format!("{}: a get did not find the last put", pair()));
                }
            }
            What::Get { .. } => {}
            What::Add { word } => {
                let additions = self.additions.entry((owner, word)).or_default();
                if !is_certain {
                    additions.uncertain += 1;
                } else if !additions.answers.insert(value) {
                    return Err(format!("{}: two additions found {value}", pair()));
                }
            }
            What::Swap { known, guess, new } => {
                if !is_certain {
                    self.swaps.remove(&(requester, owner));
                } else if known.is_some_and(|known| known != value) {
                    return Err(format!(
                        "{}: a swap found {value:#x} instead of {guess:#x}",
                        pair()
                    ));
                } else {
                    let is_there = if value == guess { new } else { value };
                    self.swaps.insert((requester, owner), is_there);
                }
            }
        }
        Ok(())
    }

    /// `seat` was restarted: its own window is new, and what it knew of others is forgotten.
    pub fn restart(&mut self, seat: Seat) {
        self.epochs[seat] += 1;
        self.slots
            .retain(|(requester, owner, _), _| *requester != seat && *owner != seat);
        self.swaps
            .retain(|(requester, owner), _| *requester != seat && *owner != seat);
        self.additions.retain(|(owner, _), _| *owner != seat);
    }

    /// A process that had `pending` operations is gone: nobody will tell how they end.
    pub fn abandon(&mut self, pending: Expected) -> Result<(), Violation> {
        self.end(pending, Outcome::Failed, 0, &[])
    }

    /// When all is over: `value_of` tells what lies in a word of an owner's window.
    pub fn check_end(&self, value_of: impl Fn(Seat, usize) -> u64) -> Result<(), Violation> {
        for ((owner, word), additions) in &self.additions {
            let value = value_of(*owner, *word);
            let sure = additions.answers.len() as u64;
            // An answer from before the owner's restart counts among the uncertain, so there is no upper bound then.
            let most = sure + additions.uncertain;
            if value < sure || value > most && self.epochs[*owner] == 0 {
                return Err(format!(
                    "word {word} of seat {owner} is {value} after {sure} to {most} additions"
                ));
            }
        }
        Ok(())
    }

    fn expect(&self, requester: Seat, owner: Seat, what: What) -> Expected {
        Expected {
            requester,
            owner,
            epoch: self.epochs[owner],
            what,
        }
    }

    fn slot_offset(&self, requester: Seat, slot: usize) -> usize {
        (WORD_COUNT + self.seats) * 8 + (requester * SLOTS + slot) * SLOT_BYTES
    }
}

fn seed(version: u64) -> u64 {
    mix(&[0x0077_696e_646f_7773, version])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_get_finds_the_last_put_or_the_oracle_objects() {
        let mut windows = Windows::new(2);
        let (_, first, put) = windows.put(0, 1, 0, 64);
        windows.end(put, Outcome::Done, 0, &[]).expect("a put");
        let (_, len, get) = windows.get(0, 1, 0);
        assert_eq!(len, 64);
        let (_, second, put) = windows.put(0, 1, 0, 64);
        windows.end(get, Outcome::Done, 0, &first).expect("as put");
        assert!(windows.end(get, Outcome::Done, 0, &second).is_err());
        let (_, _, behind) = windows.get(0, 1, 0);
        windows.end(put, Outcome::Failed, 0, &[]).expect("a put");
        windows
            .end(behind, Outcome::Done, 0, &first)
            .expect("unknown");
        let (_, _, get) = windows.get(0, 1, 0);
        windows.end(get, Outcome::Done, 0, &first).expect("unknown");
    }

    #[test]
    fn additions_are_counted() {
        let mut windows = Windows::new(2);
        let (_, add) = windows.add(0, 1, 0);
        windows.end(add, Outcome::Done, 0, &[]).expect("the first");
        assert!(windows.end(add, Outcome::Done, 0, &[]).is_err());
        assert!(windows.check_end(|_, _| 2).is_err());
        windows.end(add, Outcome::Failed, 0, &[]).expect("perhaps");
        windows.check_end(|_, _| 2).expect("one or two");
    }

    #[test]
    fn a_swap_finds_what_the_last_left() {
        let mut windows = Windows::new(2);
        let (_, guess, new, swap) = windows.swap(0, 1, 8);
        windows.end(swap, Outcome::Done, guess, &[]).expect("found");
        let (_, guess, _, swap) = windows.swap(0, 1, 16);
        assert_eq!(guess, new);
        assert!(windows.end(swap, Outcome::Done, 0, &[]).is_err());
        windows.restart(1);
        let (.., swap) = windows.swap(0, 1, 32);
        windows.end(swap, Outcome::Done, 7, &[]).expect("unknown");
    }
}
