//! Starting a thread on which no signal of the program is handled.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread of this name, on which no signal of the program is handled.
pub fn without_signals(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let builder = Builder::new().name(name.into());
    with_all_blocked(|| builder.spawn(body))
}

/// The new thread inherits the mask: the program's signals are for the program's threads.
fn with_all_blocked<T>(spawn: impl FnOnce() -> T) -> T {
    // SAFETY: both sets live on this stack; the mask of the calling thread is put back before returning.
    unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        let mut before = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}
