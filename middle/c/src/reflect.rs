//! The calls of `bcl_reflect.h`.

use std::ffi::{c_char, c_int, c_void};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bcl_adi::PortError;
use bcl_capi::code::{self, Bcl, Failure};
use bcl_capi::port::settings;
use bcl_capi::translate::numbers_of;
use bcl_capi::types::COptions;
use bcl_cface::{Face, Handle, Inside, out, range, string};
use bcl_reflect::{Error, Life, MEMBERS_MAX, Options, Region, Waited};

use crate::types::{CLife, GONE, NEVER, THERE};

/// `bcl_reflect`
pub type CRegion = Handle<Joined>;

/// A region that this process is a member of. Threads that wait have it too.
pub struct Joined(Arc<Region>);

impl Inside for Joined {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLrefl1");
    const NAME: &str = "region";
    const OPENER: &str = "bcl_reflect_join";

    fn close(&mut self) -> Result<(), PortError> {
        self.0.leave().map_err(|_| PortError::Closed)
    }
}

/// The code and the sentence.
#[cold]
pub fn refused(error: Error) -> Failure {
    let code = match error {
        Error::Key(key) => return PortError::from(key).into(),
        Error::Folder(folder) => return PortError::from(folder).into(),
        Error::Memory(memory) => return PortError::from(memory).into(),
        Error::InvalidArgument(_) | Error::Geometry { .. } => code::INVALID,
        Error::Configuration(_) => code::CONFIGURATION,
        Error::Taken { .. } | Error::Usurped => code::BUSY,
        Error::NoAnswer { .. } | Error::NotKept { .. } => code::UNREACHABLE,
        Error::Left => code::CLOSED,
        Error::Forked => code::FORKED,
        _ if error.is_for_want_of_descriptors() => code::NO_DESCRIPTORS,
        _ => code::SYSTEM,
    };
    Failure::new(code, error.to_string())
}

/// Does something with the region behind a pointer of the program's.
///
/// # Safety
/// As in `bcl_reflect.h`.
#[inline]
unsafe fn with<R>(
    region: *const CRegion,
    body: impl FnOnce(&Region) -> Result<R, Error>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of the header.
    let region = unsafe { CRegion::check(region) }?;
    region.with(|joined| body(&joined.0).map_err(refused))
}

/// Stores a result, if there is a place for it.
///
/// # Safety
/// As of [`out`].
pub unsafe fn put_if_wanted<T>(place: *mut T, name: &str, value: T) -> Result<(), Failure> {
    if !place.is_null() {
        // SAFETY: by the contract.
        unsafe { out(place, name) }?.put(value);
    }
    Ok(())
}

pub fn small(number: u32, what: &str) -> Result<u16, Failure> {
    let too_large = |_| {
        Failure::invalid(format!(
            "{what} is {number}: at most {MEMBERS_MAX} are possible"
        ))
    };
    number.try_into().map_err(too_large)
}

/// `bcl_reflect_join`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_join(
    name: *const c_char,
    len: u64,
    members: u32,
    member: u32,
    options: *const COptions,
    region: *mut *mut CRegion,
) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bcl_reflect_join", || unsafe {
        join(name, len, (members, member), options, region, Ok)
    })
}

/// `bcl_reflect_join_hosts`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_join_hosts(
    name: *const c_char,
    len: u64,
    members: u32,
    member: u32,
    hosts: *const c_char,
    address: *const c_char,
    options: *const COptions,
    region: *mut *mut CRegion,
) -> c_int {
    Bcl::status("bcl_reflect_join_hosts", || {
        // SAFETY: by the contract of the header.
        let hosts = unsafe { string(hosts, "hosts") }?;
        let hosts = ips(hosts, "hosts")?;
        let address = match address.is_null() {
            true => None,
            // SAFETY: by the contract of the header.
            false => Some(ip(unsafe { string(address, "address") }?, "address")?),
        };
        let on_hosts = |joining: Options| {
            let joining = joining.hosts(hosts);
            Ok(match address {
                Some(address) => joining.address(address),
                None => joining,
            })
        };
        // SAFETY: by the contract of the header.
        unsafe { join(name, len, (members, member), options, region, on_hosts) }
    })
}

