//! Pointers, ranges and strings of the program's, checked as far as that is possible.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use crate::call::{Face, Failure};

/// A place for a result.
///
/// # Safety
/// If not null, `place` is valid for writes for as long as the result is used.
pub unsafe fn out<'a, T, F: Face>(place: *mut T, name: &str) -> Result<&'a mut Out<T>, Failure<F>> {
    if place.is_null() || !place.is_aligned() {
        return Err(Failure::invalid(format!(
            "{name} is NULL or not aligned: it has to point to where the result goes"
        )));
    }
    // SAFETY: not null and aligned, and valid by the contract; `Out` reads nothing from it.
    Ok(unsafe { &mut *place.cast::<Out<T>>() })
}

/// Memory of the program's that may not have been written yet.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(MaybeUninit<T>);

impl<T> Out<T> {
    /// Writes the result.
    pub fn put(&mut self, value: T) {
        self.0.write(value);
    }
}

/// Checks a range of the program's memory without touching it.
pub fn range<F: Face>(start: *const u8, len: usize, name: &str) -> Result<(), Failure<F>> {
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
pub unsafe fn string<'a, F: Face>(text: *const c_char, name: &str) -> Result<&'a str, Failure<F>> {
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
