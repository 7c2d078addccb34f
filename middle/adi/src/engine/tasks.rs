//! What is said to a peer besides new messages: at once if there is room, else later. None of it has a place in the order of
//! messages.

use bcl_raw::Error as PortError;
use bcl_raw::slab::Id;

use super::Engine;
use super::sending::QUEUED_MAX;
use crate::carrier::Carrier;
use crate::error::Error;
use crate::header::{Comes, Header, Kind};
use crate::matching::PeerNumber;
use crate::memory::Memory;
use crate::peers::{LANES, Task};

/// Messages that a peer may be asked for at a time.
const ASKED_MAX: u32 = 64;

/// Whether a task is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Done,
    Later,
}

impl Engine {
    /// Does a task, or puts it behind those of its lane that wait.
    pub(super) fn attempt<C: Carrier>(
        &mut self,
        carrier: &mut C,
        number: PeerNumber,
        task: Task,
    ) -> Result<(), Error> {
        let is_first = self.peers[number].lane(task).is_empty();
        if is_first && self.perform(carrier, number, task)? == Progress::Done {
            return Ok(());
        }
        self.peers[number].lane(task).push_back(task);
        self.wait_for_room(number);
        Ok(())
    }

    /// The peer has a backlog.
    pub(super) fn wait_for_room(&mut self, number: PeerNumber) {
        if !std::mem::replace(&mut self.peers[number].is_waiting, true) {
            self.waiting.push_back(number);
        }
    }

    /// Whether anything waits for room.
    #[inline]
    pub fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Does what waits, as far as there is room: each peer's in turn.
    pub fn catch_up<C: Carrier>(&mut self, carrier: &mut C) -> Result<(), Error> {
        for _ in 0..self.waiting.len() {
            let Some(&number) = self.waiting.front() else {
                break;
            };
            self.catch_up_with(carrier, number)?;
            self.waiting.pop_front();
            if self.peers[number].has_backlog() {
                self.waiting.push_back(number);
            } else {
                self.peers[number].is_waiting = false;
            }
        }
        Ok(())
    }

    fn catch_up_with<C: Carrier>(
        &mut self,
        carrier: &mut C,
        number: PeerNumber,
    ) -> Result<(), Error> {
        self.reply(carrier, number)?;
        for lane in 0..LANES {
            while let Some(&task) = self.peers[number].backlog[lane].front() {
                if self.perform(carrier, number, task)? == Progress::Later {
                    break;
                }
                self.peers[number].backlog[lane].pop_front();
            }
        }
        Ok(())
    }

    fn perform<C: Carrier>(
        &mut self,
        carrier: &mut C,
        peer: PeerNumber,
        task: Task,
    ) -> Result<Progress, Error> {
        if self.peers[peer].queued >= QUEUED_MAX {
            return Ok(Progress::Later);
        }
        let done = match task {
            Task::Credit => self.say_short(carrier, peer, Kind::Credit),
            Task::Refuse(name) => {
                let wanted = false;
                self.say_short(carrier, peer, Kind::Cts { name, wanted })
            }
            Task::Ask(incoming) => return self.ask(carrier, peer, incoming),
            Task::Answer(outgoing) => return self.answer(carrier, peer, outgoing),
            Task::Push => return self.push(carrier, peer),
        };
        progress(done)
    }

