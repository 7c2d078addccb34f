//! How calls end: with a number for the program, and with a sentence for its user if that is bad news.

use std::ffi::c_int;
use std::fmt;

use crate::abi::{FI_EINVAL, FI_ENOSYS};
use crate::log::{self, Level};

/// Why a call fails: libfabric's number, and what there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of `rdma/fi_errno.h`, positive.
    pub code: c_int,
    /// What failed, on what, why, and what to do.
    pub text: String,
}

impl Failure {
    /// With a number that the program may look at.
    pub fn new(code: c_int, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    /// An argument cannot be right.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(FI_EINVAL, text)
    }

    /// We do not do this.
    pub fn unsupported(text: impl Into<String>) -> Self {
        Self::new(FI_ENOSYS, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Runs the body of a call that has nothing to return but success.
pub fn status(call: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    match body() {
        Ok(()) => 0,
        Err(failure) => failed(call, &failure),
    }
}

/// Runs the body of a call that returns a number. What a program meets all day (nothing there yet) is one as well.
pub fn number(call: &str, body: impl FnOnce() -> Result<isize, Failure>) -> isize {
    match body() {
        Ok(number) => number,
        Err(failure) => failed(call, &failure) as isize,
    }
}

#[cold]
fn failed(call: &str, failure: &Failure) -> c_int {
    log::say(Level::Warn, &format!("{call}: {failure}"));
    -failure.code
}
