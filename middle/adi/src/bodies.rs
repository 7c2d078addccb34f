//! Bodies of announced messages on a port: each meets the memory that was named for it, whichever is there first.

use std::collections::HashMap;

use bcl_raw::slab::Id;
use bcl_raw::{Arrival, Error, Matcher, MessageId, QUEUE_DEPTH, RawPort, Target};
use bcl_types::Address;

use crate::carrier::Carrier;
use crate::matching::Seeded;
use crate::memory::Memory;
use crate::own::Own;
use crate::peers::word_of;

/// Channel of all bodies. The name that their sender has for them is their immediate data.
const CHANNEL: u16 = 1;

/// Operations of the port that bodies may be which nobody has asked for: they end when their receivers please.
const UNASKED_MAX: usize = QUEUE_DEPTH / 2;

/// A body, by its sender and its name there.
type Key = (u64, u64);

/// Memory and bodies that have not met.
#[derive(Debug, Default)]
pub struct Bodies {
    expected: HashMap<Key, Target, Seeded>,
    waiting: HashMap<Key, Arrival, Seeded>,
    /// Those of the endpoint to itself, and all else that it says to itself.
    pub own: Own,
}

impl Matcher for Bodies {
    #[inline]
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        let key = key(arrival.from, arrival.immediate);
        let target = self.expected.remove(&key);
        if target.is_none() {
            self.waiting.insert(key, *arrival);
        }
        target
    }

    fn withdrawn(&mut self, message: MessageId, _: u16) {
        self.waiting.retain(|_, arrival| arrival.message != message);
    }

    fn posted(&self) -> usize {
        self.expected.len()
    }
}

#[inline]
fn key(from: Address, name: u64) -> Key {
    (word_of(from), name)
}

impl Carrier for RawPort<Bodies> {
    fn system_max(&mut self, to: Address) -> usize {
        RawPort::system_max(self, to)
    }

    #[inline]
    fn send_system(
        &mut self,
        to: Address,
        bytes: &[u8],
        tag: u64,
        life: u32,
    ) -> Result<bool, Error> {
        if to == self.address() {
            self.matcher().own.say(tag, bytes);
            return Ok(true);
        }
        check_ends(self)?;
        self.start_system(to, bytes, tag, life.into())
    }

    unsafe fn send_body(&mut self, to: Address, name: Id, memory: &Memory) -> Result<(), Error> {
        if to == self.address() {
            // SAFETY: by the contract.
            unsafe { self.matcher().own.send(name, memory.clone()) };
            return Ok(());
        }
        check_ends(self)?;
        // SAFETY: by the contract.
        let sent = unsafe {
            match memory.table() {
                None => self.send(to, CHANNEL, memory.source(), name, None, name),
                Some(table) => self.send_pieces(to, CHANNEL, table.clone(), name, name),
            }
        };
        sent.map(drop)
    }

    unsafe fn receive_body(
        &mut self,
        from: Address,
        name: u64,
        memory: &Memory,
        incoming: Id,
    ) -> Result<(), Error> {
        if from == self.address() {
            // SAFETY: by the contract.
            unsafe { self.matcher().own.expect(name, memory.clone(), incoming) };
            return Ok(());
        }
        let target = match memory.table() {
            None => {
                let (start, len_bytes) = memory.start_and_len();
                self.begin_post(start, len_bytes, None, incoming)?
            }
            Some(table) => self.begin_post_pieces(table.clone(), incoming)?,
        };
        let key = key(from, name);
        if let Some(arrival) = self.matcher().waiting.remove(&key) {
            // SAFETY: by the contract.
            if unsafe { self.accept(&arrival, target) } {
                return Ok(());
            }
            // It has gone with its sender, of whose end we hear soon.
        }
        self.matcher().expected.insert(key, target);
        Ok(())
    }

    fn unasked_max(&self) -> usize {
        UNASKED_MAX
    }

    /// The port tells of the end under a name that nobody knows by then.
    fn take_back(&mut self, from: Address, name: u64) -> bool {
        if from == self.address() {
            return self.matcher().own.take_back(name);
        }
        let target = self.matcher().expected.remove(&key(from, name));
        if let Some(target) = target {
            self.end_post(CHANNEL, target.op);
        }
        target.is_some()
    }
}

#[inline]
fn check_ends(port: &RawPort<Bodies>) -> Result<(), Error> {
    if port.owes_ends() {
        return Err(Error::QueueFull { limit: QUEUE_DEPTH });
    }
    Ok(())
}