/// # Safety
/// As in `bcl_reflect.h`.
unsafe fn join(
    name: *const c_char,
    len: u64,
    (members, member): (u32, u32),
    options: *const COptions,
    region: *mut *mut CRegion,
    complete: impl FnOnce(Options) -> Result<Options, Failure>,
) -> Result<(), Failure> {
    // SAFETY: by the contract of the header.
    let (place, name) = unsafe { (out(region, "region")?, string(name, "name")?) };
    // SAFETY: by the contract of the header.
    let (settings, one_thread) = unsafe { settings(options) }?;
    let mut joining = complete(Options::new(name, len))?;
    if members != 0 {
        joining = joining
            .members(small(members, "members")?)
            .member(small(member, "member")?);
    }
    if let Some(folder) = settings.folder {
        joining = joining.folder(folder);
    }
    if let Some(key) = settings.key {
        joining = joining.key(key);
    }
    let region = joining.join().map_err(refused)?;
    place.put(CRegion::open(Joined(Arc::new(region)), one_thread));
    Ok(())
}

/// Addresses with commas between them.
pub fn ips(text: &str, argument: &str) -> Result<Vec<IpAddr>, Failure> {
    text.split(',').map(|text| ip(text, argument)).collect()
}

pub fn ip(text: &str, argument: &str) -> Result<IpAddr, Failure> {
    let wrong = |_| {
        Failure::invalid(format!(
            "{argument}: '{text}' is no address: write it as 10.0.0.1 or 2001:db8::1"
        ))
    };
    text.trim().parse().map_err(wrong)
}

/// `bcl_reflect_leave`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_leave(region: *mut CRegion) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bcl_reflect_leave", || unsafe { CRegion::close(region) })
}

/// `bcl_reflect_member`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_member(
    region: *mut CRegion,
    member: *mut u32,
    members: *mut u32,
) -> c_int {
    Bcl::status("bcl_reflect_member", || {
        let numbers = |region: &Region| Ok((region.member(), region.members()));
        // SAFETY: by the contract of the header.
        unsafe {
            let (own, all) = with(region, numbers)?;
            put_if_wanted(member, "member", own.into())?;
            put_if_wanted(members, "members", all.into())
        }
    })
}

/// `bcl_reflect_memory`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_memory(
    region: *mut CRegion,
    memory: *mut *const c_void,
    len: *mut u64,
) -> c_int {
    Bcl::status("bcl_reflect_memory", || {
        let place = |region: &Region| Ok((region.memory(), region.len_bytes()));
        // SAFETY: by the contract of the header.
        unsafe {
            let (start, len_bytes) = with(region, place)?;
            put_if_wanted(memory, "memory", start.cast())?;
            put_if_wanted(len, "len", len_bytes)
        }
    })
}

/// `bcl_reflect_write`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_write(
    region: *mut CRegion,
    offset: u64,
    data: *const c_void,
    len: usize,
) -> c_int {
    Bcl::hot_status("bcl_reflect_write", || {
        range(data.cast(), len, "data")?;
        let data = match len {
            0 => &[],
            // SAFETY: a range that does not wrap, which the contract of the header makes readable.
            _ => unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) },
        };
        // SAFETY: by the contract of the header.
        unsafe { with(region, |region| region.write(offset, data)) }
    })
}

/// `bcl_reflect_store`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_store(region: *mut CRegion, offset: u64, value: u64) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::hot_status("bcl_reflect_store", || unsafe {
        with(region, |region| region.write_word(offset, value))
    })
}

/// `bcl_reflect_load`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_load(
    region: *mut CRegion,
    offset: u64,
    value: *mut u64,
) -> c_int {
    Bcl::hot_status("bcl_reflect_load", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(value, "value")?;
            place.put(with(region, |region| region.load(offset))?);
        }
        Ok(())
    })
}

