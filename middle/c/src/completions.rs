//! Taking completions, waiting for them, and what they say.

use std::ffi::{c_char, c_int};
use std::os::fd::AsRawFd;
use std::time::Instant;

use bcl_adi::{Address, Completion, Ended};
use bcl_capi::code::{Bcl, Failure};
use bcl_capi::events::{Places, deadline};
use bcl_capi::text::{outcome, write_text};
use bcl_capi::translate::ended;
use bcl_capi::types::CEvent;
use bcl_cface::{Face, out};

use crate::endpoint::{CEndpoint, refused, with};
use crate::messages::given;
use crate::types::*;

/// `bcl_adi_poll`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_poll(
    endpoint: *mut CEndpoint,
    completions: *mut CCompletion,
    max: c_int,
) -> c_int {
    Bcl::hot_number("bcl_adi_poll", || {
        // SAFETY: by the contract of the header.
        let mut places = unsafe { Places::new(completions, max, "completions") }?;
        // SAFETY: by the contract of the header.
        unsafe { take(endpoint, &mut places) }?;
        Ok(places.count())
    })
}

/// `bcl_adi_wait`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_wait(
    endpoint: *mut CEndpoint,
    completions: *mut CCompletion,
    max: c_int,
    timeout_ms: c_int,
) -> c_int {
    Bcl::hot_number("bcl_adi_wait", || {
        // SAFETY: by the contract of the header.
        let mut places = unsafe { Places::new(completions, max, "completions") }?;
        let deadline = deadline(timeout_ms)?;
        // SAFETY: by the contract of the header.
        let handle = unsafe { CEndpoint::check(endpoint) }?;
        let first = handle.aside(
            |open| Ok(open.shared.clone()),
            |shared| {
                let left = deadline.map(|until| until.saturating_duration_since(Instant::now()));
                shared.wait(left).map_err(refused)
            },
        )?;
        let Some(first) = first else { return Ok(0) };
        places.push(to_c(&first));
        // What has been taken is told, whatever comes of the rest.
        if places.free() > 0 {
            // SAFETY: by the contract of the header.
            let _ = unsafe { take(endpoint, &mut places) };
        }
        Ok(places.count())
    })
}

/// # Safety
/// As in `bcl_adi.h`.
#[inline]
unsafe fn take(
    endpoint: *mut CEndpoint,
    places: &mut Places<'_, CCompletion>,
) -> Result<(), Failure> {
    // SAFETY: by the contract.
    unsafe {
        with(endpoint, |endpoint| {
            let room = places.free();
            endpoint.look(|| room, |completion| places.push(to_c(completion)))
        })
    }
}

/// `bcl_adi_fd`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_fd(endpoint: *mut CEndpoint, fd: *mut c_int) -> c_int {
    Bcl::status("bcl_adi_fd", || {
        // SAFETY: by the contract of the header.
        let (endpoint, place) = unsafe { (CEndpoint::check(endpoint)?, out(fd, "fd")?) };
        endpoint.with(|open| {
            place.put(open.shared.fd().map_err(refused)?.as_raw_fd());
            Ok(())
        })
    })
}

/// `bcl_adi_completion_text`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_completion_text(
    completion: *const CCompletion,
    text: *mut c_char,
    len: usize,
) -> c_int {
    Bcl::status("bcl_adi_completion_text", || {
        // SAFETY: by the contract of the header.
        let completion = unsafe { given(completion, "completion") }?;
        // SAFETY: by the contract of the header.
        unsafe { write_text(&sentence(&completion), text, len) }
    })
}

fn to_c(completion: &Completion) -> CCompletion {
    let ended = ended(&completion.result);
    CCompletion {
        kind: match completion.kind {
            Ended::Send => SENT,
            Ended::Receive => RECEIVED,
            Ended::Put => PUT_DONE,
            Ended::Get => GET_DONE,
            Ended::Atomic => ATOMIC_DONE,
            Ended::Written => WRITTEN,
            Ended::Lost => LOST,
        },
        status: ended.status,
        peer: completion.peer.into(),
        context: completion.context,
        tag: completion.tag,
        data: completion.data.unwrap_or(0),
        len: completion.len_bytes,
        start: completion.start as *mut _,
        value: ended.value,
        cause: ended.cause,
        cause_detail: ended.cause_detail,
        space: completion.space.into(),
        has_data: completion.data.is_some().into(),
        released: completion.released.into(),
        reserved: 0,
    }
}

fn sentence(completion: &CCompletion) -> String {
    let &CCompletion { len, tag, .. } = completion;
    let peer = Address::from(completion.peer);
    let what = match completion.kind {
        SENT => format!("sending {len} bytes with tag {tag:#x} to {peer}"),
        RECEIVED => format!("receiving {len} bytes with tag {tag:#x} from {peer}"),
        PUT_DONE => format!("writing {len} bytes to memory of {peer}"),
        GET_DONE => format!("reading {len} bytes from memory of {peer}"),
        ATOMIC_DONE => format!("an atomic operation on memory of {peer}"),
        WRITTEN => return format!("{peer} has written {len} bytes, with a notice"),
        LOST => format!("delivering what was sent to {peer} before"),
        other => return format!("not a completion: its type is {other}"),
    };
    let event = CEvent {
        status: completion.status,
        len,
        value: completion.value,
        cause: completion.cause,
        cause_detail: completion.cause_detail,
        ..CEvent::NOTHING
    };
    outcome(what, &event)
}
