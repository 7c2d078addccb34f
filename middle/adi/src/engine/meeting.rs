//! What the books hold of receives and messages until they are done with.

use bcl_raw::slab::Id;
use bcl_types::OpError;

use crate::header::{Comes, Envelope};
use crate::matching::PeerNumber;
use crate::memory::Memory;

/// A receive that no message has met.
#[derive(Debug)]
pub struct Waiting {
    pub memory: Memory,
    pub context: u64,
    pub mark: u8,
    pub multi: Option<Id>,
}

/// A message that no receive has met.
#[derive(Debug)]
pub struct Message {
    pub envelope: Envelope,
    pub len_bytes: u64,
    pub lies: Lies,
}

/// Where it is meanwhile.
#[derive(Debug)]
pub enum Lies {
    /// Here, in this life of the peer.
    Here(Box<[u8]>, u32),
    /// With its sender, under this name.
    There(u64, Comes),
    /// Its sender has gone with it.
    Gone(OpError),
}

/// A message that is kept for who has probed it.
#[derive(Debug)]
pub struct Claimed {
    pub from: PeerNumber,
    pub tag: u64,
    pub message: Message,
}

/// Memory for one message.
#[derive(Debug)]
pub struct Slot {
    pub memory: Memory,
    pub context: u64,
    pub mark: u8,
    pub multi: Option<Id>,
}

/// A message that has met a receive and is not here yet.
#[derive(Debug)]
pub struct Incoming {
    pub from: PeerNumber,
    /// In which life of the peer.
    pub life: u32,
    pub name: u64,
    pub comes: Comes,
    pub tag: u64,
    pub envelope: Envelope,
    pub len_bytes: u64,
    /// Where it goes; `None`: it was discarded.
    pub slot: Option<Slot>,
    /// The carrier has memory for its body.
    pub is_expected: bool,
    /// Its sender was asked for it.
    pub is_asked: bool,
}

impl Incoming {
    /// What the carrier gets for the body. One that does not fit gets nothing, which ends it on both sides.
    pub fn memory(&self) -> Memory {
        let fits = |slot: &&Slot| slot.memory.len_bytes() as u64 >= self.len_bytes;
        match self.slot.as_ref().filter(fits) {
            Some(slot) => slot.memory.clone(),
            None => Memory::one(std::ptr::NonNull::dangling().as_ptr(), 0),
        }
    }
}
