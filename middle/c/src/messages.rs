//! Sending, receiving, and taking receives back.

use std::ffi::c_int;

use bcl_adi::{Memory, Piece, Receive, Send, Source, Wanted, When};
use bcl_capi::code::{Bcl, Failure};
use bcl_capi::pieces::table;
use bcl_capi::types::CAddress;
use bcl_cface::{Face, range};

use crate::endpoint::{CEndpoint, refused, with};
use crate::types::{CIncoming, COutgoing, CWanted, DATA, DELIVERED, INJECTED, QUIET};

/// `bcl_adi_send`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_send(
    endpoint: *mut CEndpoint,
    to: CAddress,
    tag: u64,
    data: *const u8,
    len: usize,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_send", || {
        range(data, len, "data")?;
        let send = Send {
            to: to.into(),
            space: 0,
            tag,
            data: None,
            memory: Memory::to_read(data, len),
            context,
            mark: 0,
            when: When::Reusable,
            quiet: false,
        };
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.send(send)) }
    })
}

/// `bcl_adi_sendv`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_sendv(
    endpoint: *mut CEndpoint,
    message: *const COutgoing,
) -> c_int {
    Bcl::hot_status("bcl_adi_sendv", || {
        // SAFETY: by the contract of the header.
        let message = unsafe { given(message, "message") }?;
        zero(message.reserved)?;
        let send = Send {
            to: message.to.into(),
            space: space(message.space)?,
            tag: message.tag,
            data: (message.flags & DATA != 0).then_some(message.data),
            // SAFETY: by the contract of the header.
            memory: unsafe { memory(message.pieces, message.count) }?,
            context: message.context,
            mark: 0,
            when: when(message.flags)?,
            quiet: message.flags & QUIET != 0,
        };
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.send(send)) }
    })
}

fn when(flags: u32) -> Result<When, Failure> {
    match flags & !(QUIET | DATA) {
        0 => Ok(When::Reusable),
        INJECTED => Ok(When::Injected),
        DELIVERED => Ok(When::Delivered),
        other => Err(Failure::invalid(format!(
            "flags has {other:#x}: one of BCL_ADI_INJECTED and BCL_ADI_DELIVERED at most, and no others than these, \
             BCL_ADI_QUIET and BCL_ADI_DATA"
        ))),
    }
}

/// `bcl_adi_receive`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_receive(
    endpoint: *mut CEndpoint,
    from: CAddress,
    tag: u64,
    ignore: u64,
    buffer: *mut u8,
    len: usize,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_receive", || {
        range(buffer, len, "buffer")?;
        let receive = Receive {
            wanted: Wanted {
                space: 0,
                source: source(from),
                tag,
                ignore,
            },
            memory: Memory::one(buffer, len),
            context,
            mark: 0,
            multi_min_free_bytes: None,
        };
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.receive(receive)) }
    })
}

/// `bcl_adi_receivev`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_receivev(
    endpoint: *mut CEndpoint,
    receive: *const CIncoming,
) -> c_int {
    Bcl::hot_status("bcl_adi_receivev", || {
        // SAFETY: by the contract of the header.
        let receive = unsafe { given(receive, "receive") }?;
        zero(receive.reserved)?;
        let min_free = usize::try_from(receive.multi_min_free).unwrap_or(usize::MAX);
        let receive = Receive {
            wanted: wanted(&receive.wanted)?,
            // SAFETY: by the contract of the header.
            memory: unsafe { memory(receive.pieces, receive.count) }?,
            context: receive.context,
            mark: 0,
            multi_min_free_bytes: (min_free > 0).then_some(min_free),
        };
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.receive(receive)) }
    })
}

/// `bcl_adi_cancel`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_cancel(
    endpoint: *mut CEndpoint,
    from_space: u32,
    context: u64,
) -> c_int {
    Bcl::status("bcl_adi_cancel", || {
        let space = space(from_space)?;
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.cancel(space, context)) }
    })
}

/// A structure of the program's.
///
/// # Safety
/// If not null and aligned, it can be read.
pub unsafe fn given<T: Copy>(place: *const T, name: &str) -> Result<T, Failure> {
    if place.is_null() || !place.is_aligned() {
        return Err(Failure::invalid(format!("{name} is NULL or not aligned")));
    }
    // SAFETY: not null and aligned, and readable by the contract.
    Ok(unsafe { *place })
}

/// What a later version may give a meaning.
pub fn zero(reserved: u32) -> Result<(), Failure> {
    match reserved {
        0 => Ok(()),
        _ => Err(Failure::invalid(
            "reserved is not 0: begin with zeros, for a later version may give it a meaning",
        )),
    }
}

pub fn wanted(given: &CWanted) -> Result<Wanted, Failure> {
    zero(given.reserved)?;
    Ok(Wanted {
        space: space(given.space)?,
        source: source(given.from),
        tag: given.tag,
        ignore: given.ignore,
    })
}

#[inline]
fn source(from: CAddress) -> Source {
    match from.port {
        0 => Source::Any,
        _ => Source::Peer(from.into()),
    }
}

/// As the middle layer takes it, which says which there are.
fn space(given: u32) -> Result<u8, Failure> {
    u8::try_from(given).map_err(|_| Failure::invalid(format!("space is {given}: it is 0 to 3")))
}

/// # Safety
/// `pieces` is null, or points to `count` entries.
unsafe fn memory(pieces: *const Piece, count: u32) -> Result<Memory, Failure> {
    // SAFETY: by the contract.
    let pieces = unsafe { table(pieces, count) }?;
    Memory::several(&pieces).map_err(refused)
}
