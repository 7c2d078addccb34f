//! Shells of closed handles, which are kept for a while.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bcl_os::PerProcess;

use crate::handle::{Handle, Inside};

/// Shells that are kept, so that a call on one is told so instead of reading memory that is somebody else's by now.
pub(crate) const RETIRED_MAX: usize = 64;
static RETIRED: PerProcess<Mutex<VecDeque<Retired>>> = PerProcess::new(Mutex::default);

/// Not a box: the program may still call with the pointer.
struct Retired(*mut dyn Any);

// SAFETY: a closed handle is empty; nobody looks into it but to find that out.
unsafe impl Send for Retired {}

/// Frees a closed handle, but only when others have been closed after it.
///
/// # Safety
/// `handle` came from `Box::into_raw`, is closed, and was not retired before.
pub(crate) unsafe fn retire<T: Inside>(handle: *mut Handle<T>) {
    let mut retired = RETIRED.get().lock().unwrap_or_else(PoisonError::into_inner);
    retired.push_back(Retired(handle));
    if retired.len() > RETIRED_MAX {
        if let Some(oldest) = retired.pop_front() {
            // SAFETY: by the contract of the call that retired it, and it is in the list no more.
            drop(unsafe { Box::from_raw(oldest.0) });
        }
    }
}
