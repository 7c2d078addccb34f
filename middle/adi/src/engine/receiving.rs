//! Receiving: a receive takes the oldest message that waits, or is posted.

use bcl_types::{Address, OpError};

use super::meeting::{Goal, Incoming, Lies, Message, Slot, Waiting, Whereabouts};
use super::multi::{Multi, cut, is_over};
use super::sending::check_space;
use super::{Completion, Ended, Engine};
use crate::carrier::Carrier;
use crate::credit::charge;
use crate::error::Error;
use crate::header::{Comes, Envelope};
use crate::matching::{Pattern, PeerNumber};
use crate::memory::Memory;
use crate::peers::Task;

/// From whom a message is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From anybody.
    Any,
    /// From this endpoint.
    Peer(Address),
}

/// Which messages are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// In which space.
    pub space: u8,
    /// From whom.
    pub source: Source,
    /// With which tag.
    pub tag: u64,
    /// Bits of the tag that may be anything.
    pub ignore: u64,
}

/// A receive.
#[derive(Debug, Clone)]
pub struct Receive {
    /// What is wanted.
    pub wanted: Wanted,
    /// Where it goes.
    pub memory: Memory,
    /// Comes back with each completion.
    pub context: u64,
    /// As well: a few bits of the caller's own.
    pub mark: u8,
    /// The memory takes one message behind the other, until fewer bytes than these are left. It is in one piece.
    pub multi_min_free_bytes: Option<usize>,
}

impl Engine {
    /// Receives the oldest message that waits and is wanted, or the next that comes.
    ///
    /// # Safety
    /// The memory can be written, and is touched by nobody else until the completion that releases it.
    #[inline]
    pub unsafe fn receive<C: Carrier>(
        &mut self,
        carrier: &mut C,
        receive: Receive,
    ) -> Result<(), Error> {
        let space = receive.wanted.space;
        let pattern = self.pattern_of(&receive.wanted)?;
        let multi = match receive.multi_min_free_bytes {
            None => None,
            Some(_) if receive.memory.table().is_some() => {
                return Err(Error::InvalidArgument(
                    "a buffer for several messages is in one piece".into(),
                ));
            }
            Some(min_free_bytes) => Some(self.multis.insert(Multi::new(min_free_bytes))),
        };
        let waiting = Waiting {
            memory: receive.memory,
            context: receive.context,
            mark: receive.mark,
            multi,
        };
        loop {
            let unexpected = &mut self.spaces[usize::from(space)].unexpected;
            let found = unexpected.first(&pattern);
            let Some((from, tag, message)) = found.and_then(|id| unexpected.remove(id)) else {
                self.spaces[usize::from(space)].posted.add(pattern, waiting);
                return Ok(());
            };
            let in_order = &mut self.peers[from].in_order;
            let (slot, takes_more) = cut(&mut self.multis, &waiting, message.len_bytes, in_order);
            self.take(carrier, from, tag, message, Some(slot))?;
            if !takes_more {
                return Ok(());
            }
        }
    }

    /// Gets a message that waited to where it goes, or rid of it.
    pub(super) fn take<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        tag: u64,
        message: Message,
        slot: Option<Slot>,
    ) -> Result<(), Error> {
        let Message {
            envelope,
            len_bytes,
            lies,
        } = message;
        match lies {
            Lies::Here(bytes, life) => {
                if let Some(slot) = slot {
                    self.place(from, tag, envelope, slot, &bytes);
                }
                self.consume(carrier, from, life, bytes.len())
            }
            Lies::There(name, comes) => {
                self.fetch(carrier, from, tag, envelope, len_bytes, (name, comes), slot)
            }
            Lies::Gone(error) => {
                if let Some(slot) = slot {
                    self.received(from, tag, envelope, len_bytes, slot, Err(error));
                }
                Ok(())
            }
        }
    }

    /// Gets a message that lies with its sender.
    #[expect(clippy::too_many_arguments, reason = "all that an announcement says")]
    pub(super) fn fetch<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        len_bytes: u64,
        (name, comes): (u64, Comes),
        slot: Option<Slot>,
    ) -> Result<(), Error> {
        let fits = |slot: &&Slot| slot.memory.len_bytes() as u64 >= len_bytes;
        if comes != Comes::Unasked && slot.as_ref().filter(fits).is_none() {
            if let Some(slot) = slot {
                let result = Err(too_long(len_bytes, &slot));
                self.received(from, tag, envelope, len_bytes, slot, result);
            }
            self.announced.remove(&(from, name));
            return self.attempt(carrier, from, Task::Refuse(name));
        }
        let incoming = self.incoming.insert(Incoming {
            from,
            life: self.peers[from].life,
            name,
            comes,
            len_bytes,
            goal: Goal::Receive {
                tag,
                envelope,
                slot,
            },
            is_expected: false,
            is_asked: false,
        });
        self.note(from, (name, comes), Whereabouts::Incoming(incoming));
        self.attempt(carrier, from, Task::Ask(incoming))
    }

    /// Copies a message that is here to where it goes.
    #[inline]
    pub(super) fn place(
        &mut self,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        slot: Slot,
        bytes: &[u8],
    ) {
        let len_bytes = bytes.len() as u64;
        let fitting = &bytes[..bytes.len().min(slot.memory.len_bytes())];
        // SAFETY: whoever posted the receive vouches for the memory until its completion, which follows; it is long enough.
        unsafe { slot.memory.scatter(fitting) };
        let result = match fitting.len() == bytes.len() {
            true => Ok(()),
            false => Err(too_long(len_bytes, &slot)),
        };
        self.received(from, tag, envelope, len_bytes, slot, result);
    }

    /// The peer has credit again for an eager message that it sent in that life; if it has ended since, others have.
    #[inline]
    pub(super) fn consume<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        life: u32,
        len_bytes: usize,
    ) -> Result<(), Error> {
        let peer = &mut self.peers[from];
        if peer.life != life {
            self.budget.give_back(charge(len_bytes));
            return Ok(());
        }
        if peer.grant.consume(charge(len_bytes)) {
            return self.attempt(carrier, from, Task::Credit);
        }
        Ok(())
    }

    /// A message is in its memory, or will not be.
    #[inline]
    pub(super) fn received(
        &mut self,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        len_bytes: u64,
        slot: Slot,
        result: Result<(), OpError>,
    ) {
        let peer = &mut self.peers[from];
        let completion = Completion {
            space: envelope.space,
            tag,
            data: envelope.data,
            len_bytes,
            start: slot.memory.address(),
            result,
            ..Completion::new(Ended::Receive, peer.address, (slot.context, slot.mark))
        };
        let Some((multi, turn)) = slot.multi else {
            self.completions.push_back(completion);
            return;
        };
        peer.in_order.ended(turn, completion, multi);
        while let Some((mut completion, multi)) = peer.in_order.next() {
            completion.released = is_over(&mut self.multis, multi, 1);
            self.completions.push_back(completion);
        }
    }

    #[inline]
    pub(super) fn pattern_of(&mut self, wanted: &Wanted) -> Result<Pattern, Error> {
        check_space(wanted.space)?;
        Ok(Pattern {
            source: match wanted.source {
                Source::Any => None,
                Source::Peer(address) => Some(self.peers.number_of(address)),
            },
            tag: wanted.tag,
            ignore: wanted.ignore,
        })
    }
}

#[inline]
pub(super) fn too_long(len_bytes: u64, slot: &Slot) -> OpError {
    OpError::Truncated {
        len_bytes,
        capacity_bytes: slot.memory.len_bytes() as u64,
    }
}
