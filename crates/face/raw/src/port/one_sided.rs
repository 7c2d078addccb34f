//! Windows of one's own, and operations on those of peers.

use bcl_tier::{Action, RmaOp};
use bcl_types::{Access, Address};

use super::{RawPort, check_peer};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::ops::Op;

impl<M: Matcher> RawPort<M> {
    /// Binds memory to an open channel.
    ///
    /// # Safety
    /// The memory stays valid until it is unbound; peers read and write it meanwhile.
    pub unsafe fn bind(
        &mut self,
        window: u16,
        start: *mut u8,
        len_bytes: usize,
        access: Access,
    ) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        if window >= bcl_tier::WINDOW_COUNT {
            let last = bcl_tier::WINDOW_COUNT - 1;
            return Err(Error::invalid(format!(
                "open channel {window}: they are numbered 0 to {last}"
            )));
        }
        let shared = self.tiers.shared();
        let mut windows = shared.windows();
        // SAFETY: the caller vouches for the memory.
        if unsafe { windows.bind(&shared.page, window, start, len_bytes, access) } {
            Ok(())
        } else {
            Err(Error::Busy(format!(
                "open channel {window} has memory bound to it: unbind it first"
            )))
        }
    }

    /// Ends a window. When this returns, no thread of this process acts on the memory for a peer any more;
    /// a peer that mapped a DMA buffer finds out before its next operation.
    pub fn unbind(&mut self, window: u16) -> Result<(), Error> {
        self.check()?;
        let shared = self.tiers.shared();
        if shared.windows().unbind(&shared.page, window) {
            Ok(())
        } else {
            Err(Error::NotFound(format!(
                "open channel {window} has no memory bound to it"
            )))
        }
    }

    /// Starts a one-sided operation.
    ///
    /// # Safety
    /// The memory in `action` stays valid until the completion event.
    #[inline]
    pub unsafe fn rma(
        &mut self,
        peer: Address,
        window: u16,
        offset: u64,
        action: Action,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.check_room()?;
        check_peer(peer)?;
        let op = self.state.ops.insert(Op::new(cookie, buffer));
        self.tiers.rma(
            peer,
            RmaOp {
                op,
                window,
                offset,
                action,
            },
            &mut self.state,
        );
        self.mind_watchers();
        Ok(())
    }
}
