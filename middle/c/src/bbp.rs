//! The calls of `bbp.h`.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use bcl_adi::PortError;
use bcl_bbp::{Billboard, Error, Options, Received};
use bcl_capi::code::{self, Bcl, Failure};
use bcl_capi::port::settings;
use bcl_cface::{Face, Handle, Inside, out, range, read_sized, string};

use crate::reflect::{self, ip, ips, of_member, put_if_wanted, small};
use crate::types::{ANY, CBoardChange, CBoardOptions, CLife, CMessage};

/// `bbp`
pub type CBoard = Handle<Joined>;

/// A billboard that this process is a member of. Threads that wait have it too.
pub struct Joined(Arc<Billboard>);

impl Inside for Joined {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLbbrd1");
    const NAME: &str = "billboard";
    const OPENER: &str = "bbp_init";

    fn close(&mut self) -> Result<(), PortError> {
        self.0.leave().map_err(|_| PortError::Closed)
    }
}

/// The code and the sentence.
#[cold]
pub fn refused(error: Error) -> Failure {
    let code = match error {
        Error::Region(region) => return reflect::refused(region),
        Error::InvalidArgument(_) => code::INVALID,
        Error::Full(_) => code::AGAIN,
        Error::Gone { .. } | Error::MemberGone => code::PEER_GONE,
        Error::Truncated { .. } => code::TRUNCATED,
        Error::Senseless { .. } => code::PROTOCOL,
        _ => code::SYSTEM,
    };
    Failure::new(code, error.to_string())
}

/// Does something with the board behind a pointer of the program's.
///
/// # Safety
/// As in `bbp.h`.
#[inline]
unsafe fn with<R>(
    board: *const CBoard,
    body: impl FnOnce(&Billboard) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of the header.
    let board = unsafe { CBoard::check(board) }?;
    board.with(|joined| body(&joined.0))
}

/// Does something that may wait: at once if it can be, else so that other threads use the board meanwhile, and may leave it.
///
/// # Safety
/// As in `bbp.h`.
#[inline]
unsafe fn patiently<R>(
    board: *const CBoard,
    timeout_ms: c_int,
    is_to_wait: impl FnOnce(&Result<R, Error>) -> bool,
    mut body: impl FnMut(&Billboard, Option<Duration>) -> Result<R, Error>,
) -> Result<Result<R, Error>, Failure> {
    // SAFETY: by the contract of the header.
    let handle = unsafe { CBoard::check(board) }?;
    let found = handle.with(|joined| {
        let done = body(&joined.0, Some(Duration::ZERO));
        match timeout_ms != 0 && is_to_wait(&done) {
            true => Ok(Err(Arc::clone(&joined.0))),
            false => Ok(Ok(done)),
        }
    })?;
    let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
    Ok(found.unwrap_or_else(|board| body(&board, timeout)))
}

fn is_full(posted: &Result<(), Error>) -> bool {
    matches!(posted, Err(Error::Full(_)))
}

fn is_nothing(received: &Result<Option<Received>, Error>) -> bool {
    matches!(received, Ok(None))
}

/// A member, or nobody in particular.
fn source(from: u32) -> Result<Option<u16>, Failure> {
    match from {
        ANY => Ok(None),
        from => small(from, "from").map(Some),
    }
}

/// Bytes of the program's, to be read.
///
/// # Safety
/// As in `bbp.h`.
pub unsafe fn bytes<'a>(
    data: *const c_void,
    len: usize,
    argument: &str,
) -> Result<&'a [u8], Failure> {
    range(data.cast(), len, argument)?;
    Ok(match len {
        0 => &[],
        // SAFETY: a range that does not wrap, which the contract of the header makes readable.
        _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) },
    })
}

/// Members of a list of the program's.
///
/// # Safety
/// As in `bbp.h`.
pub unsafe fn members_of(
    list: *const u32,
    count: usize,
    argument: &str,
) -> Result<Vec<u16>, Failure> {
    let len_bytes = count.saturating_mul(size_of::<u32>());
    range(list.cast(), len_bytes, argument)?;
    let list = match count {
        0 => &[],
        // SAFETY: as of `bytes`.
        _ => unsafe { std::slice::from_raw_parts(list, count) },
    };
    list.iter().map(|member| small(*member, argument)).collect()
}

/// Tells of what was received, or is there: 1; of nothing: 0.
///
/// # Safety
/// As in `bbp.h`.
unsafe fn tell(
    found: Result<Option<Received>, Error>,
    message: *mut CMessage,
) -> Result<c_int, Failure> {
    let told = match &found {
        Ok(Some(received)) => Some((received.from, received.len_bytes)),
        Err(Error::Truncated {
            from, len_bytes, ..
        }) => Some((*from, *len_bytes)),
        _ => None,
    };
    if let Some((from, len_bytes)) = told {
        let value = CMessage {
            from: from.into(),
            reserved: 0,
            len: len_bytes as u64,
        };
        // SAFETY: by the contract of the header.
        unsafe { put_if_wanted(message, "message", value) }?;
    }
    found
        .map(|received| received.is_some().into())
        .map_err(refused)
}

/// `bbp_init`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_init(
    name: *const c_char,
    options: *const CBoardOptions,
    board: *mut *mut CBoard,
) -> c_int {
    Bcl::status("bbp_init", || {
        // SAFETY: by the contract of the header.
        let (place, name) = unsafe { (out(board, "board")?, string(name, "name")?) };
        // SAFETY: by the contract of the header.
        let (joining, one_thread) = unsafe { options_of(name, options) }?;
        let board = joining.join().map_err(refused)?;
        place.put(CBoard::open(Joined(Arc::new(board)), one_thread));
        Ok(())
    })
}

