//! Sending, for messages with and without tags.

use std::ffi::c_void;
use std::slice;

use bcl_adi::{Error, Memory, Piece, Send, When};

use super::Ep;
use super::data::WANTED;
use super::refused::failure;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::object::of;
use crate::progress::Driver;

/// What a call wants to send.
pub(super) struct Sending {
    pub memory: Memory,
    pub to: u64,
    pub tag: u64,
    pub data: Option<u64>,
    pub context: *mut c_void,
    /// Of the call; the endpoint's own, if it has none.
    pub flags: Option<u64>,
    /// No completion, and the memory is free when the call returns.
    pub injects: bool,
}

/// Memory of a program's that is read.
pub(super) fn one(start: *const c_void, len: usize) -> Result<Memory, Failure> {
    Ok(Memory::to_read(start.cast(), len))
}

/// The same in pieces, or some that is written.
///
/// # Safety
/// So many pieces.
pub(super) unsafe fn several(pieces: *const iovec, count: usize) -> Result<Memory, Failure> {
    match count {
        0 => return Ok(Memory::one(std::ptr::null_mut(), 0)),
        1 => {
            // SAFETY: by the contract.
            let only = unsafe { *pieces };
            return Ok(Memory::one(only.iov_base.cast(), only.iov_len));
        }
        _ => {}
    }
    // SAFETY: by the contract.
    let pieces = unsafe { slice::from_raw_parts(pieces, count) };
    let pieces: Vec<Piece> = pieces
        .iter()
        .map(|piece| Piece {
            start: piece.iov_base.cast(),
            len_bytes: piece.iov_len,
        })
        .collect();
    Memory::several(&pieces).map_err(|error| Failure::invalid(error.to_string()))
}

/// Runs a call that sends.
///
/// # Safety
/// The pointer is to an endpoint of ours; the memory can be read, and stays as it is for as long as libfabric has it.
#[inline]
pub(super) unsafe fn send(
    name: &str,
    ep: *mut fid_ep,
    space: u8,
    sending: impl FnOnce() -> Result<Sending, Failure>,
) -> isize {
    call::number(name, || {
        // SAFETY: by the contract.
        let ep: &Ep = unsafe { of(ep) };
        let data = ep.data()?;
        let sending = sending()?;
        let flags = sending.flags.unwrap_or(ep.tx_flags);
        let end = &data.sends;
        let is_wanted = !sending.injects
            && (!end.is_selective || flags & FI_COMPLETION != 0)
            && end.sink.is_some();
        let send = Send {
            to: data.addresses.get(sending.to)?,
            space,
            tag: sending.tag,
            data: sending.data,
            memory: sending.memory,
            context: sending.context as u64,
            mark: if is_wanted { WANTED } else { 0 },
            when: when(sending.injects, flags),
            quiet: !is_wanted && end.tally.is_none(),
        };
        // SAFETY: by the contract.
        match data.port.with(|endpoint| unsafe { endpoint.send(send) }) {
            Ok(()) => Ok(0),
            Err(Error::Again { .. }) => {
                data.drive();
                Ok(-FI_EAGAIN as isize)
            }
            Err(error) => {
                if let Error::Lost { to, error: cause } = &error {
                    data.say(*to, cause, &error.to_string());
                }
                Err(failure(&error))
            }
        }
    })
}

fn when(injects: bool, flags: u64) -> When {
    if injects || flags & FI_INJECT != 0 {
        When::Injected
    } else if flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE) != 0 {
        When::Delivered
    } else {
        When::Reusable
    }
}
