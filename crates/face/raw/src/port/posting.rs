//! Buffers for messages on normal channels: posted by channel, or given by a matcher.

use std::sync::Arc;

use bcl_tier::{Arrival, Piece, Pieces, Target, Upcalls};
use bcl_types::{OpError, OpId};

use super::{RawPort, check_channel, memory_of};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::ops::{Held, Op};
use crate::state::State;

/// Posts that a port may have waiting.
pub const POSTS_MAX: usize = 65536;

impl<M: Matcher> RawPort<M> {
    /// Names an operation for a buffer that the matcher is going to give to a message, or
    /// [`accept`](Self::accept) to one that waits.
    #[inline]
    pub fn begin_post(
        &mut self,
        start: *mut u8,
        capacity_bytes: usize,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<Target, Error> {
        let memory = Pieces::one(start, capacity_bytes);
        let op = self.start_post(Op::new(cookie, buffer))?;
        Ok(Target { memory, op })
    }

    /// The same for a buffer in several pieces, at most [`PIECES_MAX`](crate::PIECES_MAX): a message is scattered to them,
    /// and fills one after the other.
    pub fn begin_post_pieces(
        &mut self,
        pieces: Arc<[Piece]>,
        cookie: u64,
    ) -> Result<Target, Error> {
        // SAFETY: the operation keeps the table.
        let memory = unsafe { memory_of(&pieces) }?;
        let op = self.start_post(Op::new(cookie, Held::Pieces(pieces)))?;
        Ok(Target { memory, op })
    }

    #[inline]
    fn start_post(&mut self, op: Op) -> Result<OpId, Error> {
        self.check()?;
        self.check_background()?;
        if self.state.matcher.posted() >= POSTS_MAX {
            return Err(Error::QueueFull { limit: POSTS_MAX });
        }
        Ok(self.state.ops.insert(op))
    }

    /// Gives a buffer to a message that waits. False if the message has gone meanwhile.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    pub unsafe fn accept(&mut self, arrival: &Arrival, target: Target) -> bool {
        let op = target.op;
        // Before, for this may be the end of the operation.
        self.state.note_immediate(op, arrival.immediate);
        let is_there = self.tiers.accept(arrival.message, target, &mut self.state);
        if !is_there {
            // The buffer has met nobody.
            self.state.note_immediate(op, 0);
        }
        self.mind_watchers();
        is_there
    }

    /// The matcher has taken a buffer back that no message has met: ends its operation.
    pub fn end_post(&mut self, channel: u16, op: OpId) {
        let from = self.address();
        self.state
            .received(from, channel, op, 0, Err(OpError::Canceled));
        self.mind_watchers();
    }
}

impl RawPort {
    /// Posts a buffer on a normal channel.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    pub unsafe fn post(
        &mut self,
        channel: u16,
        start: *mut u8,
        capacity_bytes: usize,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        check_channel(channel)?;
        let target = self.begin_post(start, capacity_bytes, buffer, cookie)?;
        // SAFETY: by the contract.
        unsafe { self.place_post(channel, target) };
        Ok(())
    }

    /// Posts a buffer in several pieces, at most [`PIECES_MAX`](crate::PIECES_MAX), on a normal channel.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    pub unsafe fn post_pieces(
        &mut self,
        channel: u16,
        pieces: Arc<[Piece]>,
        cookie: u64,
    ) -> Result<(), Error> {
        check_channel(channel)?;
        let target = self.begin_post_pieces(pieces, cookie)?;
        // SAFETY: by the contract; the operation keeps the table.
        unsafe { self.place_post(channel, target) };
        Ok(())
    }

    /// Gives a buffer to the oldest message on the channel, or keeps it for the next.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    unsafe fn place_post(&mut self, channel: u16, target: Target) {
        loop {
            let Some(arrival) = self.state.matcher.next_message(channel) else {
                self.state.matcher.post(channel, target);
                self.mind_watchers();
                return;
            };
            // SAFETY: by the contract.
            if unsafe { self.accept(&arrival, target) } {
                return;
            }
        }
    }

    /// Takes back the oldest post with this cookie that no message has met.
    pub fn cancel_post(&mut self, channel: u16, cookie: u64) -> Result<(), Error> {
        self.check()?;
        check_channel(channel)?;
        let State { matcher, ops, .. } = &mut self.state;
        let wanted = |target: &Target| ops.get(target.op).is_some_and(|op| op.cookie == cookie);
        let Some(target) = matcher.cancel(channel, wanted) else {
            return Err(Error::NotFound(format!(
                "no buffer with cookie {cookie} waits on channel {channel}: it was filled, is being filled, or was never posted"
            )));
        };
        self.end_post(channel, target.op);
        Ok(())
    }
}