/// What the program says; and whether it uses the board from one thread only.
///
/// # Safety
/// As in `bbp.h`.
pub unsafe fn options_of(
    name: &str,
    options: *const CBoardOptions,
) -> Result<(Options, bool), Failure> {
    let mut joining = Options::new(name);
    if options.is_null() {
        return Ok((joining, false));
    }
    // SAFETY: by the contract of the header.
    let options = unsafe { read_sized(options) }?;
    // SAFETY: by the contract of the header.
    let (settings, one_thread) = unsafe { settings(options.options) }?;
    if options.members != 0 {
        joining = joining
            .members(small(options.members, "members")?)
            .member(small(options.member, "member")?);
    }
    if options.data != 0 {
        joining = joining.data_bytes(options.data);
    }
    if !options.hosts.is_null() {
        // SAFETY: by the contract of the header.
        joining = joining.hosts(ips(unsafe { string(options.hosts, "hosts") }?, "hosts")?);
    }
    if !options.address.is_null() {
        // SAFETY: by the contract of the header.
        let text = unsafe { string(options.address, "address") }?;
        joining = joining.address(ip(text, "address")?);
    }
    if let Some(folder) = settings.folder {
        joining = joining.folder(folder);
    }
    if let Some(key) = settings.key {
        joining = joining.key(key);
    }
    Ok((joining, one_thread))
}

/// `bbp_finalize`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_finalize(board: *mut CBoard) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bbp_finalize", || unsafe { CBoard::close(board) })
}

/// `bbp_member`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_member(
    board: *mut CBoard,
    member: *mut u32,
    members: *mut u32,
) -> c_int {
    Bcl::status("bbp_member", || {
        let numbers = |board: &Billboard| Ok((board.member(), board.members()));
        // SAFETY: by the contract of the header.
        unsafe {
            let (own, all) = with(board, numbers)?;
            put_if_wanted(member, "member", own.into())?;
            put_if_wanted(members, "members", all.into())
        }
    })
}

/// `bbp_send`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_send(
    board: *mut CBoard,
    to: u32,
    data: *const c_void,
    len: usize,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_status("bbp_send", || {
        let to = small(to, "to")?;
        // SAFETY: by the contract of the header.
        unsafe {
            let data = bytes(data, len, "data")?;
            let posted = patiently(board, timeout_ms, is_full, |board, timeout| {
                board.send(to, data, timeout)
            });
            posted?.map_err(refused)
        }
    })
}

/// `bbp_mcast`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_mcast(
    board: *mut CBoard,
    to: *const u32,
    count: usize,
    data: *const c_void,
    len: usize,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_status("bbp_mcast", || {
        // SAFETY: by the contract of the header.
        let data = unsafe { bytes(data, len, "data") }?;
        if to.is_null() && count == 0 {
            let all = |board: &Billboard, timeout| board.broadcast(data, timeout);
            // SAFETY: by the contract of the header.
            return unsafe { patiently(board, timeout_ms, is_full, all) }?.map_err(refused);
        }
        // SAFETY: by the contract of the header.
        let to = unsafe { members_of(to, count, "to") }?;
        let some = |board: &Billboard, timeout| board.multicast(&to, data, timeout);
        // SAFETY: by the contract of the header.
        unsafe { patiently(board, timeout_ms, is_full, some) }?.map_err(refused)
    })
}

/// `bbp_recv`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_recv(
    board: *mut CBoard,
    from: u32,
    buffer: *mut c_void,
    room: usize,
    message: *mut CMessage,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bbp_recv", || {
        let from = source(from)?;
        range(buffer.cast_const().cast(), room, "buffer")?;
        let buffer = match room {
            0 => &mut [],
            // SAFETY: as of `bytes`, and writable; bytes need no value before.
            _ => unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), room) },
        };
        let take = |board: &Billboard, timeout| board.receive(from, buffer, timeout);
        // SAFETY: by the contract of the header.
        unsafe { tell(patiently(board, timeout_ms, is_nothing, take)?, message) }
    })
}

/// `bbp_msgavail`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_msgavail(
    board: *mut CBoard,
    from: u32,
    message: *mut CMessage,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bbp_msgavail", || {
        let from = source(from)?;
        let look = |board: &Billboard, timeout| board.available(from, timeout);
        // SAFETY: by the contract of the header.
        unsafe { tell(patiently(board, timeout_ms, is_nothing, look)?, message) }
    })
}

/// `bbp_flush`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_flush(board: *mut CBoard, timeout_ms: c_int) -> c_int {
    Bcl::hot_number("bbp_flush", || {
        let is_unread = |read: &Result<bool, Error>| matches!(read, Ok(false));
        // SAFETY: by the contract of the header.
        let read = unsafe { patiently(board, timeout_ms, is_unread, Billboard::wait_until_read) };
        read?.map(c_int::from).map_err(refused)
    })
}

/// `bbp_event`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_event(board: *mut CBoard, change: *mut CBoardChange) -> c_int {
    Bcl::hot_number("bbp_event", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(change, "change")?;
            let Some(event) = with(board, |board| board.event().map_err(refused))? else {
                return Ok(0);
            };
            place.put(CBoardChange {
                member: of_member(event.member.into(), event.life),
                taken_back: event.taken_back,
                reserved: 0,
            });
        }
        Ok(1)
    })
}

/// `bbp_ask`
///
/// # Safety
/// As in `bbp.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bbp_ask(board: *mut CBoard, member: u32, life: *mut CLife) -> c_int {
    Bcl::status("bbp_ask", || {
        let number = small(member, "member")?;
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(life, "life")?;
            let known = with(board, |board| board.life(number).map_err(refused))?;
            place.put(of_member(member, known));
        }
        Ok(())
    })
}
