//! How every call begins and ends: a panic stops here, and a failure leaves its sentence.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bcl_os::cancel;
use bcl_raw::Error;

/// A C library: the codes that its calls return, and how they run. Success is 0 in all of them.
///
/// No thread is canceled inside a call. Most switch that off here; those that a program makes for each message, and
/// whose names begin with `hot`, leave it to the code below ([`bcl_os::cancel`] says where and why).
pub trait Face: Sized {
    /// An argument cannot be right.
    const INVALID: c_int;
    /// A defect of BCL itself.
    const INTERNAL: c_int;

    /// The code of a call that failed for this reason.
    fn code_of(error: &Error) -> c_int;

    /// Runs the body of a call. Its number is returned, or the code of its failure.
    #[inline]
    fn number(name: &str, body: impl FnOnce() -> Result<c_int, Failure<Self>>) -> c_int {
        let _off = cancel::Off::new();
        Self::hot_number(name, body)
    }

    /// The same of a call that a program makes for each message.
    #[inline]
    fn hot_number(name: &str, body: impl FnOnce() -> Result<c_int, Failure<Self>>) -> c_int {
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(number)) => number,
            Ok(Err(Failure { code, text, .. })) => failed(name, code, &text),
            Err(_) => failed(
                name,
                Self::INTERNAL,
                "a defect of BCL itself; please report it with what stderr says",
            ),
        }
    }

    /// Runs the body of a call that returns nothing but success.
    #[inline]
    fn status(name: &str, body: impl FnOnce() -> Result<(), Failure<Self>>) -> c_int {
        Self::number(name, || body().map(|()| 0))
    }

    /// The same of a call that a program makes for each message.
    #[inline]
    fn hot_status(name: &str, body: impl FnOnce() -> Result<(), Failure<Self>>) -> c_int {
        Self::hot_number(name, || body().map(|()| 0))
    }
}

/// Why a call fails: the code to return and the sentence to keep.
#[derive(Debug)]
pub struct Failure<F> {
    code: c_int,
    text: String,
    face: PhantomData<F>,
}

impl<F: Face> Failure<F> {
    /// With a code that the library has for just this.
    pub fn new(code: c_int, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            face: PhantomData,
        }
    }

    /// An argument cannot be right, for this reason.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(F::INVALID, text)
    }
}

impl<F: Face> From<Error> for Failure<F> {
    fn from(error: Error) -> Self {
        Self::new(F::code_of(&error), error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

#[cold]
fn failed(name: &str, code: c_int, text: &str) -> c_int {
    let text = format!("{name}: {text}").replace('\0', "");
    let text = CString::new(text).unwrap_or_default();
    // At the very end of a thread there is nobody left to ask for the sentence.
    let _ = LAST.try_with(|last| last.replace(text));
    code
}

/// The sentence of the last call of this thread that failed, until another fails; empty if none has.
pub fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}
