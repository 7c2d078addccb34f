//! Sending, and taking sends back.

use std::sync::Arc;

use bcl_tier::page::Counter;
use bcl_tier::{NormalSend, Piece, Source};
use bcl_types::{Address, OpId, SYSTEM_MAX};

use super::{RawPort, check_channel, check_peer, memory_of};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::ops::{Held, Op};
use crate::state::State;

impl<M: Matcher> RawPort<M> {
    /// Sends a small message to the peer's system channel, and 64 bits with it. The data may be changed at once.
    #[inline]
    pub fn send_system(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        if data.len() > SYSTEM_MAX {
            return Err(too_long_for_system(data.len(), SYSTEM_MAX));
        }
        if self.start_system(to, data, immediate, cookie)? {
            self.state.sent_at_once(to, cookie, data.len() as u64);
            self.mind_watchers();
        }
        Ok(())
    }

    /// Longest message that [`start_system`](Self::start_system) sends to this peer now: [`SYSTEM_MAX`], or
    /// [`LONG_SYSTEM_MAX`](bcl_types::LONG_SYSTEM_MAX) if there is a connection over which long ones go.
    pub fn system_max(&mut self, to: Address) -> usize {
        self.tiers.system_max(to, &mut self.state)
    }

    /// As [`send_system`](Self::send_system), but a message that leaves at once, as most do, has no event. True: it has. And it
    /// may be as long as [`system_max`](Self::system_max) says: for ports whose peers know of that.
    #[inline]
    pub fn start_system(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        cookie: u64,
    ) -> Result<bool, Error> {
        self.check_room()?;
        check_peer(to)?;
        if data.len() > SYSTEM_MAX {
            let longest = self.system_max(to);
            if data.len() > longest {
                return Err(too_long_for_system(data.len(), longest));
            }
        }
        let name = |state: &mut State<M>| state.ops.insert(Op::new(cookie, None));
        let sent = self
            .tiers
            .send_system(to, data, immediate, &mut self.state, name);
        self.mind_watchers();
        Ok(sent)
    }

    /// Longest unreliable message that this peer can be sent now.
    pub fn unreliable_max(&mut self, to: Address) -> Result<usize, Error> {
        self.check()?;
        check_peer(to)?;
        Ok(self.tiers.unreliable_max(to, &mut self.state))
    }

    /// Sends a message to the peer's system channel that may be lost.
    #[inline]
    pub fn send_unreliable(&mut self, to: Address, data: &[u8]) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        check_peer(to)?;
        let sent = self.tiers.send_unreliable(to, data, &mut self.state);
        let was_taken = sent.map_err(|limit| {
            Error::invalid(format!(
                "{} bytes for an unreliable message to {to}, which takes at most {limit}: send less, or a message that is reliable",
                data.len()
            ))
        })?;
        if !was_taken {
            self.count(Counter::UnreliableUnsent);
        }
        self.mind_watchers();
        Ok(())
    }

    /// Sends on a normal channel, and 64 bits with the message, which the receiver is told before it gives a buffer.
    /// Returns the name of the operation, which may be complete.
    ///
    /// # Safety
    /// The source stays valid and unchanged until the completion event.
    #[inline]
    pub unsafe fn send(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        immediate: u64,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<OpId, Error> {
        // SAFETY: by the contract.
        unsafe { self.start_send(to, channel, source, immediate, Op::new(cookie, buffer)) }
    }

    /// Sends a message that is gathered from several pieces of memory, at most
    /// [`PIECES_MAX`](crate::PIECES_MAX).
    ///
    /// # Safety
    /// The pieces stay valid and unchanged until the completion event.
    pub unsafe fn send_pieces(
        &mut self,
        to: Address,
        channel: u16,
        pieces: Arc<[Piece]>,
        immediate: u64,
        cookie: u64,
    ) -> Result<OpId, Error> {
        let source = Source {
            // SAFETY: the operation keeps the table.
            memory: unsafe { memory_of(&pieces) }?,
            region: None,
        };
        let op = Op::new(cookie, Held::Pieces(pieces));
        // SAFETY: by the contract; the operation keeps the table.
        unsafe { self.start_send(to, channel, source, immediate, op) }
    }

    /// # Safety
    /// The source stays valid and unchanged until the completion event.
    #[inline]
    unsafe fn start_send(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        immediate: u64,
        op: Op,
    ) -> Result<OpId, Error> {
        self.check_room()?;
        check_peer(to)?;
        check_channel(channel)?;
        let op = self.state.ops.insert(op);
        let send = NormalSend {
            op,
            channel,
            immediate,
            source,
        };
        self.tiers.send_normal(to, send, &mut self.state);
        self.mind_watchers();
        Ok(op)
    }

    /// Takes back the oldest send to this peer with this cookie, on a normal channel, that has not begun: neither a byte nor
    /// the announcement of it has left. It ends with *canceled* ([SEM-4.9]).
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none; a send that has begun goes on.
    pub fn cancel_send(&mut self, to: Address, cookie: u64) -> Result<(), Error> {
        let has_cookie =
            |state: &State<M>, op| state.ops.get(op).is_some_and(|op| op.cookie == cookie);
        self.cancel_first(to, &format!("send with cookie {cookie}"), has_cookie)
    }

    /// As [`cancel_send`](Self::cancel_send), by the name that [`send`](Self::send) has returned.
    ///
    /// # Errors
    /// As there.
    pub fn cancel_send_op(&mut self, to: Address, op: OpId) -> Result<(), Error> {
        self.cancel_first(to, &format!("send {op:#x}"), |_, other| other == op)
    }

    fn cancel_first(
        &mut self,
        to: Address,
        what: &str,
        wanted: impl Fn(&State<M>, OpId) -> bool,
    ) -> Result<(), Error> {
        self.check()?;
        check_peer(to)?;
        if !self.tiers.cancel_send(to, &mut self.state, wanted) {
            return Err(Error::NotFound(format!(
                "no {what} to {to} can be taken back: it has begun, has ended, or was never made"
            )));
        }
        self.mind_watchers();
        Ok(())
    }
}

fn too_long_for_system(len_bytes: usize, longest: usize) -> Error {
    Error::invalid(format!(
        "{len_bytes} bytes for the system channel, which takes at most {longest}: use a normal channel"
    ))
}
