//! Threads of the program that are to be canceled (`pthread_cancel`): not while they are in here.
//!
//! A canceled thread ends by unwinding its stack at the next *cancellation point*: open, read, close and most other calls
//! of the C library that may wait. The frames of Rust cannot be unwound that way, the process would be aborted. So
//! cancellation is off wherever a call of the library may come to such a point, and acts at the next one of the program's.
//!
//! To switch it off and on takes 10 ns, which calls made for each message cannot spare. Those make their own system
//! calls past the C library, where no cancellation point is, and switch it off only where they leave the fast path: at
//! first contact, for news of the background threads, on the network, and where descriptors are closed.

use std::ffi::c_int;
use std::marker::PhantomData;

/// glibc's and musl's number for it.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

/// This thread is not canceled while it has one of these; they may be nested.
#[derive(Debug)]
pub struct Off {
    before: c_int,
    /// It belongs to the thread that made it.
    not_send: PhantomData<*const ()>,
}

impl Off {
    /// From now on.
    #[inline]
    #[expect(
        clippy::new_without_default,
        reason = "it does something that nobody is to do by accident"
    )]
    pub fn new() -> Self {
        let mut before = 0;
        if !cfg!(miri) {
            // SAFETY: the call writes one integer, into a live one, and fails only for states that do not exist.
            unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &raw mut before) };
        }
        Self {
            before,
            not_send: PhantomData,
        }
    }
}

impl Drop for Off {
    #[inline]
    fn drop(&mut self) {
        if !cfg!(miri) {
            // SAFETY: as above. What was there before is a state, and a deferred cancellation does not act here.
            unsafe { pthread_setcancelstate(self.before, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> c_int {
        Off::new().before
    }

    #[test]
    fn the_outermost_one_brings_back_what_was() {
        let before = state();
        let outer = Off::new();
        drop(Off::new());
        assert_eq!(state(), PTHREAD_CANCEL_DISABLE);
        drop(outer);
        assert_eq!(state(), before);
        assert_ne!(before, PTHREAD_CANCEL_DISABLE);
    }
}
