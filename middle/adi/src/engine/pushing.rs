//! Short messages that were announced for want of credit: they come when they are asked for or, if there is credit before, unasked
//! ([ADI-4.6]).

use bcl_raw::slab::Id;

use super::Engine;
use super::arriving::Wrong;
use super::meeting::{Goal, Lies, Message, Whereabouts};
use super::sending::QUEUED_MAX;
use super::tasks::{Progress, progress};
use crate::carrier::Carrier;
use crate::credit::charge;
use crate::error::Error;
use crate::header::{Comes, Kind};
use crate::matching::PeerNumber;
use crate::peers::Task;

impl Engine {
    /// A short message was announced to the peer under this name, and is the last whose turn comes.
    pub(super) fn hold(&mut self, to: PeerNumber, name: Id) {
        let Some(outgoing) = self.outgoing.get_mut(name) else {
            return;
        };
        self.last_turn += 1;
        outgoing.turn = Some(self.last_turn);
        self.peers[to].held.insert(self.last_turn, name);
    }

    /// It is asked for, or done with.
    pub(super) fn hold_no_more(&mut self, to: PeerNumber, turn: Option<u64>) {
        if let Some(turn) = turn {
            self.peers[to].held.remove(&turn);
        }
    }

    /// The peer has said something, and may have raised its limit.
    #[inline]
    pub(super) fn push_held<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
    ) -> Result<(), Error> {
        let peer = &mut self.peers[to];
        if peer.held.is_empty() || !peer.lane(Task::Push).is_empty() {
            return Ok(());
        }
        self.attempt(carrier, to, Task::Push)
    }

    /// Sends what was not asked for, the oldest first, as far as there is credit.
    pub(super) fn push<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
    ) -> Result<Progress, Error> {
        while let Some((_, &name)) = self.peers[to].held.first_key_value() {
            let Some(outgoing) = self.outgoing.get(name) else {
                break;
            };
            let memory = outgoing.memory.clone();
            let charge = charge(memory.len_bytes());
            let peer = &mut self.peers[to];
            if peer.queued >= QUEUED_MAX {
                return Ok(Progress::Later);
            }
            if !peer.credit.spend(charge) {
                break;
            }
            let kind = Kind::Data { name, asked: false };
            // SAFETY: the memory is kept, or whoever sent it keeps it until the completion; it is short.
            let said = unsafe { self.say(carrier, to, kind, 0, Some(&memory)) };
            if said.is_err() {
                self.peers[to].credit.unspend(charge);
            }
            if progress(said)? == Progress::Later {
                return Ok(Progress::Later);
            }
            self.end_outgoing(name, Ok(()));
        }
        Ok(Progress::Done)
    }

    /// The message is noted elsewhere now, if it comes so.
    pub(super) fn note(&mut self, from: PeerNumber, (name, comes): (u64, Comes), at: Whereabouts) {
        if comes == Comes::AsData {
            self.announced.insert((from, name), at);
        }
    }

    /// Such a message has come. What came unasked is charged until it has met a receive; if its sender is told that it is not
    /// wanted, or was, that was its end.
    pub(super) fn data<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        (name, asked): (u64, bool),
        payload: &[u8],
    ) -> Result<Result<(), Wrong>, Error> {
        let at = self.announced.get(&(from, name)).copied();
        if !self.is_due(at, asked, payload.len() as u64) {
            return Ok(Err(Wrong));
        }
        let peer = &mut self.peers[from];
        let life = peer.life;
        if !asked && !peer.grant.receive(charge(payload.len())) {
            return Ok(Err(Wrong));
        }
        self.announced.remove(&(from, name));
        match at {
            Some(Whereabouts::Incoming(id)) => self.arrive(from, id, payload),
            Some(at) => {
                if let Some(message) = self.waiting_at(at) {
                    message.lies = Lies::Here(payload.into(), life);
                }
                return Ok(Ok(()));
            }
            None => {}
        }
        if !asked {
            self.consume(carrier, from, life, payload.len())?;
        }
        Ok(Ok(()))
    }

    /// Whether a message may come so.
    fn is_due(&mut self, at: Option<Whereabouts>, asked: bool, len_bytes: u64) -> bool {
        let (announced_bytes, is_asked) = match at {
            None => return !asked,
            Some(Whereabouts::Incoming(id)) => match self.incoming.get(id) {
                Some(incoming) => (incoming.len_bytes, incoming.is_asked),
                None => return false,
            },
            Some(at) => match self.waiting_at(at) {
                Some(message) => (message.len_bytes, false),
                None => return false,
            },
        };
        len_bytes == announced_bytes && (is_asked || !asked)
    }

    /// A message that has met no receive.
    fn waiting_at(&mut self, at: Whereabouts) -> Option<&mut Message> {
        match at {
            Whereabouts::Unexpected(space, id) => {
                self.spaces[usize::from(space)].unexpected.get_mut(id)
            }
            Whereabouts::Claimed(id) => Some(&mut self.claimed.get_mut(id)?.message),
            Whereabouts::Incoming(_) => None,
        }
    }

    /// A message that has met a receive is here.
    fn arrive(&mut self, from: PeerNumber, id: Id, payload: &[u8]) {
        let Some(incoming) = self.incoming.remove(id) else {
            return;
        };
        self.peers[from].asked -= u32::from(incoming.is_asked);
        if let Goal::Receive {
            tag,
            envelope,
            slot: Some(slot),
        } = incoming.goal
        {
            self.place(from, tag, envelope, slot, payload);
        }
    }
}
