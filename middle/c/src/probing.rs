//! Messages that wait.

use std::ffi::c_int;

use bcl_adi::{Memory, Probed};
use bcl_capi::code::{Bcl, Failure};
use bcl_cface::{Face, out, range};

use crate::endpoint::{CEndpoint, with};
use crate::messages::{given, wanted};
use crate::types::{CProbed, CWanted};

/// `bcl_adi_probe`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_probe(
    endpoint: *mut CEndpoint,
    which: *const CWanted,
    message: *mut CProbed,
) -> c_int {
    Bcl::hot_number("bcl_adi_probe", || {
        // SAFETY: by the contract of the header.
        unsafe {
            let which = wanted(&given(which, "wanted")?)?;
            let found = with(endpoint, |endpoint| endpoint.probe(&which))?;
            tell(found.map(|probed| (probed, 0)), message)
        }
    })
}

/// `bcl_adi_claim`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_claim(
    endpoint: *mut CEndpoint,
    which: *const CWanted,
    message: *mut CProbed,
) -> c_int {
    Bcl::hot_number("bcl_adi_claim", || {
        // SAFETY: by the contract of the header.
        unsafe {
            // Before anything is claimed whose name could not be told.
            out::<_, Bcl>(message, "message")?;
            let which = wanted(&given(which, "wanted")?)?;
            let found = with(endpoint, |endpoint| endpoint.claim(&which))?;
            tell(found, message)
        }
    })
}

/// # Safety
/// If not null, `message` is valid for writes.
unsafe fn tell(found: Option<(Probed, u64)>, message: *mut CProbed) -> Result<c_int, Failure> {
    // SAFETY: by the contract.
    let place = unsafe { out(message, "message") }?;
    let Some((probed, claim)) = found else {
        return Ok(0);
    };
    place.put(CProbed {
        from: probed.from.into(),
        tag: probed.tag,
        data: probed.data.unwrap_or(0),
        len: probed.len_bytes,
        claim,
        has_data: probed.data.is_some().into(),
        reserved: 0,
    });
    Ok(1)
}

/// `bcl_adi_receive_claimed`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_receive_claimed(
    endpoint: *mut CEndpoint,
    claim: u64,
    buffer: *mut u8,
    len: usize,
    context: u64,
) -> c_int {
    Bcl::hot_status("bcl_adi_receive_claimed", || {
        range(buffer, len, "buffer")?;
        let memory = Memory::one(buffer, len);
        // SAFETY: by the contract of the header.
        unsafe {
            with(endpoint, |endpoint| {
                endpoint.receive_claimed(claim, memory, (context, 0))
            })
        }
    })
}

/// `bcl_adi_discard`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_discard(endpoint: *mut CEndpoint, claim: u64) -> c_int {
    Bcl::hot_status("bcl_adi_discard", || {
        // SAFETY: by the contract of the header.
        unsafe { with(endpoint, |endpoint| endpoint.discard_claimed(claim)) }
    })
}
