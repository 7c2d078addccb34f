//! The numbers of `bcl.h` for errors, in one table.

#![expect(missing_docs, reason = "bcl.h says what they are")]

use std::ffi::{CStr, c_int};

use bcl_cface::Face;
use bcl_raw::{Error, OpError};

/// The library that `bcl.h` describes.
#[derive(Debug)]
pub struct Bcl;

/// Why a call of `bcl.h` fails.
pub type Failure = bcl_cface::Failure<Bcl>;

impl Face for Bcl {
    const INVALID: c_int = INVALID;
    const INTERNAL: c_int = INTERNAL;

    fn code_of(error: &Error) -> c_int {
        match error {
            Error::InvalidArgument(_) => INVALID,
            Error::QueueFull { .. } => QUEUE_FULL,
            Error::PortInUse(_) => PORT_IN_USE,
            Error::Folder(_) => FOLDER,
            Error::Forked | Error::ForkedFromJob => FORKED,
            Error::Closed => CLOSED,
            Error::Busy(_) => BUSY,
            Error::NotFound(_) => NOT_FOUND,
            Error::NoMemory(_) => NO_MEMORY,
            Error::NoDescriptors(_) => NO_DESCRIPTORS,
            Error::Configuration(_) => CONFIGURATION,
            Error::Job(_) => JOB,
            Error::Background(_) => INTERNAL,
            // What a later version of the library adds is a failure of the system until the header names it.
            _ => SYSTEM,
        }
    }
}

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        $(pub const $name: c_int = $number;)*

        /// Every code and its name.
        #[cfg(test)]
        pub const ALL: &[(&str, c_int)] = &[$((stringify!($name), $number)),*];

        /// What a code means, in a few words.
        pub fn text(code: c_int) -> &'static CStr {
            match code {
                $($number => $text,)*
                _ => c"unknown error code",
            }
        }
    };
}

codes! {
    OK = 0, c"success";
    INVALID = -1, c"invalid argument";
    QUEUE_FULL = -2, c"too many operations are under way";
    PORT_IN_USE = -3, c"the port number is taken";
    FOLDER = -4, c"the folder where ports find each other cannot be used";
    FORKED = -5, c"it belongs to the parent process";
    CLOSED = -6, c"the port is closed";
    BUSY = -7, c"in use";
    NOT_FOUND = -8, c"there is no such post, window, peer or unreleased message";
    NO_MEMORY = -9, c"no memory";
    NO_DESCRIPTORS = -10, c"no file descriptors";
    CONFIGURATION = -11, c"a setting in the environment is wrong";
    JOB = -12, c"the launcher or another process of the job failed";
    SYSTEM = -13, c"a system call failed";
    INTERNAL = -14, c"a defect of BCL itself";
    AGAIN = -15, c"there is no room now";
    LOST = -16, c"what was sent to the peer before is lost";
    TRUNCATED = -32, c"the message is longer than the buffer";
    NO_PORT = -33, c"nobody has this port open";
    KEY = -34, c"the peer belongs to another job";
    VERSION = -35, c"the peer's version of BCL is too different";
    NOT_ALLOWED = -36, c"the peer belongs to another user";
    UNREACHABLE = -37, c"no way leads to that node";
    PEER_GONE = -38, c"the peer is gone";
    RMA_DENIED = -39, c"the owner of the window does not permit this access";
    RMA_RANGE = -40, c"the access reaches outside the window or is not aligned";
    NO_WINDOW = -41, c"nothing is bound to this window";
    CANCELED = -42, c"canceled";
    FAULT = -43, c"memory given to the operation is not mapped";
    PROTOCOL = -44, c"the peer broke the protocol and was cut off";
}

/// The status of an event.
pub fn of_operation(result: &Result<(), OpError>) -> c_int {
    let Err(error) = result else { return OK };
    match error {
        OpError::Truncated { .. } => TRUNCATED,
        OpError::NoPort => NO_PORT,
        OpError::KeyMismatch => KEY,
        OpError::VersionMismatch { .. } => VERSION,
        OpError::NotAllowed => NOT_ALLOWED,
        OpError::Unreachable => UNREACHABLE,
        OpError::PeerGone(_) => PEER_GONE,
        OpError::RmaDenied => RMA_DENIED,
        OpError::RmaRange => RMA_RANGE,
        OpError::NoWindow => NO_WINDOW,
        OpError::Canceled => CANCELED,
        OpError::Fault => FAULT,
        OpError::NoMemory => NO_MEMORY,
        OpError::NoDescriptors => NO_DESCRIPTORS,
        OpError::Protocol => PROTOCOL,
    }
}
