//! What all programs of a world know together: which messages are under way, and what each receiver should do with them.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use bcl_adi::SPACES;

use super::lists::{Oracle, Sent};
use crate::oracle::{Life, Seat, Violation};

/// The ledger as parties have it.
pub type Common = Rc<RefCell<Ledger>>;

/// Of a sender's messages, those that went by one connection: which process it was, and of how many ends of the receiver
/// it had been told.
pub type Epoch = (Life, u32);

/// A message that was sent and has not come.
pub struct Flying {
    pub number: u64,
    pub space: u8,
    pub sent: Sent,
    pub epoch: Epoch,
    /// Which process was to have it.
    pub to_life: Life,
}

/// All of it.
#[derive(Default)]
pub struct Ledger {
    receivers: BTreeMap<Seat, Receiver>,
    flying: BTreeMap<(Seat, Seat), VecDeque<Flying>>,
    last_number: u64,
    /// What has happened so far.
    pub tally: Tally,
}

/// What the process of a seat has been sent.
#[derive(Default)]
struct Receiver {
    life: Life,
    lists: [Oracle; SPACES],
    /// Of the last message of each sender.
    epochs: BTreeMap<Seat, Epoch>,
}

/// What has happened in a world: one in which little happens shows little.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages that came whole.
    pub whole: u64,
    /// Messages that were announced.
    pub announced: u64,
    /// Of these, messages that came because there was credit.
    pub pushed: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that were longer than their memory.
    pub truncated: u64,
    /// Receives that ended with a peer.
    pub failed: u64,
    /// Receives that were canceled.
    pub canceled: u64,
    /// Messages that were claimed and then discarded.
    pub discarded: u64,
    /// Sends for which there was no room.
    pub refused: u64,
    /// Messages that went down with their connection.
    pub lost: u64,
}

impl Tally {
    /// Adds those of another world.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.whole, other.whole),
            (&mut self.announced, other.announced),
            (&mut self.pushed, other.pushed),
            (&mut self.received, other.received),
            (&mut self.truncated, other.truncated),
            (&mut self.failed, other.failed),
            (&mut self.canceled, other.canceled),
            (&mut self.discarded, other.discarded),
            (&mut self.refused, other.refused),
            (&mut self.lost, other.lost),
        ];
        for (sum, times) in pairs {
            *sum += times;
        }
    }
}

impl Ledger {
    /// A process begins.
    pub(super) fn start(&mut self, seat: Seat, life: Life) {
        let receiver = Receiver {
            life,
            ..Receiver::default()
        };
        self.receivers.insert(seat, receiver);
    }

    /// A name for a message; its bytes follow from it.
    pub(super) fn new_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn life(&self, seat: Seat) -> Life {
        self.receivers[&seat].life
    }

    /// What a receiver should do in one space.
    pub(super) fn lists(&mut self, seat: Seat, space: u8) -> &mut Oracle {
        let receiver = self.receivers.entry(seat).or_default();
        &mut receiver.lists[usize::from(space)]
    }

    /// A message is on its way.
    pub(super) fn fly(&mut self, to: Seat, flying: Flying) {
        let key = (flying.sent.from, to);
        self.flying.entry(key).or_default().push_back(flying);
    }

    /// A message has come, about which its receiver sees so much. It must be the next of its connection: only with one may
    /// messages be lost, and the first of the next bears its number.
    pub(super) fn arrive(&mut self, to: Seat, space: u8, seen: Sent) -> Result<(), Violation> {
        let receiver = self.receivers.entry(to).or_default();
        let queue = self.flying.entry((seen.from, to)).or_default();
        let what = format!(
            "from seat {} with tag {:#x} and data {:?}",
            seen.from, seen.tag, seen.data
        );
        let place = match seen.data {
            Some(number) => queue.iter().position(|flying| flying.number == number),
            None => Some(0),
        };
        let before = receiver.epochs.get(&seen.from).copied();
        let place =
            place.ok_or_else(|| format!("a message {what} was not sent, or has come before"))?;
        let lost = queue.drain(..place.min(queue.len()));
        let epochs: Vec<Epoch> = lost.map(|flying| flying.epoch).collect();
        let Some(flying) = queue.pop_front() else {
            return Err(format!("a message {what} was not sent"));
        };
        if epochs.iter().any(|epoch| *epoch >= flying.epoch) {
            return Err(format!("a message {what} has overtaken another"));
        }
        let is_first = before != Some(flying.epoch);
        if (flying.space, flying.sent.tag, flying.sent.data) != (space, seen.tag, seen.data)
            || is_first && seen.data.is_none()
        {
            return Err(format!(
                "a message {what} came where {:?} was to come",
                flying.sent.data
            ));
        }
        receiver.epochs.insert(seen.from, flying.epoch);
        self.tally.lost += epochs.len() as u64;
        let is_announced = seen.announced_as.is_some();
        self.tally.announced += u64::from(is_announced);
        self.tally.whole += u64::from(!is_announced);
        let message = Sent {
            bytes: flying.sent.bytes,
            ..seen
        };
        receiver.lists[usize::from(space)].arrived(message);
        Ok(())
    }

    /// A message that was announced has come, though nobody has asked for it.
    pub(super) fn pushed(&mut self, to: Seat, from: Seat, name: Option<u64>) {
        self.tally.pushed += 1;
        let receiver = self.receivers.entry(to).or_default();
        for list in &mut receiver.lists {
            name.into_iter().for_each(|name| list.pushed(from, name));
        }
    }

    /// Whether a message has not come, or no receive has met it.
    pub(super) fn waits(&self, from: Seat, to: Seat, number: u64) -> bool {
        let queue = self.flying.get(&(from, to));
        let flies = queue.is_some_and(|queue| queue.iter().any(|flying| flying.number == number));
        let lists = self.receivers[&to].lists.iter();
        let mut waiting = lists.flat_map(|list| &list.waiting);
        flies || waiting.any(|sent| sent.from == from && sent.data == Some(number))
    }

    /// Whether a message that was sent to a process which still runs has not come, by the connection that is there now.
    pub(super) fn is_missing(&self, from: Seat, epoch: impl Fn(Seat) -> Epoch) -> bool {
        let mut queues = self.flying.range((from, 0)..=(from, Seat::MAX));
        queues.any(|((_, to), queue)| {
            let is_due = |flying: &Flying| {
                flying.epoch == epoch(*to) && flying.to_life == self.receivers[to].life
            };
            queue.iter().any(is_due)
        })
    }
}
