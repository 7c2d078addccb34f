//! Structures that programs fill in, and that later versions of a library may add fields to.

use crate::{Face, Failure};

/// A structure whose first field says how long it is.
///
/// # Safety
/// It is `repr(C)`, its first field is a `usize`, and any bytes are numbers and pointers of it.
pub unsafe trait Growing: Copy {
    /// Fields that a program's version does not have are as here.
    const DEFAULT: Self;
    /// Where the structure ended at first.
    const FIRST_BYTES: usize;
    /// What a program fills it in from.
    const INIT: &str;
    /// What a program calls it.
    const NAME: &str;
}

/// No later version is longer.
const LONGEST_BYTES: usize = 4096;

/// Reads a structure that a program of an earlier or later header made: fields it does not have are as by default, fields that we do not
/// have must be zero.
///
/// # Safety
/// `place` points to a structure as long as its first field says.
pub unsafe fn read_sized<F: Face, T: Growing>(place: *const T) -> Result<T, Failure<F>> {
    let name = T::NAME;
    if !place.is_aligned() {
        return Err(Failure::invalid(format!("{name} is not aligned")));
    }
    // SAFETY: the length is the first field of every version, and aligned as the structure is.
    let size = unsafe { place.cast::<usize>().read() };
    if !(T::FIRST_BYTES..=LONGEST_BYTES).contains(&size) {
        return Err(Failure::invalid(format!(
            "{name}.size is {size}: begin with {}",
            T::INIT
        )));
    }
    // SAFETY: as long as it says, by the contract.
    let bytes = unsafe { std::slice::from_raw_parts(place.cast::<u8>(), size) };
    let (known, later) = bytes.split_at(size.min(size_of::<T>()));
    if later.iter().any(|&byte| byte != 0) {
        return Err(Failure::invalid(format!(
            "{name} has settings of a later version than this library's"
        )));
    }
    let mut read = T::DEFAULT;
    // SAFETY: no more than the structure's length, and any bytes are numbers and pointers of it.
    unsafe {
        let to = (&raw mut read).cast::<u8>();
        std::ptr::copy_nonoverlapping(known.as_ptr(), to, known.len());
    }
    Ok(read)
}
