//! What `bcl_adi *` points to: opening, closing, and why calls fail.

use std::collections::HashMap;
use std::ffi::c_int;
use std::time::Duration;

use bcl_adi::{Endpoint, Error, Hidden, PortError, Progress, SharedEndpoint};
use bcl_capi::code::{self, Bcl, Failure};
use bcl_capi::port::settings;
use bcl_capi::types::{CAddress, COptions};
use bcl_cface::{Face, Handle, Inside, out};

use crate::types::MANUAL;

/// `bcl_adi`
pub type CEndpoint = Handle<Open>;

/// An open endpoint.
pub struct Open {
    pub shared: SharedEndpoint,
    /// Regions that peers find no more, and that some of them still use.
    pub hidden: HashMap<u64, Hidden>,
    linger: Duration,
}

impl Inside for Open {
    type Face = Bcl;
    const MAGIC: u64 = u64::from_le_bytes(*b"BCLadi 1");
    const NAME: &str = "endpoint";
    const OPENER: &str = "bcl_adi_open";

    fn close(&mut self) -> Result<(), PortError> {
        match self.shared.close(self.linger) {
            // There is nobody left to tell of what is lost.
            Ok(()) | Err(Error::Again { .. } | Error::Lost { .. }) => Ok(()),
            Err(Error::Port(error)) => Err(error),
            Err(other) => Err(PortError::InvalidArgument(other.to_string())),
        }
    }
}

/// Does something with the endpoint behind a pointer of the program's.
///
/// # Safety
/// As in `bcl_adi.h`.
#[inline]
pub unsafe fn with<R>(
    endpoint: *const CEndpoint,
    body: impl FnOnce(&mut Endpoint) -> Result<R, Error>,
) -> Result<R, Failure> {
    // SAFETY: by the contract of the header.
    let endpoint = unsafe { CEndpoint::check(endpoint) }?;
    endpoint.with(|open| open.shared.with(body).map_err(refused))
}

/// The code and the sentence.
#[cold]
pub fn refused(error: Error) -> Failure {
    let code = match &error {
        Error::Again { .. } => code::AGAIN,
        Error::Lost { .. } => code::LOST,
        Error::InvalidArgument(_) => code::INVALID,
        Error::NotFound(_) => code::NOT_FOUND,
        Error::NoThread(_) => code::SYSTEM,
        Error::Port(error) => Bcl::code_of(error),
        _ => code::INTERNAL,
    };
    Failure::new(code, error.to_string())
}

/// `bcl_adi_open`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_open(
    options: *const COptions,
    flags: u32,
    endpoint: *mut *mut CEndpoint,
) -> c_int {
    Bcl::status("bcl_adi_open", || {
        // SAFETY: by the contract of the header.
        let place = unsafe { out(endpoint, "endpoint") }?;
        place.put(std::ptr::null_mut());
        let progress = match flags {
            0 => Progress::Automatic,
            MANUAL => Progress::Manual,
            other => {
                return Err(Failure::invalid(format!(
                    "flags is {other:#x}: BCL_ADI_MANUAL is the only flag"
                )));
            }
        };
        // SAFETY: by the contract of the header.
        let (options, one_thread) = unsafe { settings(options) }?;
        let open = Open {
            shared: SharedEndpoint::open(options, progress).map_err(refused)?,
            hidden: HashMap::new(),
            linger: Duration::ZERO,
        };
        place.put(CEndpoint::open(open, one_thread));
        Ok(())
    })
}

/// `bcl_adi_close`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_close(endpoint: *mut CEndpoint, linger_ms: c_int) -> c_int {
    Bcl::status("bcl_adi_close", || {
        let Ok(linger_ms) = u64::try_from(linger_ms) else {
            return Err(Failure::invalid(format!(
                "linger_ms is {linger_ms}: it has to be a time, or 0"
            )));
        };
        // SAFETY: by the contract of the header.
        unsafe {
            CEndpoint::check(endpoint)?.with(|open| {
                open.linger = Duration::from_millis(linger_ms);
                Ok(())
            })?;
            CEndpoint::close(endpoint)
        }
    })
}

/// `bcl_adi_address`
///
/// # Safety
/// As in `bcl_adi.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_adi_address(
    endpoint: *const CEndpoint,
    address: *mut CAddress,
) -> c_int {
    Bcl::status("bcl_adi_address", || {
        // SAFETY: by the contract of the header.
        let (endpoint, address) =
            unsafe { (CEndpoint::check(endpoint)?, out(address, "address")?) };
        endpoint.with(|open| {
            address.put(open.shared.address().into());
            Ok(())
        })
    })
}
