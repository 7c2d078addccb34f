//! One-sided operations, the requester's half: act directly on a mapped window, have the kernel read one that is not, else ask
//! the owner's thread.

use std::collections::VecDeque;
use std::sync::Arc;

use bcl_os::mapping::Mapping;
use bcl_os::sync::{Ordering, bump};
use bcl_rings::Corrupt;
use bcl_tier::page::Counter;
use bcl_tier::{Action, Piece, RmaOp, Upcalls, WINDOW_COUNT, apply};
use bcl_types::{Access, Address, OpError, OpId};

use super::incoming::Context;
use super::link::Link;
use super::message::{Kind, Message};
use super::outgoing::Outgoing;
use crate::cma::ReadError;

/// What the service thread found out about a peer's window.
#[derive(Debug, Clone)]
pub struct WindowInfo {
    pub len_bytes: u64,
    pub access: Access,
    /// Mapped here, so that we can act on it ourselves.
    pub mapping: Option<Arc<Mapping>>,
    /// Where it lies in the owner's address space.
    pub address: u64,
}

/// What is known of one of a peer's windows.
#[derive(Debug, Default)]
struct Known {
    /// Of the peer's page, when it told; 0 for never.
    epoch: u64,
    /// `None` if nothing was bound there.
    info: Option<WindowInfo>,
    is_asked: bool,
}

/// Windows that are remembered together, so that numbers far apart cost no more than those of neighbours.
const BLOCK: usize = 64;

/// What is known of a peer's windows; memory only for those that were asked for, and their neighbours.
#[derive(Debug, Default)]
struct Windows {
    blocks: Vec<Option<Box<[Known; BLOCK]>>>,
}

impl Windows {
    #[inline]
    fn get(&self, window: u16) -> Option<&Known> {
        let block = self.blocks.get(usize::from(window) / BLOCK)?.as_ref()?;
        Some(&block[usize::from(window) % BLOCK])
    }

    fn get_mut(&mut self, window: u16) -> &mut Known {
        let index = usize::from(window) / BLOCK;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, || None);
        }
        let block = self.blocks[index]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Known::default())));
        &mut block[usize::from(window) % BLOCK]
    }
}

/// The requester's half of a connection's one-sided operations.
#[derive(Debug, Default)]
pub struct Requester {
    windows: Windows,
    waiting: VecDeque<RmaOp>,
    with_owner: Vec<RmaOp>,
}

impl Requester {
    pub fn pending(&self) -> usize {
        self.waiting.len() + self.with_owner.len()
    }

    /// Keeps an operation until there is a connection.
    pub fn queue(&mut self, op: RmaOp) {
        self.waiting.push_back(op);
    }

    /// Performs an operation now if the window is mapped; else sees to it that it can be.
    #[inline]
    pub fn start(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        op: RmaOp,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        bump(ctx.counters.counter(Counter::RmaOut), 1);
        if !self.waiting.is_empty() || !self.try_now(link, out, &op, ctx, up)? {
            self.waiting.push_back(op);
        }
        Ok(())
    }

