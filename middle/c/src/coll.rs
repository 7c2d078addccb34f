//! The calls of `bcl_coll.h`.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use bcl_adi::{Atomic, PortError};
use bcl_capi::code::{self, Bcl, Failure};
use bcl_cface::{Face, Handle, Inside, out, range, string};
use bcl_coll::{Broken, Error, Group, Team};

use crate::bbp::{self, options_of};
use crate::one_sided::atomic_of;
use crate::reflect::{put_if_wanted, small};
use crate::types::CBoardOptions;

/// `bcl_coll_team`
pub type CTeam = Handle<Joined>;

/// `bcl_coll`
pub type CGroup = Handle<Grouped>;

/// A team that this process is a member of.
pub struct Joined(Team);

impl Inside for Joined {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLteam1");
    const NAME: &str = "team";
    const OPENER: &str = "bcl_coll_join";

    fn close(&mut self) -> Result<(), PortError> {
        self.0.leave().map_err(|_| PortError::Closed)
    }
}

/// A group of it. A thread in a call has it too.
pub struct Grouped(Arc<Group>);

impl Inside for Grouped {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLgroup");
    const NAME: &str = "group";
    const OPENER: &str = "bcl_coll_group";

    fn close(&mut self) -> Result<(), PortError> {
        Ok(())
    }
}

/// The code and the sentence.
#[cold]
fn refused(error: Error) -> Failure {
    let code = match error {
        Error::Board(board) => return bbp::refused(board),
        Error::InvalidArgument(_) => code::INVALID,
        Error::Broken {
            why: Broken::Gone(_),
            ..
        } => code::PEER_GONE,
        Error::Mismatch { .. } | Error::Broken { .. } => code::PROTOCOL,
        _ => code::SYSTEM,
    };
    Failure::new(code, error.to_string())
}

/// Calls something of a group.
///
/// # Safety
/// As in `bcl_coll.h`.
unsafe fn call<R>(
    group: *const CGroup,
    body: impl FnOnce(&Group) -> Result<R, Error>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of the header.
    let handle = unsafe { CGroup::check(group) }?;
    // It may take long.
    let group = handle.with(|grouped| Ok(Arc::clone(&grouped.0)))?;
    body(&group).map_err(refused)
}

/// Bytes of the program's, to be read and written.
///
/// # Safety
/// As in `bcl_coll.h`.
unsafe fn bytes_mut<'a>(
    data: *mut c_void,
    len: usize,
    argument: &str,
) -> Result<&'a mut [u8], Failure> {
    range(data.cast_const().cast(), len, argument)?;
    Ok(match len {
        0 => &mut [],
        // SAFETY: a range that does not wrap, which the contract of the header makes readable and writable; bytes need no value before.
        _ => unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), len) },
    })
}

/// Elements of the program's, and what is done to them.
///
/// # Safety
/// As in `bcl_coll.h`.
unsafe fn elements<'a>(
    (function, kind): (u32, u32),
    data: *mut c_void,
    count: usize,
) -> Result<(Atomic, &'a mut [u8]), Failure> {
    let atomic = atomic_of(function, kind)?;
    let len = count.saturating_mul(atomic.datum().size_bytes());
    // SAFETY: by the contract of the header.
    let data = unsafe { bytes_mut(data, len, "data") }?;
    Ok((atomic, data))
}

/// `bcl_coll_join`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_join(
    name: *const c_char,
    options: *const CBoardOptions,
    team: *mut *mut CTeam,
) -> c_int {
    Bcl::status("bcl_coll_join", || {
        // SAFETY: by the contract of the header.
        let (place, name) = unsafe { (out(team, "team")?, string(name, "name")?) };
        // SAFETY: by the contract of the header.
        let (options, one_thread) = unsafe { options_of(name, options) }?;
        let team = Team::join(options).map_err(refused)?;
        place.put(CTeam::open(Joined(team), one_thread));
        Ok(())
    })
}

/// `bcl_coll_leave`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_leave(team: *mut CTeam) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bcl_coll_leave", || unsafe { CTeam::close(team) })
}

/// `bcl_coll_wait_all`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_wait_all(team: *mut CTeam, timeout_ms: c_int) -> c_int {
    Bcl::number("bcl_coll_wait_all", || {
        // SAFETY: by the contract of the header.
        let team = unsafe { CTeam::check(team) }?;
        let team = team.with(|joined| Ok(joined.0.clone()))?;
        let are_there = team
            .wait_for_all(u64::try_from(timeout_ms).ok().map(Duration::from_millis))
            .map_err(refused)?;
        Ok(c_int::from(are_there))
    })
}

