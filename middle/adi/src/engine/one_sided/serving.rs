//! Doing what a peer asks for, where it is permitted: at once, in the order in which it was asked for.

use bcl_types::{Access, Refusal};

use super::replying::Reply;
use super::{REQUESTS_MAX, SERVED_MAX};
use crate::atomics::Atomic;
use crate::carrier::Carrier;
use crate::completion::{Completion, Ended};
use crate::engine::Engine;
use crate::engine::arriving::Wrong;
use crate::engine::meeting::{Goal, Incoming};
use crate::engine::sending::{Outgoing, Purpose};
use crate::error::Error;
use crate::header::Comes;
use crate::header::one_sided::{At, OneSided as Said, SHORT_MAX};
use crate::matching::PeerNumber;
use crate::memory::Memory;
use crate::peers::Task;
use crate::regions::Place;

impl Engine {
    /// A peer has said something of one-sided operations, its own or ours.
    pub(in crate::engine) fn one_sided_said<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        said: Said,
        payload: &[u8],
    ) -> Result<Result<(), Wrong>, Error> {
        let is_request = matches!(
            said,
            Said::Put { .. } | Said::Get { .. } | Said::Atomic { .. } | Said::Write { .. }
        );
        let peer = &self.peers[from];
        if is_request && (peer.replies.len() >= REQUESTS_MAX || peer.served >= SERVED_MAX) {
            return Ok(Err(Wrong));
        }
        match said {
            Said::Put { at, data } => self.put(from, at, data, payload),
            Said::Get { at, len_bytes } => self.get(carrier, from, at, len_bytes)?,
            Said::Atomic {
                at,
                atomic,
                count,
                fetches,
            } => {
                let count = count as usize;
                let is_right = count <= SHORT_MAX
                    && count * atomic.datum().size_bytes() <= SHORT_MAX
                    && atomic.sent_bytes(count) == payload.len();
                if !is_right {
                    return Ok(Err(Wrong));
                }
                self.change_for(carrier, from, at, (atomic, count, fetches), payload)?;
            }
            Said::Write {
                at,
                data,
                len_bytes,
                name,
                comes,
            } => self.written(carrier, from, at, (data, len_bytes), (name, comes))?,
            answer => return self.answered(carrier, from, answer, payload),
        }
        Ok(Ok(()))
    }

    fn put(&mut self, from: PeerNumber, at: At, data: Option<u64>, payload: &[u8]) {
        match self.find(at, payload.len() as u64, Access::PUT) {
            Ok(place) => {
                // SAFETY: who exposed it vouches for it; the payload lies in a message.
                unsafe { place.start.copy_from(payload.as_ptr(), payload.len()) };
                self.owe(from, Reply::Done(1));
                self.tell_written(from, data, payload.len() as u64);
            }
            Err(why) => self.owe(from, Reply::Refused(why)),
        }
    }

    fn get<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        at: At,
        len_bytes: u64,
    ) -> Result<(), Error> {
        match self.find(at, len_bytes, Access::GET) {
            Ok(place) if len_bytes <= SHORT_MAX as u64 => {
                let memory = Memory::to_read(place.start, len_bytes as usize);
                // SAFETY: who exposed it vouches for it.
                unsafe { self.reply_with(carrier, from, &memory) }
            }
            Ok(place) => {
                let comes = self.how_bodies_come(carrier, from);
                let peer = &mut self.peers[from];
                peer.served += 1;
                let name = self.outgoing.insert(Outgoing {
                    to: from,
                    life: peer.life,
                    comes,
                    memory: Memory::to_read(place.start, len_bytes as usize),
                    purpose: Purpose::Serve { _place: place },
                    turn: None,
                    is_asked: false,
                    is_leaving: false,
                    kept: None,
                    quiet: true,
                    context: 0,
                    mark: 0,
                });
                if comes == Comes::Unasked {
                    self.count_unasked(from);
                }
                self.owe(from, Reply::Body(name));
                self.reply(carrier, from)
            }
            Err(why) => {
                self.owe(from, Reply::Refused(why));
                Ok(())
            }
        }
    }

    fn change_for<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        at: At,
        (atomic, count, fetches): (Atomic, usize, bool),
        payload: &[u8],
    ) -> Result<(), Error> {
        let len_bytes = count * atomic.datum().size_bytes();
        let place = match self.find(at, len_bytes as u64, atomic.needs(fetches)) {
            Ok(place) => place,
            Err(why) => {
                self.owe(from, Reply::Refused(why));
                return Ok(());
            }
        };
        if !fetches {
            // SAFETY: who exposed it vouches for it; the payload was looked at.
            unsafe { atomic.apply(place.start, count, payload, None) };
            self.owe(from, Reply::Done(1));
            return Ok(());
        }
        let mut found = std::mem::take(&mut self.elements);
        found.resize(len_bytes, 0);
        // SAFETY: as above.
        unsafe { atomic.apply(place.start, count, payload, Some(&mut found)) };
        let memory = Memory::to_read(found.as_ptr(), found.len());
        // SAFETY: it is here.
        let replied = unsafe { self.reply_with(carrier, from, &memory) };
        self.elements = found;
        replied
    }

    /// What is long comes as a body.
    fn written<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        at: At,
        (data, len_bytes): (Option<u64>, u64),
        (name, comes): (u64, Comes),
    ) -> Result<(), Error> {
        let place = match self.find(at, len_bytes, Access::PUT) {
            Ok(place) => Some(place),
            Err(why) => {
                self.owe(from, Reply::Unwanted(name, why));
                if comes != Comes::Unasked {
                    return Ok(());
                }
                None
            }
        };
        let peer = &mut self.peers[from];
        peer.served += 1;
        let incoming = self.incoming.insert(Incoming {
            from,
            life: peer.life,
            name,
            comes,
            len_bytes,
            goal: Goal::Put { place, data },
            is_expected: false,
            is_asked: false,
        });
        self.attempt(carrier, from, Task::Ask(incoming))
    }

    /// Tells the program what has been written, if whoever did it wants that.
    pub(in crate::engine) fn tell_written(
        &mut self,
        from: PeerNumber,
        data: Option<u64>,
        len_bytes: u64,
    ) {
        if data.is_some() {
            let address = self.peers[from].address;
            self.completions.push_back(Completion {
                data,
                len_bytes,
                ..Completion::new(Ended::Written, address, (0, 0))
            });
        }
    }

    fn find(&self, at: At, len_bytes: u64, need: Access) -> Result<Place, Refusal> {
        self.regions.find(at.key, at.address, len_bytes, need)
    }
}
