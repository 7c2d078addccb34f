//! One-sided operations on memory that cannot be shared: the owner's thread acts for the requester.
//!
//! Long ones go in pieces, one under way at a time, so that the socket's buffer bounds what is in the kernel.

use bcl_os::sync::bump;
use bcl_tier::page::Counter;
use bcl_tier::{Action, RmaOp};
use bcl_types::{Address, OpError};

use super::control::{DATA_MAX, Packet, Request};
use super::linked;
use super::state::{Entry, State, Token};
use super::{Notice, ShmShared};
use crate::engine::link::LinkId;

/// An operation of a local port that a peer's thread serves.
#[derive(Debug)]
pub struct Job {
    op: RmaOp,
    done_bytes: usize,
}

/// Begins an operation.
pub fn start(state: &mut State, link: LinkId, op: RmaOp) {
    // If the connection has gone, the port fails its operations itself.
    let Some(token) = state.links.get(&link).copied() else {
        return;
    };
    let Some(Entry::Linked(linked)) = state.entries.get_mut(&token) else {
        return;
    };
    linked.jobs.push_back(Job { op, done_bytes: 0 });
    if linked.jobs.len() == 1 {
        ask(state, token);
    }
}

/// Asks for the next piece of the first job.
fn ask(state: &mut State, token: Token) {
    let Some(Entry::Linked(linked)) = state.entries.get(&token) else {
        return;
    };
    let Some(job) = linked.jobs.front() else {
        return;
    };
    let offset = job.op.offset + job.done_bytes as u64;
    let left =
        job.op.action.len_bytes() as usize - job.done_bytes.min(job.op.action.len_bytes() as usize);
    let piece = left.min(DATA_MAX);
    let (request, data): (_, &[u8]) = match job.op.action {
        // SAFETY: the requester vouches for its memory until the operation completes.
        Action::Put { from, .. } => (Request::Put, unsafe {
            bytes_at(from.wrapping_add(job.done_bytes), piece)
        }),
        Action::Get { .. } => (Request::Get(piece as u32), &[]),
        Action::Atomic(atomic) => (Request::Atomic(atomic), &[]),
    };
    let packet = Packet::Rma {
        token: job.op.op,
        window: job.op.window,
        offset,
        request,
    };
    linked::send(state, token, packet, data, None);
}

/// # Safety
/// The range is valid for reads while the result is used.
unsafe fn bytes_at<'a>(start: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for it.
    unsafe { std::slice::from_raw_parts(start, len) }
}

/// The peer has served a piece.
pub fn on_done(
    state: &mut State,
    token: Token,
    shared: &ShmShared,
    name: u64,
    result: Result<u64, OpError>,
    data: &[u8],
) {
    let Some(Entry::Linked(linked)) = state.entries.get_mut(&token) else {
        return;
    };
    let Some(job) = linked.jobs.front_mut().filter(|job| job.op.op == name) else {
        return;
    };
    let total = job.op.action.len_bytes() as usize;
    let piece = (total - job.done_bytes).min(DATA_MAX);
    let mut result = result;
    if let (Action::Get { to, .. }, Ok(_)) = (job.op.action, result) {
        if data.len() == piece {
            // SAFETY: the requester vouches for its memory; the piece is within it.
            unsafe {
                std::ptr::copy_nonoverlapping(data.as_ptr(), to.wrapping_add(job.done_bytes), piece)
            };
        } else {
            result = Err(OpError::Protocol);
        }
    }
    job.done_bytes += piece;
    if result.is_ok() && job.done_bytes < total {
        return ask(state, token);
    }
    let (link, op) = (linked.id, job.op.op);
    linked.jobs.pop_front();
    shared.notify(Notice::RmaDone { link, op, result });
    ask(state, token);
}

/// Acts on a window of ours for a peer. What a get has read comes back as data.
pub fn serve(
    shared: &ShmShared,
    peer: Address,
    window: u16,
    offset: u64,
    request: Request,
    data: &[u8],
) -> (Result<u64, OpError>, Vec<u8>) {
    bump(shared.port.page.counter(Counter::RmaServed), 1);
    let windows = shared.port.windows();
    let Some(bound) = windows.get(window) else {
        return (Err(OpError::NoWindow), Vec::new());
    };
    let mut answer = Vec::new();
    let (result, written) = match request {
        Request::Put => (bound.put(offset, data).map(|()| 0), data.len() as u64),
        Request::Get(len) => {
            answer.resize(len as usize, 0);
            (bound.get(offset, &mut answer).map(|()| 0), 0)
        }
        Request::Atomic(atomic) => (bound.atomic(offset, atomic), 8),
    };
    if result.is_err() {
        answer.clear();
    } else if bound.notifies() && !matches!(request, Request::Get(_)) {
        shared.notify(Notice::RmaArrived {
            peer,
            window,
            offset,
            len_bytes: written,
        });
    }
    (result.map_err(OpError::from), answer)
}
