//! What the books hold of receives and messages until they are done with.

use bcl_raw::slab::Id;
use bcl_types::OpError;

use crate::header::{Comes, Envelope};
use crate::matching::PeerNumber;
use crate::memory::Memory;
use crate::regions::Place;

use super::one_sided::Request;

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

impl Message {
    /// Its sender's name for it and how it comes, if it lies there.
    pub fn there(&self) -> Option<(u64, Comes)> {
        match self.lies {
            Lies::There(name, comes) => Some((name, comes)),
            Lies::Here(..) | Lies::Gone(_) => None,
        }
    }
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

/// Where a message is noted that was announced and will come as DATA, asked for or not.
#[derive(Debug, Clone, Copy)]
pub enum Whereabouts {
    /// No receive has met it: among those of that space.
    Unexpected(u8, Id),
    /// Somebody has claimed it.
    Claimed(Id),
    /// It has met a receive, and is among what comes.
    Incoming(Id),
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
    /// The multi-receive buffer, and the message's turn among those of its sender.
    pub multi: Option<(Id, u64)>,
}

/// What comes, and where it goes.
#[derive(Debug)]
pub enum Goal {
    /// A message to a receive that it has met; without a slot, it was discarded.
    Receive {
        tag: u64,
        envelope: Envelope,
        slot: Option<Slot>,
    },
    /// What was in a peer's memory, to whoever has asked for it.
    Get(Request),
    /// What is put into our memory; without a place, it was refused.
    Put {
        place: Option<Place>,
        data: Option<u64>,
    },
}

/// Something that was announced, is wanted, and is not here yet.
#[derive(Debug)]
pub struct Incoming {
    pub from: PeerNumber,
    /// In which life of the peer.
    pub life: u32,
    pub name: u64,
    pub comes: Comes,
    pub len_bytes: u64,
    pub goal: Goal,
    /// The carrier has memory for its body.
    pub is_expected: bool,
    /// Its sender was asked for it.
    pub is_asked: bool,
}

impl Incoming {
    /// What the carrier gets for the body. One that does not fit gets nothing, which ends it on both sides.
    pub fn memory(&self) -> Memory {
        let memory = match &self.goal {
            Goal::Receive { slot, .. } => slot.as_ref().map(|slot| slot.memory.clone()),
            Goal::Get(request) => request.memory.clone(),
            Goal::Put { place, .. } => {
                let whole = |place: &Place| Memory::one(place.start, self.len_bytes as usize);
                place.as_ref().map(whole)
            }
        };
        let fits = |memory: &Memory| memory.len_bytes() as u64 >= self.len_bytes;
        let nothing = || Memory::one(std::ptr::NonNull::dangling().as_ptr(), 0);
        memory.filter(fits).unwrap_or_else(nothing)
    }
}