    /// Tries the operations that wait, in order.
    pub fn push(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        while let Some(op) = self.waiting.pop_front() {
            if !self.try_now(link, out, &op, ctx, up)? {
                self.waiting.push_front(op);
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn try_now(
        &mut self,
        link: &mut Link,
        out: &mut Outgoing,
        op: &RmaOp,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<bool, Corrupt> {
        let epoch = link.page.window_epoch(op.window).load(Ordering::Acquire);
        let known = self.windows.get(op.window);
        let Some(known) = known.filter(|known| known.epoch == epoch && epoch != 0) else {
            if epoch == 0 || op.window >= WINDOW_COUNT {
                up.rma_done(ctx.from, op.window, op.op, 0, Err(OpError::NoWindow));
                return Ok(true);
            }
            let known = self.windows.get_mut(op.window);
            if !std::mem::replace(&mut known.is_asked, true) {
                ctx.service.ask_window(link.id, op.window);
            }
            return Ok(false);
        };
        let Some(info) = &known.info else {
            up.rma_done(ctx.from, op.window, op.op, 0, Err(OpError::NoWindow));
            return Ok(true);
        };
        let (len_bytes, need) = (op.action.len_bytes(), op.action.need());
        let permitted = info
            .access
            .check(info.len_bytes, op.offset, len_bytes, need);
        if let Err(refusal) = permitted {
            up.rma_done(ctx.from, op.window, op.op, 0, Err(refusal.into()));
            return Ok(true);
        }
        let Some(mapping) = &info.mapping else {
            // In their order: those that the owner performs come first.
            let is_next = self.with_owner.is_empty();
            if is_next && read(link, info.address, op) && still_is(link, op.window, epoch) {
                up.rma_done(ctx.from, op.window, op.op, 0, Ok(()));
            } else {
                self.with_owner.push(*op);
                ctx.service.request(link.id, *op);
            }
            return Ok(true);
        };
        let notify = info.access.contains(Access::NOTIFY) && op.action.writes();
        let result = act(mapping, op);
        if notify && result.is_ok() {
            let args = [op.offset, op.action.len_bytes(), 0, 0, 0, 0];
            out.control(Message::control(Kind::Notice, op.window, args));
        }
        up.rma_done(
            ctx.from,
            op.window,
            op.op,
            result.unwrap_or(0),
            result.map(|_| ()),
        );
        Ok(true)
    }

    /// The service thread has learned how a window can be reached, which it had been asked.
    pub fn on_window(&mut self, window: u16, epoch: u64, info: Option<WindowInfo>) {
        *self.windows.get_mut(window) = Known {
            epoch,
            info,
            is_asked: false,
        };
    }

    /// The owner's thread has served an operation.
    pub fn on_done(
        &mut self,
        op: OpId,
        result: Result<u64, OpError>,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        if let Some(index) = self.with_owner.iter().position(|other| other.op == op) {
            let op = self.with_owner.remove(index);
            up.rma_done(
                ctx.from,
                op.window,
                op.op,
                result.unwrap_or(0),
                result.map(|_| ()),
            );
        }
    }

    /// Ends everything with an error.
    pub fn fail_all(&mut self, error: OpError, peer: Address, up: &mut impl Upcalls) {
        for op in self.with_owner.drain(..).chain(self.waiting.drain(..)) {
            up.rma_done(peer, op.window, op.op, 0, Err(error));
        }
    }
}

/// Has the kernel read a window of the peer's, whose range has been checked, if that is asked for. False: nothing has been read,
/// or something else.
fn read(link: &mut Link, window_address: u64, op: &RmaOp) -> bool {
    let (Action::Get { to, len_bytes }, Ok(memory)) = (op.action, &link.memory) else {
        return false;
    };
    let address = window_address.wrapping_add(op.offset) as usize;
    let from = Piece::to_read(address as *const u8, len_bytes);
    let to = Piece {
        start: to,
        len_bytes,
    };
    match memory.read(&[from], &[to], 0, len_bytes) {
        Ok(()) => true,
        Err(ReadError::Refused(errno)) => {
            link.stop_reading(errno);
            false
        }
        // If the peer has ended its socket tells; if the memory is of a kind that only the peer can read, it is asked.
        Err(ReadError::NotMapped | ReadError::NotThePeer) => false,
    }
}

/// Whether a window is still what it was: what was read after it was unbound may be anything.
fn still_is(link: &Link, window: u16, epoch: u64) -> bool {
    !link.was_closing() && link.page.window_epoch(window).load(Ordering::Acquire) == epoch
}

/// Acts on a mapped window; the range has been checked against the window, which is not longer than the mapping.
#[inline]
fn act(mapping: &Mapping, op: &RmaOp) -> Result<u64, OpError> {
    let at = mapping.start().as_ptr().wrapping_add(op.offset as usize);
    // SAFETY: the range lies in the mapping; our own memory is vouched for by the poster.
    unsafe {
        match op.action {
            Action::Put { from, len_bytes } => {
                bcl_os::copy(from, at, len_bytes);
                Ok(0)
            }
            Action::Get { to, len_bytes } => {
                bcl_os::copy(at, to, len_bytes);
                Ok(0)
            }
            Action::Atomic(atomic) => Ok(apply(at, atomic)?),
        }
    }
}
