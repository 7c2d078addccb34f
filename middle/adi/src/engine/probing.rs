//! Probing, claiming, canceling: what programs do with receives and messages that have not met.

use bcl_raw::slab::Id;
use bcl_types::OpError;

use super::meeting::{Claimed, Lies, Slot, Waiting, Whereabouts};
use super::multi::is_over;
use super::receiving::Wanted;
use super::sending::check_space;
use super::{Completion, Ended, Engine};
use crate::carrier::Carrier;
use crate::completion::Probed;
use crate::error::Error;
use crate::header::Comes;
use crate::matching::Pattern;
use crate::memory::Memory;

impl Engine {
    /// Takes back the oldest receive with this context that still waits for messages. It ends with *canceled*, a multi-receive
    /// buffer once all that has met it is here.
    pub fn cancel(&mut self, space: u8, context: u64) -> Result<(), Error> {
        check_space(space)?;
        let posted = &mut self.spaces[usize::from(space)].posted;
        let found = posted.find(|_, waiting| waiting.context == context).next();
        let Some((pattern, waiting)) = found.and_then(|id| posted.remove(id)) else {
            return Err(Error::NotFound(
                "no receive with this context waits: a message has met it, or it was never posted",
            ));
        };
        self.end_waiting(space, &pattern, waiting, OpError::Canceled);
        Ok(())
    }

    /// A receive that was posted gets no message any more.
    pub(super) fn end_waiting(
        &mut self,
        space: u8,
        pattern: &Pattern,
        waiting: Waiting,
        error: OpError,
    ) {
        let mut released = true;
        if let Some(id) = waiting.multi {
            if let Some(multi) = self.multis.get_mut(id) {
                multi.closed = true;
            }
            released = is_over(&mut self.multis, id, 0);
        }
        self.completions.push_back(Completion {
            context: waiting.context,
            mark: waiting.mark,
            kind: Ended::Receive,
            peer: match pattern.source {
                Some(number) => self.peers[number].address,
                None => self.address,
            },
            space,
            tag: pattern.tag,
            data: None,
            len_bytes: 0,
            start: waiting.memory.address(),
            released,
            result: Err(error),
        });
    }

    /// The oldest message that waits and is wanted; it stays.
    pub fn probe(&mut self, wanted: &Wanted) -> Result<Option<Probed>, Error> {
        let pattern = self.pattern_of(wanted)?;
        let unexpected = &mut self.spaces[usize::from(wanted.space)].unexpected;
        let found = unexpected.first(&pattern);
        let Some((from, tag, message)) = found.and_then(|id| unexpected.get(id)) else {
            return Ok(None);
        };
        Ok(Some(Probed {
            from: self.peers[from].address,
            tag,
            data: message.envelope.data,
            len_bytes: message.len_bytes,
        }))
    }

    /// Whether a receive would ask for a message that its sender may have pushed by now.
    #[inline]
    pub fn would_ask(&mut self, wanted: &Wanted) -> Result<bool, Error> {
        if self.announced.is_empty() {
            return Ok(false);
        }
        let pattern = self.pattern_of(wanted)?;
        let unexpected = &mut self.spaces[usize::from(wanted.space)].unexpected;
        let found = unexpected.first(&pattern);
        let message = found.and_then(|id| unexpected.get(id));
        Ok(message
            .is_some_and(|(_, _, message)| matches!(message.lies, Lies::There(_, Comes::AsData))))
    }

    /// The same, and it is kept for a [`receive_claimed`](Self::receive_claimed) or a
    /// [`discard_claimed`](Self::discard_claimed), which has to follow.
    pub fn claim(&mut self, wanted: &Wanted) -> Result<Option<(Probed, Id)>, Error> {
        let Some(probed) = self.probe(wanted)? else {
            return Ok(None);
        };
        let pattern = self.pattern_of(wanted)?;
        let unexpected = &mut self.spaces[usize::from(wanted.space)].unexpected;
        let found = unexpected.first(&pattern);
        let claimed = found.and_then(|id| unexpected.remove(id));
        Ok(claimed.map(|(from, tag, message)| {
            let there = message.there();
            let claim = self.claimed.insert(Claimed { from, tag, message });
            if let Some(there) = there {
                self.note(from, there, Whereabouts::Claimed(claim));
            }
            (probed, claim)
        }))
    }

    /// Receives a message that was claimed.
    ///
    /// # Safety
    /// As for [`receive`](Self::receive).
    pub unsafe fn receive_claimed<C: Carrier>(
        &mut self,
        carrier: &mut C,
        claim: Id,
        memory: Memory,
        (context, mark): (u64, u8),
    ) -> Result<(), Error> {
        let Claimed { from, tag, message } = self.unclaim(claim)?;
        let slot = Slot {
            memory,
            context,
            mark,
            multi: None,
        };
        self.take(carrier, from, tag, message, Some(slot))
    }

    /// Gets rid of a message that was claimed. Its sender is told that it has arrived.
    pub fn discard_claimed<C: Carrier>(&mut self, carrier: &mut C, claim: Id) -> Result<(), Error> {
        let Claimed { from, tag, message } = self.unclaim(claim)?;
        self.take(carrier, from, tag, message, None)
    }

    fn unclaim(&mut self, claim: Id) -> Result<Claimed, Error> {
        let claimed = self.claimed.remove(claim);
        claimed.ok_or(Error::NotFound("no message is claimed under this name"))
    }
}
