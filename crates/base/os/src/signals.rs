//! Calls that tell of a failure by a signal too, which would end the program.

use rustix::io::Errno;

use crate::cancel;

/// Makes a call of which `signal` comes when it fails with `errno`. The signal is held back and taken away: the program
/// hears of the failure from us, and its handlers and masks are its own.
pub(crate) fn without_signal<T>(
    signal: libc::c_int,
    errno: Errno,
    call: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    // SAFETY: the sets are initialised by `sigemptyset` and `pthread_sigmask` before they are read;
    // the calls change the mask of this thread, and the last one restores it.
    unsafe {
        let mut held_back = std::mem::zeroed();
        libc::sigemptyset(&mut held_back);
        libc::sigaddset(&mut held_back, signal);
        let mut before = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &held_back, &mut before);
        // One that the program itself held back stays pending; ours melts into it.
        let was_blocked = libc::sigismember(&before, signal) == 1;
        let result = call();
        if matches!(result, Err(error) if error == errno) && !was_blocked {
            let at_once = std::mem::zeroed();
            let _off = cancel::Off::new();
            libc::sigtimedwait(&held_back, std::ptr::null_mut(), &at_once);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{AtomicU32, Ordering};

    #[test]
    fn the_signal_of_a_failed_call_is_taken_away() {
        static HANDLED: AtomicU32 = AtomicU32::new(0);
        extern "C" fn on_signal(_: libc::c_int) {
            HANDLED.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: the handler only changes an atomic.
        unsafe { libc::signal(libc::SIGUSR2, on_signal as *const () as libc::sighandler_t) };
        let raise = |result: Result<u8, Errno>| {
            without_signal(libc::SIGUSR2, Errno::FBIG, || {
                // SAFETY: the signal has a handler.
                unsafe { libc::raise(libc::SIGUSR2) };
                result
            })
        };
        assert_eq!(raise(Err(Errno::FBIG)), Err(Errno::FBIG));
        assert_eq!(HANDLED.load(Ordering::SeqCst), 0);
        // Whatever else comes meanwhile is the program's, and only late.
        assert_eq!(raise(Ok(7)), Ok(7));
        assert_eq!(HANDLED.load(Ordering::SeqCst), 1);
    }
}