    /// Asks for a message that has met a receive, or prepares for it if it comes unasked.
    fn ask<C: Carrier>(
        &mut self,
        carrier: &mut C,
        peer: PeerNumber,
        id: Id,
    ) -> Result<Progress, Error> {
        let Some(incoming) = self.incoming.get(id) else {
            return Ok(Progress::Done);
        };
        let (name, comes) = (incoming.name, incoming.comes);
        if comes != Comes::Unasked && self.peers[peer].asked >= ASKED_MAX {
            return Ok(Progress::Later);
        }
        if comes != Comes::AsData && !incoming.is_expected {
            let address = self.peers[peer].address;
            // SAFETY: whoever posted the receive keeps the memory until its completion.
            let expected = unsafe { carrier.receive_body(address, name, &incoming.memory(), id) };
            if progress(expected)? == Progress::Later {
                return Ok(Progress::Later);
            }
            if let Some(incoming) = self.incoming.get_mut(id) {
                incoming.is_expected = true;
            }
        }
        if comes == Comes::Unasked {
            return Ok(Progress::Done);
        }
        let wanted = true;
        let asked = self.say_short(carrier, peer, Kind::Cts { name, wanted });
        if progress(asked)? == Progress::Later {
            return Ok(Progress::Later);
        }
        self.peers[peer].asked += 1;
        if let Some(incoming) = self.incoming.get_mut(id) {
            incoming.is_asked = true;
        }
        Ok(Progress::Done)
    }

    /// Sends a message that was announced.
    fn answer<C: Carrier>(
        &mut self,
        carrier: &mut C,
        peer: PeerNumber,
        name: Id,
    ) -> Result<Progress, Error> {
        let Some(outgoing) = self.outgoing.get(name) else {
            return Ok(Progress::Done);
        };
        let memory = outgoing.memory.clone();
        match outgoing.comes {
            Comes::AsData => {
                let kind = Kind::Data { name, asked: true };
                // SAFETY: the memory is kept, or whoever sent it keeps it until the completion; it is short.
                let said = unsafe { self.say(carrier, peer, kind, 0, Some(&memory)) };
                let progress = progress(said)?;
                if progress == Progress::Done {
                    self.end_outgoing(name, Ok(()));
                }
                Ok(progress)
            }
            // Those that were asked for wait for none that were not: their memory is there, that of the others may never be.
            Comes::AsBody | Comes::Unasked => {
                let address = self.peers[peer].address;
                // SAFETY: as above.
                let sent = unsafe { carrier.send_body(address, name, &memory) };
                let progress = progress(sent)?;
                if progress == Progress::Done {
                    if let Some(outgoing) = self.outgoing.get_mut(name) {
                        outgoing.is_leaving = true;
                    }
                }
                Ok(progress)
            }
        }
    }

    /// Says something to a peer, with a payload or without. Whether it has left, or only will, is noted.
    ///
    /// # Safety
    /// The memory of the payload can be read; with the header it is no longer than a system message.
    #[inline]
    pub(super) unsafe fn say<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        kind: Kind,
        tag: u64,
        payload: Option<&Memory>,
    ) -> Result<(), PortError> {
        let peer = &mut self.peers[to];
        let grant = peer.grant;
        let header = Header {
            limit: peer.grant.tell(),
            kind,
        };
        let mut len_bytes = header.write(&mut self.scratch[..]);
        if let Some(payload) = payload {
            let behind = &mut self.scratch[len_bytes..len_bytes + payload.len_bytes()];
            // SAFETY: by the contract.
            unsafe { payload.gather(behind) };
            len_bytes += payload.len_bytes();
        }
        let message = &self.scratch[..len_bytes];
        match carrier.send_system(peer.address, message, tag, peer.life) {
            Ok(has_left) => {
                peer.queued += u32::from(!has_left);
                Ok(())
            }
            Err(error) => {
                // The peer has not been told its limit.
                peer.grant = grant;
                Err(error)
            }
        }
    }

    #[inline]
    fn say_short<C: Carrier>(
        &mut self,
        carrier: &mut C,
        peer: PeerNumber,
        kind: Kind,
    ) -> Result<(), PortError> {
        // SAFETY: nothing is read.
        unsafe { self.say(carrier, peer, kind, 0, None::<&Memory>) }
    }
}

/// A port without room is no error of a task.
#[inline]
pub(super) fn progress(done: Result<(), PortError>) -> Result<Progress, Error> {
    match done {
        Ok(()) => Ok(Progress::Done),
        Err(PortError::QueueFull { .. }) => Ok(Progress::Later),
        Err(error) => Err(error.into()),
    }
}
