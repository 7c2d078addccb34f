//! Calls that the middle layer refuses: libfabric's number for each reason.

use std::ffi::c_int;

use bcl_adi::{Error, PortError};

use super::failed::code_of;
use crate::abi::*;
use crate::call::Failure;

/// What the program is told.
pub(super) fn failure(error: &Error) -> Failure {
    let code = match error {
        Error::InvalidArgument(_) => FI_EINVAL,
        Error::NotFound(_) => FI_ENOMSG,
        Error::Lost { error, .. } => code_of(error),
        Error::NoThread(error) => error.raw_os_error().unwrap_or(FI_EIO),
        Error::Port(error) => of_port(error),
        _ => FI_EIO,
    };
    Failure::new(code, error.to_string())
}

fn of_port(error: &PortError) -> c_int {
    match error {
        PortError::PortInUse(_) => libc::EADDRINUSE,
        PortError::InvalidArgument(_) | PortError::Configuration(_) => FI_EINVAL,
        PortError::NoMemory(_) => FI_ENOMEM,
        PortError::NoDescriptors(_) => libc::EMFILE,
        PortError::System { errno, .. } => errno.raw_os_error(),
        _ => FI_EIO,
    }
}
