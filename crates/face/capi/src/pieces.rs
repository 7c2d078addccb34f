//! Messages that are gathered from pieces of memory, or scattered to them.

use std::ffi::c_int;
use std::sync::Arc;

use bcl_cface::{Face, range};
use bcl_raw::{Address, PIECES_MAX, Piece, Pieces, SYSTEM_MAX};

use crate::code::{Bcl, Failure};
use crate::handle::CPort;
use crate::types::CAddress;

/// `bcl_sendv`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_sendv(
    port: *mut CPort,
    to: CAddress,
    channel: u16,
    pieces: *const Piece,
    count: c_int,
    immediate: u64,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_sendv", || {
        // SAFETY: by the contract of the header.
        let (port, pieces) = unsafe { (CPort::check(port)?, table(pieces, count)?) };
        let to = Address::from(to);
        port.with(|open| {
            if channel == 0 {
                let mut room = [0u8; SYSTEM_MAX];
                // SAFETY: by the contract of the header the pieces can be read.
                let data = unsafe { gather(&pieces, &mut room) }?;
                return Ok(open.raw.send_system(to, data, immediate, cookie)?);
            }
            // SAFETY: by the contract of the header the memory is left alone until the event is taken.
            unsafe { open.raw.send_pieces(to, channel, pieces, immediate, cookie) }?;
            Ok(())
        })
    })
}

/// `bcl_postv`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_postv(
    port: *mut CPort,
    channel: u16,
    pieces: *const Piece,
    count: c_int,
    cookie: u64,
) -> c_int {
    Bcl::hot_status("bcl_postv", || {
        // SAFETY: by the contract of the header.
        let (port, pieces) = unsafe { (CPort::check(port)?, table(pieces, count)?) };
        port.with(|open| {
            // SAFETY: by the contract of the header the memory is left alone until the event is taken.
            Ok(unsafe { open.raw.post_pieces(channel, pieces, cookie) }?)
        })
    })
}

/// A copy of the program's table, whose pieces can be memory.
///
/// # Safety
/// `pieces` is null, or points to `count` entries if that is positive.
pub unsafe fn table(
    pieces: *const Piece,
    count: impl TryInto<usize>,
) -> Result<Arc<[Piece]>, Failure> {
    let count = count.try_into().ok().filter(|count| *count <= PIECES_MAX);
    let Some(count) = count else {
        return Err(Failure::invalid(format!(
            "count is none of 0 to {PIECES_MAX}: a message in more pieces has to be sent as several"
        )));
    };
    if count == 0 {
        return Ok(Arc::new([]));
    }
    if pieces.is_null() || !pieces.is_aligned() {
        return Err(Failure::invalid(format!(
            "pieces is NULL or not aligned, but count is {count}"
        )));
    }
    // SAFETY: not null and aligned, and as long by the contract.
    let pieces: Arc<[Piece]> = unsafe { std::slice::from_raw_parts(pieces, count) }.into();
    for piece in pieces.iter() {
        range(piece.start, piece.len_bytes, "iov_base of a piece")?;
    }
    Ok(pieces)
}

/// The bytes of a message for the system channel.
///
/// # Safety
/// The pieces can be read.
unsafe fn gather<'a>(
    pieces: &[Piece],
    room: &'a mut [u8; SYSTEM_MAX],
) -> Result<&'a [u8], Failure> {
    // SAFETY: the table is borrowed for longer than this takes.
    let memory = unsafe { Pieces::several(pieces) };
    let fits = memory.filter(|memory| memory.len_bytes() <= SYSTEM_MAX);
    let Some(memory) = fits else {
        return Err(Failure::invalid(format!(
            "the pieces are longer than {SYSTEM_MAX} bytes, which the system channel takes at most: use a normal channel"
        )));
    };
    let len_bytes = memory.len_bytes();
    // SAFETY: readable by the contract, and the room is long enough.
    unsafe { memory.copy_out(0, len_bytes, room.as_mut_ptr()) };
    Ok(&room[..len_bytes])
}