/// `bcl_reflect_read`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_read(
    region: *mut CRegion,
    offset: u64,
    data: *mut c_void,
    len: usize,
) -> c_int {
    Bcl::hot_status("bcl_reflect_read", || {
        range(data.cast_const().cast(), len, "data")?;
        let data = match len {
            0 => &mut [],
            // SAFETY: as of bcl_reflect_write, and writable; bytes need no value before.
            _ => unsafe { std::slice::from_raw_parts_mut(data.cast::<u8>(), len) },
        };
        // SAFETY: by the contract of the header.
        unsafe { with(region, |region| region.read(offset, data)) }
    })
}

/// `bcl_reflect_wait`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_wait(
    region: *mut CRegion,
    offset: u64,
    value_before: u64,
    value: *mut u64,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bcl_reflect_wait", || {
        // SAFETY: by the contract of the header.
        let handle = unsafe { CRegion::check(region) }?;
        // Other threads use it meanwhile, and may leave it.
        let region = handle.with(|joined| Ok(Arc::clone(&joined.0)))?;
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let waited = region.wait(offset, value_before, timeout);
        match waited.map_err(refused)? {
            Waited::Changed(found) => {
                // SAFETY: by the contract of the header.
                unsafe { put_if_wanted(value, "value", found) }?;
                Ok(1)
            }
            Waited::TimedOut => Ok(0),
            Waited::MemberGone => Err(Failure::new(
                code::PEER_GONE,
                format!(
                    "a member of region {} has ended: bcl_reflect_news tells which, and how",
                    region.name()
                ),
            )),
        }
    })
}

/// `bcl_reflect_written`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_written(region: *mut CRegion, position: *mut u64) -> c_int {
    Bcl::hot_status("bcl_reflect_written", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(position, "position")?;
            place.put(with(region, |region| Ok(region.written()))?);
        }
        Ok(())
    })
}

/// `bcl_reflect_wait_reached`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_wait_reached(
    region: *mut CRegion,
    position: u64,
    members: u32,
    reached: *mut u32,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bcl_reflect_wait_reached", || {
        let wanted = match members {
            0 => None,
            members => Some(small(members, "members")?),
        };
        // SAFETY: by the contract of the header.
        let handle = unsafe { CRegion::check(region) }?;
        // As of bcl_reflect_wait.
        let region = handle.with(|joined| Ok(Arc::clone(&joined.0)))?;
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        let found = region.wait_until_reached(position, wanted, timeout);
        let found = found.map_err(refused)?;
        // SAFETY: by the contract of the header.
        unsafe { put_if_wanted(reached, "reached", found.members.into()) }?;
        Ok(found.is_enough.into())
    })
}

/// `bcl_reflect_ask`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_ask(
    region: *mut CRegion,
    member: u32,
    life: *mut CLife,
) -> c_int {
    Bcl::status("bcl_reflect_ask", || {
        let number = small(member, "member")?;
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(life, "life")?;
            let known = with(region, |region| region.life(number))?;
            place.put(of_member(member, known));
        }
        Ok(())
    })
}

/// `bcl_reflect_news`
///
/// # Safety
/// As in `bcl_reflect.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_reflect_news(region: *mut CRegion, life: *mut CLife) -> c_int {
    Bcl::hot_number("bcl_reflect_news", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let place = out(life, "life")?;
            let Some(news) = with(region, |region| Ok(region.news()))? else {
                return Ok(0);
            };
            place.put(of_member(news.member.into(), news.life));
        }
        Ok(1)
    })
}

pub fn of_member(member: u32, life: Life) -> CLife {
    let (life, (cause, cause_detail)) = match life {
        Life::Never => (NEVER, (0, 0)),
        Life::There => (THERE, (0, 0)),
        Life::Gone(cause) => (GONE, numbers_of(cause)),
    };
    CLife {
        member,
        life,
        cause,
        cause_detail,
    }
}
