//! Opening and closing.

use std::ffi::{c_char, c_int};
use std::mem::offset_of;
use std::time::Duration;

use bcl_cface::{Face, Growing, out, range, read_sized, string};
use bcl_node::JobKey;
use bcl_raw::{Address, CopyMode, Device, Options};

use crate::code::{self, Bcl, Failure};
use crate::handle::{CPort, Open};
use crate::text::write_text;
use crate::types::{
    CAddress, COPY_AUTO, COPY_DEFAULT, COPY_SINGLE, COPY_STREAM, COptions, DEVICE_AUTO,
    DEVICE_DEFAULT, ONE_THREAD, device_number,
};

/// `bcl_open`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_open(options: *const COptions, port: *mut *mut CPort) -> c_int {
    Bcl::status("bcl_open", || {
        // SAFETY: by the contract of the header.
        let place = unsafe { out(port, "port") }?;
        place.put(std::ptr::null_mut());
        // SAFETY: by the contract of the header.
        let (options, one_thread) = unsafe { settings(options) }?;
        let open = Open::new(options.open()?);
        place.put(CPort::open(open, one_thread));
        Ok(())
    })
}

/// What options say, and whether the program promises not to need a lock.
///
/// # Safety
/// `options` is null, or points to a structure as long as its `size` says, whose pointers are null or valid.
pub unsafe fn settings(options: *const COptions) -> Result<(Options, bool), Failure> {
    let mut port = Options::default();
    if options.is_null() {
        return Ok((port, false));
    }
    // SAFETY: by the contract.
    let given = unsafe { read_sized(options) }?;
    if given.flags & !ONE_THREAD != 0 {
        return Err(Failure::invalid(format!(
            "options.flags is {:#x}: BCL_ONE_THREAD is the only flag",
            given.flags
        )));
    }
    if given.node != 0 {
        port.node = Some(given.node.into());
    }
    if given.number != 0 {
        port.number = Some(given.number);
    }
    match given.copy {
        COPY_DEFAULT => {}
        COPY_AUTO => port.copy_mode = Some(CopyMode::Auto),
        COPY_STREAM => port.copy_mode = Some(CopyMode::Stream),
        COPY_SINGLE => port.copy_mode = Some(CopyMode::Single),
        other => {
            return Err(Failure::invalid(format!(
                "options.copy is {other}, which is none of BCL_COPY_*"
            )));
        }
    }
    if !given.folder.is_null() {
        // SAFETY: by the contract.
        port.folder = Some(unsafe { string(given.folder, "options.folder") }?.into());
    }
    if !given.key.is_null() {
        // SAFETY: by the contract.
        let hex = unsafe { string(given.key, "options.key") }?;
        let key = JobKey::from_hex(hex)
            .map_err(|error| Failure::invalid(format!("options.key: {error}")))?;
        port.key = Some(key);
    }
    if !given.allow_uids.is_null() {
        let len_bytes = given.allow_uids_len.saturating_mul(size_of::<u32>());
        range(given.allow_uids.cast(), len_bytes, "options.allow_uids")?;
        // SAFETY: by the contract, and the length can be one.
        let uids = unsafe { std::slice::from_raw_parts(given.allow_uids, given.allow_uids_len) };
        port.allow_uids = Some(uids.to_vec());
    }
    port.device = device(given.device)?;
    if given.dead_after_ms != 0 {
        let time = Duration::from_millis(given.dead_after_ms.into());
        port.dead_after = Some(time);
    }
    Ok((port, given.flags & ONE_THREAD != 0))
}

/// As options take it: `None` leaves it to the environment.
fn device(given: u32) -> Result<Option<Option<Device>>, Failure> {
    match given {
        DEVICE_DEFAULT => Ok(None),
        DEVICE_AUTO => Ok(Some(None)),
        one => match Device::ALL.into_iter().find(|it| device_number(*it) == one) {
            Some(device) => Ok(Some(Some(device))),
            None => Err(Failure::invalid(format!(
                "options.device is {one}, which is none of BCL_DEVICE_*"
            ))),
        },
    }
}

// SAFETY: as the header has it; all fields are numbers and pointers, which are checked before they are used.
unsafe impl Growing for COptions {
    const DEFAULT: Self = Self::DEFAULT;
    const FIRST_BYTES: usize = offset_of!(Self, device);
    const INIT: &str = "BCL_OPTIONS_INIT";
    const NAME: &str = "options";
}

/// `bcl_close`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_close(port: *mut CPort) -> c_int {
    // SAFETY: by the contract of the header.
    Bcl::status("bcl_close", || unsafe { CPort::close(port) })
}

/// `bcl_port_address`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_port_address(port: *const CPort, address: *mut CAddress) -> c_int {
    Bcl::status("bcl_port_address", || {
        // SAFETY: by the contract of the header.
        let (port, address) = unsafe { (CPort::check(port)?, out(address, "address")?) };
        port.with(|open| {
            address.put(open.raw.address().into());
            Ok(())
        })
    })
}

/// `bcl_peer_text`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_peer_text(
    port: *mut CPort,
    peer: CAddress,
    text: *mut c_char,
    len: usize,
) -> c_int {
    Bcl::status("bcl_peer_text", || {
        // SAFETY: by the contract of the header.
        let port = unsafe { CPort::check(port) }?;
        let peer = Address::from(peer);
        let peers = port.with(|open| Ok(open.raw.peers()))?;
        let Some((_, info)) = peers.into_iter().find(|(address, _)| *address == peer) else {
            return Err(Failure::new(
                code::NOT_FOUND,
                format!("there is no connection with {peer}"),
            ));
        };
        // SAFETY: by the contract of the header.
        unsafe { write_text(&format!("{}, {}", info.device, info.copy), text, len) }
    })
}
