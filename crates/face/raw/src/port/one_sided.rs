//! Windows of one's own, and operations on those of peers.

use bcl_tier::{Action, RmaOp, WindowMemory};
use bcl_types::{Access, Address};

use super::{RawPort, check_peer};
use crate::buffer::Buffer;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::ops::Op;

impl<M: Matcher> RawPort<M> {
    /// Binds memory to an open channel. Memory of a DMA buffer may be moved, at the same addresses, to where an interface program
    /// can act on it: that takes a moment.
    ///
    /// # Safety
    /// The memory stays valid until it is unbound; peers read and write it meanwhile. Nobody else writes to it until this
    /// returns.
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
        if self.tiers.shared().windows().get(window).is_some() {
            return Err(Error::Busy(format!(
                "open channel {window} has memory bound to it: unbind it first"
            )));
        }
        // SAFETY: the caller vouches for the memory.
        let memory = unsafe { WindowMemory::new(start, len_bytes) };
        self.tiers.bind(window, &memory, access, &mut self.state);
        self.mind_watchers();
        let shared = self.tiers.shared();
        let mut windows = shared.windows();
        windows.bind(&shared.page, window, memory, access);
        Ok(())
    }

    /// Ends a window. When this returns, no thread of this process acts on the memory for a peer any more;
    /// a peer that mapped a DMA buffer finds out before its next operation. An interface program acts on it neither, which may
    /// take a moment.
    pub fn unbind(&mut self, window: u16) -> Result<(), Error> {
        self.check()?;
        let shared = self.tiers.shared();
        // Kept until nobody acts on it any more.
        let memory = shared.windows().unbind(&shared.page, window);
        if memory.is_none() {
            return Err(Error::NotFound(format!(
                "open channel {window} has no memory bound to it"
            )));
        }
        self.tiers.unbind(window, &mut self.state);
        self.mind_watchers();
        Ok(())
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
