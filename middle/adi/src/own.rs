//! What an endpoint says to itself, for which no port is needed ([ADI-2.4]).

use std::collections::{HashMap, VecDeque};

use bcl_raw::slab::Id;
use bcl_types::OpError;

use crate::matching::Seeded;
use crate::memory::Memory;

/// What has been said and not heard, and what waits for memory.
#[derive(Debug, Default)]
pub struct Own {
    unheard: VecDeque<Heard>,
    bodies: HashMap<Id, Memory, Seeded>,
    rooms: HashMap<Id, (Memory, Id), Seeded>,
}

/// What a port would tell.
#[derive(Debug)]
pub enum Heard {
    /// A system message with this tag.
    Message(u64, Box<[u8]>),
    /// The body of this name has left.
    Sent(Id, Result<(), OpError>),
    /// What was expected under this name is here.
    Received(Id, Result<(), OpError>),
}

impl Own {
    /// Whether all that was said has been heard.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.unheard.is_empty()
    }

    /// The next.
    pub fn next(&mut self) -> Option<Heard> {
        self.unheard.pop_front()
    }

    pub fn say(&mut self, tag: u64, bytes: &[u8]) {
        self.unheard.push_back(Heard::Message(tag, bytes.into()));
    }

    /// # Safety
    /// The memory stays valid and unchanged until the end of the body was heard.
    pub unsafe fn send(&mut self, name: Id, memory: Memory) {
        match self.rooms.remove(&name) {
            // SAFETY: by the contracts of both.
            Some(room) => unsafe { self.meet(name, &memory, room) },
            None => drop(self.bodies.insert(name, memory)),
        }
    }

    /// # Safety
    /// The memory stays valid and untouched until what is expected was heard of, or taken back.
    pub unsafe fn expect(&mut self, name: Id, memory: Memory, incoming: Id) {
        let room = (memory, incoming);
        match self.bodies.remove(&name) {
            // SAFETY: by the contracts of both.
            Some(body) => unsafe { self.meet(name, &body, room) },
            None => drop(self.rooms.insert(name, room)),
        }
    }

    /// False: it has met the body.
    pub fn take_back(&mut self, name: Id) -> bool {
        self.rooms.remove(&name).is_some()
    }

    /// # Safety
    /// The body can be read, and the memory be written.
    unsafe fn meet(&mut self, name: Id, body: &Memory, (memory, incoming): (Memory, Id)) {
        let (len_bytes, capacity_bytes) = (body.len_bytes(), memory.len_bytes());
        let result = match len_bytes <= capacity_bytes {
            true => {
                // SAFETY: by the contract, and it is long enough.
                unsafe { body.copy_to(&memory) };
                Ok(())
            }
            false => Err(OpError::Truncated {
                len_bytes: len_bytes as u64,
                capacity_bytes: capacity_bytes as u64,
            }),
        };
        self.unheard.push_back(Heard::Received(incoming, result));
        self.unheard.push_back(Heard::Sent(name, result));
    }
}