/// What a program does while it waits, and with what.
struct Meanwhile {
    call: extern "C" fn(*mut c_void),
    context: *mut c_void,
}

// SAFETY: by the contract of the header, any thread may call it with that.
unsafe impl Send for Meanwhile {}
// SAFETY: as above.
unsafe impl Sync for Meanwhile {}

/// `bcl_coll_meanwhile`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_meanwhile(
    team: *mut CTeam,
    call: Option<extern "C" fn(*mut c_void)>,
    context: *mut c_void,
) -> c_int {
    Bcl::status("bcl_coll_meanwhile", || {
        // SAFETY: by the contract of the header.
        let team = unsafe { CTeam::check(team) }?;
        let team = team.with(|joined| Ok(joined.0.clone()))?;
        let call = call.ok_or_else(|| Failure::new(code::INVALID, "'call' is NULL"))?;
        let meanwhile = Meanwhile { call, context };
        let is_new = team.do_while_waiting(move || meanwhile.run());
        match is_new {
            true => Ok(()),
            false => Err(Failure::new(
                code::BUSY,
                "the team has something to do while it waits already",
            )),
        }
    })
}

impl Meanwhile {
    fn run(&self) {
        (self.call)(self.context);
    }
}

/// `bcl_coll_group`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_group(
    team: *mut CTeam,
    members: *const u32,
    count: usize,
    context: u32,
    group: *mut *mut CGroup,
) -> c_int {
    Bcl::status("bcl_coll_group", || {
        // SAFETY: by the contract of the header.
        let (place, team) = unsafe { (out(group, "group")?, CTeam::check(team)?) };
        let team = team.with(|joined| Ok(joined.0.clone()))?;
        let members = match members.is_null() && count == 0 {
            true => (0..team.members()).collect(),
            // SAFETY: by the contract of the header.
            false => unsafe { bbp::members_of(members, count, "members") }?,
        };
        let group = team.group(&members, context).map_err(refused)?;
        place.put(CGroup::open(Grouped(Arc::new(group)), false));
        Ok(())
    })
}

/// `bcl_coll_release`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_release(group: *mut CGroup) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bcl_coll_release", || unsafe { CGroup::close(group) })
}

/// `bcl_coll_rank`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_rank(
    group: *mut CGroup,
    rank: *mut u32,
    size: *mut u32,
) -> c_int {
    Bcl::status("bcl_coll_rank", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let (own, all) = call(group, |group| Ok((group.rank(), group.size())))?;
            put_if_wanted(rank, "rank", own as u32)?;
            put_if_wanted(size, "size", all as u32)
        }
    })
}

/// `bcl_coll_barrier`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_barrier(group: *mut CGroup) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::hot_status("bcl_coll_barrier", || unsafe {
        call(group, Group::barrier)
    })
}

/// `bcl_coll_broadcast`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_broadcast(
    group: *mut CGroup,
    root: u32,
    data: *mut c_void,
    len: usize,
) -> c_int {
    Bcl::hot_status("bcl_coll_broadcast", || {
        let root = small(root, "root")?.into();
        // SAFETY: by the contract of the header.
        unsafe {
            let data = bytes_mut(data, len, "data")?;
            call(group, |group| group.broadcast(root, data))
        }
    })
}

/// `bcl_coll_allgather`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_allgather(
    group: *mut CGroup,
    own: *const c_void,
    len: usize,
    all: *mut c_void,
) -> c_int {
    Bcl::hot_status("bcl_coll_allgather", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let own = bbp::bytes(own, len, "own")?;
            let size = call(group, |group| Ok(group.size()))?;
            let all = bytes_mut(all, len.saturating_mul(size), "all")?;
            call(group, |group| group.allgather(own, all))
        }
    })
}

/// `bcl_coll_reduce`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_reduce(
    group: *mut CGroup,
    root: u32,
    function: u32,
    kind: u32,
    data: *mut c_void,
    count: usize,
) -> c_int {
    Bcl::hot_status("bcl_coll_reduce", || {
        let root = small(root, "root")?.into();
        // SAFETY: by the contract of the header.
        unsafe {
            let (atomic, data) = elements((function, kind), data, count)?;
            call(group, |group| group.reduce(root, atomic, data))
        }
    })
}

/// `bcl_coll_allreduce`
///
/// # Safety
/// As in `bcl_coll.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_coll_allreduce(
    group: *mut CGroup,
    function: u32,
    kind: u32,
    data: *mut c_void,
    count: usize,
) -> c_int {
    Bcl::hot_status("bcl_coll_allreduce", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let (atomic, data) = elements((function, kind), data, count)?;
            call(group, |group| group.allreduce(atomic, data))
        }
    })
}
