//! Signals that end a daemon, as a descriptor; and one that must not.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable once the process is told to end.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks SIGTERM, SIGINT and SIGHUP; from now on the descriptor tells of them. SIGXFSZ is blocked too: a file that
    /// would be too large is an error of the request it is for. Call before any thread starts.
    ///
    /// # Errors
    /// When the kernel has no descriptor.
    pub fn block() -> io::Result<Signals> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset fills the set in; the other calls only read or change it.
        let fd = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGXFSZ] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut());
            libc::sigdelset(set.as_mut_ptr(), libc::SIGXFSZ);
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made it for us.
        Ok(Signals(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
