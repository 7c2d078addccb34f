//! What a peer answers to our requests.

use bcl_types::{OpError, Refusal};

use crate::carrier::Carrier;
use crate::engine::Engine;
use crate::engine::arriving::Wrong;
use crate::engine::meeting::{Goal, Incoming};
use crate::engine::sending::{Fate, Purpose};
use crate::error::Error;
use crate::header::Comes;
use crate::header::one_sided::OneSided as Said;
use crate::matching::PeerNumber;
use crate::peers::Task;

use super::Request;

impl Engine {
    pub(super) fn answered<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        said: Said,
        payload: &[u8],
    ) -> Result<Result<(), Wrong>, Error> {
        match said {
            Said::Done { count } => Ok(self.done(from, count)),
            Said::Value => Ok(self.value(from, payload)),
            Said::Refused { why } => Ok(self.refused(from, why)),
            Said::Unwanted { name, why } => Ok(self.unwanted(from, name, why)),
            Said::Body {
                len_bytes,
                name,
                comes,
            } => self.body_follows(carrier, from, len_bytes, name, comes),
            Said::Put { .. } | Said::Get { .. } | Said::Atomic { .. } | Said::Write { .. } => {
                Ok(Err(Wrong))
            }
        }
    }

    /// The oldest request, if it waits for what has come.
    fn oldest(
        &mut self,
        from: PeerNumber,
        fits: impl FnOnce(&Request) -> bool,
    ) -> Result<Request, Wrong> {
        let requests = &mut self.peers[from].requests;
        let request = requests.pop_front().ok_or(Wrong)?;
        if !fits(&request) {
            // It ends with the peer.
            requests.push_front(request);
            return Err(Wrong);
        }
        self.requests -= 1;
        Ok(request)
    }

    fn done(&mut self, from: PeerNumber, count: u64) -> Result<(), Wrong> {
        for _ in 0..count {
            let request = self.oldest(from, |request| request.memory.is_none())?;
            self.request_ended(self.peers[from].address, &request, Ok(()));
        }
        Ok(())
    }

    fn value(&mut self, from: PeerNumber, payload: &[u8]) -> Result<(), Wrong> {
        let fits = |request: &Request| {
            request.memory.is_some() && request.len_bytes == payload.len() as u64
        };
        let request = self.oldest(from, fits)?;
        if let Some(memory) = &request.memory {
            // SAFETY: whoever asked for it vouches for the memory until the completion; it is as long.
            unsafe { memory.scatter(payload) };
        }
        self.request_ended(self.peers[from].address, &request, Ok(()));
        Ok(())
    }

    fn refused(&mut self, from: PeerNumber, why: Refusal) -> Result<(), Wrong> {
        let request = self.oldest(from, |_| true)?;
        self.request_ended(self.peers[from].address, &request, Err(why.into()));
        Ok(())
    }

    /// A body of ours gets no memory. If nobody has asked for it, it has left all the same, and ends as one that is too long.
    fn unwanted(&mut self, from: PeerNumber, name: u64, why: Refusal) -> Result<(), Wrong> {
        let outgoing = self.outgoing.get_mut(name).ok_or(Wrong)?;
        let Purpose::Put(fate) = &mut outgoing.purpose else {
            return Err(Wrong);
        };
        if outgoing.to != from || outgoing.is_asked || matches!(fate, Fate::Refused(_)) {
            return Err(Wrong);
        }
        let has_ended = *fate == Fate::HadNoMemory;
        *fate = Fate::Refused(why);
        if has_ended || outgoing.comes != Comes::Unasked {
            self.end_outgoing(name, Err(why.into()));
        }
        Ok(())
    }

    /// A body of ours has ended. `None`: it had no memory, and why the peer has not said yet.
    pub(in crate::engine) fn put_ended(
        &mut self,
        name: u64,
        result: Result<(), OpError>,
    ) -> Option<Result<(), OpError>> {
        let outgoing = self.outgoing.get_mut(name)?;
        let Purpose::Put(fate) = &mut outgoing.purpose else {
            return Some(result);
        };
        match (result, *fate) {
            (_, Fate::Refused(why)) => Some(Err(why.into())),
            (Err(OpError::Truncated { .. }), _) => {
                *fate = Fate::HadNoMemory;
                outgoing.is_leaving = false;
                None
            }
            (result, _) => Some(result),
        }
    }

    fn body_follows<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        len_bytes: u64,
        name: u64,
        comes: Comes,
    ) -> Result<Result<(), Wrong>, Error> {
        let fits = |request: &Request| request.memory.is_some() && request.len_bytes == len_bytes;
        let Ok(request) = self.oldest(from, fits) else {
            return Ok(Err(Wrong));
        };
        let peer = &mut self.peers[from];
        peer.bodies += 1;
        let incoming = self.incoming.insert(Incoming {
            from,
            life: peer.life,
            name,
            comes,
            len_bytes,
            goal: Goal::Get(request),
            is_expected: false,
            is_asked: false,
        });
        self.attempt(carrier, from, Task::Ask(incoming))?;
        Ok(Ok(()))
    }
}
