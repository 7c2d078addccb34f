//! Doing something in a namespace: what is opened there stays there.

use std::fs::File;
use std::io::{Error, Result};
use std::os::fd::AsRawFd;
use std::thread;

/// Runs `inside` in the namespace, in a thread that ends with it.
///
/// # Errors
/// When the namespace is not there or may not be entered.
pub(super) fn enter<T: Send>(namespace: &str, inside: impl FnOnce() -> T + Send) -> Result<T> {
    let door = File::open(format!("/run/netns/{namespace}"))
        .map_err(|error| Error::new(error.kind(), format!("namespace {namespace}: {error}")))?;
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: only this thread changes its namespace, and nobody uses it afterwards.
            match unsafe { libc::setns(door.as_raw_fd(), libc::CLONE_NEWNET) } {
                0 => Ok(inside()),
                _ => Err(Error::last_os_error()),
            }
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
