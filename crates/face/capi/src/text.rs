//! Texts: of codes, addresses, events, the version.

use std::ffi::{c_char, c_int};

use bcl_cface::{Face, out, range, string};
use bcl_raw::{Address, Cause};

use crate::code::{self, Bcl, Failure};
use crate::translate::{cause_of, error_of};
use crate::types::*;

/// `bcl_strerror`
#[unsafe(no_mangle)]
pub extern "C" fn bcl_strerror(code: c_int) -> *const c_char {
    code::text(code).as_ptr()
}

/// `bcl_last_error`
#[unsafe(no_mangle)]
pub extern "C" fn bcl_last_error() -> *const c_char {
    bcl_cface::last_error()
}

/// `bcl_version`
#[unsafe(no_mangle)]
pub extern "C" fn bcl_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// `bcl_address_parse`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_address_parse(text: *const c_char, address: *mut CAddress) -> c_int {
    Bcl::status("bcl_address_parse", || {
        // SAFETY: by the contract of the header.
        let (text, address) = unsafe { (string(text, "text")?, out(address, "address")?) };
        let parsed: Address = text
            .parse()
            .map_err(|error: bcl::ParseAddressError| Failure::invalid(error.to_string()))?;
        address.put(parsed.into());
        Ok(())
    })
}

/// `bcl_address_format`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_address_format(
    address: CAddress,
    text: *mut c_char,
    len: usize,
) -> c_int {
    Bcl::status("bcl_address_format", || {
        let formatted = Address::from(address).to_string();
        if formatted.len() >= len {
            return Err(Failure::invalid(format!(
                "{formatted} does not fit {len} bytes: BCL_ADDRESS_TEXT_LEN always fits"
            )));
        }
        // SAFETY: by the contract of the header.
        unsafe { write_text(&formatted, text, len) }
    })
}

/// `bcl_event_text`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_event_text(
    event: *const CEvent,
    text: *mut c_char,
    len: usize,
) -> c_int {
    Bcl::status("bcl_event_text", || {
        if event.is_null() || !event.is_aligned() {
            return Err(Failure::invalid("event is NULL or not aligned"));
        }
        // SAFETY: not null and aligned, and an event by the contract of the header.
        let sentence = sentence(unsafe { &*event });
        // SAFETY: by the contract of the header.
        unsafe { write_text(&sentence, text, len) }
    })
}

fn sentence(event: &CEvent) -> String {
    let CEvent {
        channel,
        len,
        offset,
        ..
    } = *event;
    let peer = Address::from(event.peer);
    match event.kind {
        EVENT_SENT => outcome(
            format!("sending {len} bytes to {peer} on channel {channel}"),
            event,
        ),
        EVENT_MESSAGE => format!("a system message of {len} bytes from {peer}"),
        EVENT_RECEIVED => outcome(
            format!("receiving {len} bytes from {peer} on channel {channel}"),
            event,
        ),
        EVENT_RMA_DONE => outcome(
            format!("a one-sided operation on window {channel} of {peer}"),
            event,
        ),
        EVENT_RMA_ARRIVED => {
            format!("{peer} has written {len} bytes at offset {offset} of window {channel}")
        }
        EVENT_PEER_UP => format!("connected with {peer}"),
        EVENT_PEER_GONE => {
            let cause = cause_of(event).unwrap_or(Cause::Vanished);
            format!("{peer} is gone: {cause}")
        }
        other => format!("not an event: its type is {other}"),
    }
}

/// A sentence about how something went, of whose event everything but the kind counts.
pub fn outcome(what: String, event: &CEvent) -> String {
    match (event.status, error_of(event)) {
        (code::OK, _) => format!("{what}: done"),
        (_, Some(error)) => format!("{what} failed: {error}"),
        (status, None) => format!("{what} failed: {}", code::text(status).to_string_lossy()),
    }
}

/// Writes a text and its final zero, cut off to fit.
///
/// # Safety
/// If not null, `to` is valid for writes of `len` bytes.
pub unsafe fn write_text(text: &str, to: *mut c_char, len: usize) -> Result<(), Failure> {
    range(to.cast(), len, "text")?;
    let Some(room) = len.checked_sub(1).filter(|_| !to.is_null()) else {
        return Err(Failure::invalid("there is no room for text: len is 0"));
    };
    let fits = |cut: &usize| *cut <= room && text.is_char_boundary(*cut);
    let cut = (0..=text.len()).rev().find(fits).unwrap_or(0);
    // SAFETY: `cut` is less than `len`, which `to` is valid for by the contract.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, cut);
        to.add(cut).write(0);
    }
    Ok(())
}
