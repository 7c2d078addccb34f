//! How every call begins and ends: arguments are checked, a panic stops here, and a failure leaves its sentence.
//!
//! No thread is canceled inside a call. Most switch that off here; those that a program makes for each message, and
//! whose names begin with `hot`, leave it to the code below ([`bcl_os::cancel`] says where and why).

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bcl_os::cancel;
use bcl_raw::Error;

use crate::code;

/// Why a call fails: the code to return and the sentence to keep.
#[derive(Debug)]
pub struct Failure {
    code: c_int,
    text: String,
}

impl Failure {
    pub fn new(code: c_int, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(code::INVALID, text)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(code::of_call(&error), error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a call. Its number is returned, or the code of its failure.
#[inline]
pub fn number(name: &str, body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    let _off = cancel::Off::new();
    hot_number(name, body)
}

/// The same of a call that a program makes for each message.
#[inline]
pub fn hot_number(name: &str, body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(number)) => number,
        Ok(Err(failure)) => failed(name, &failure),
        Err(_) => failed(
            name,
            &Failure::new(
                code::INTERNAL,
                "a defect of BCL itself; please report it with what stderr says",
            ),
        ),
    }
}

/// Runs the body of a call that returns nothing but success.
#[inline]
pub fn status(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    number(name, || body().map(|()| code::OK))
}

/// The same of a call that a program makes for each message.
#[inline]
pub fn hot_status(name: &str, body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    hot_number(name, || body().map(|()| code::OK))
}

#[cold]
fn failed(name: &str, failure: &Failure) -> c_int {
    let text = format!("{name}: {}", failure.text).replace('\0', "");
    let text = CString::new(text).unwrap_or_default();
    // At the very end of a thread there is nobody left to ask for the sentence.
    let _ = LAST.try_with(|last| last.replace(text));
    failure.code
}

/// `bcl_last_error`
#[unsafe(no_mangle)]
pub extern "C" fn bcl_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// A place for a result.
///
/// # Safety
/// If not null, `place` is valid for writes for as long as the result is used.
pub unsafe fn out<'a, T>(place: *mut T, name: &str) -> Result<&'a mut Out<T>, Failure> {
    if place.is_null() || !place.is_aligned() {
        return Err(Failure::invalid(format!(
            "{name} is NULL or not aligned: it has to point to where the result goes"
        )));
    }
    // SAFETY: not null and aligned, and valid by the contract; `Out` reads nothing from it.
    Ok(unsafe { &mut *place.cast::<Out<T>>() })
}

/// Memory of the program's that may not have been written yet.
#[repr(transparent)]
pub struct Out<T>(std::mem::MaybeUninit<T>);

impl<T> Out<T> {
    pub fn put(&mut self, value: T) {
        self.0.write(value);
    }
}

/// Checks a range of the program's memory, as far as that is possible without touching it.
pub fn range(start: *const u8, len: usize, name: &str) -> Result<(), Failure> {
    if start.is_null() && len > 0 {
        return Err(Failure::invalid(format!(
            "{name} is NULL but its length is {len}"
        )));
    }
    if isize::try_from(len).is_err() || (start as usize).checked_add(len).is_none() {
        return Err(Failure::invalid(format!(
            "{len} bytes at {name} reach past the end of memory: is the length negative?"
        )));
    }
    Ok(())
}

/// A string of the program's.
///
/// # Safety
/// If not null, `text` is a string that stays as it is while the result is used.
pub unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::invalid(format!(
            "{name} is NULL: it has to be a string"
        )));
    }
    // SAFETY: not null, and a string by the contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|_| Failure::invalid(format!("{name} is not UTF-8")))
}
