//! When a peer process has ended, and how.
//!
//! A socket tells by its end that the other side has closed it, but neither why nor, if a child of
//! the peer has inherited it, in time. A pidfd does both.

mod cause;
mod fdinfo;
mod stat;
mod stopped;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::Fd;
use bcl_os::ready::is_readable;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};

pub use cause::{ExitCause, known as known_cause};
pub use stat::stat_fields;
pub use stopped::is_peer_stopped;

use crate::credentials::peer_credentials;
use crate::sockopt;

/// The process at the other end of a socket, watched as well as the kernel allows.
#[derive(Debug)]
pub struct PeerProcess {
    pidfd: Option<Fd>,
}

impl PeerProcess {
    /// Watches the process at the other end of `sock`.
    ///
    /// The kernel's own answer (SO_PEERPIDFD, from 6.5) is preferred to `passed`, the pidfd that
    /// the peer has sent of itself; of that one it is checked that it is a pidfd, and of the
    /// process that has connected.
    pub fn open(sock: impl AsFd, passed: Option<Fd>) -> io::Result<PeerProcess> {
        let peer = peer_credentials(&sock)?;
        let checked = || passed.filter(|fd| fdinfo::is_of_process(fd.as_fd(), peer.pid));
        let pidfd = sockopt::peer_pidfd(sock.as_fd()).ok().or_else(checked);
        Ok(PeerProcess { pidfd })
    }

    /// The pidfd to poll: readable from the death of the process on. `None` if there is none, and
    /// only the end of the socket will tell.
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Whether the process has ended, as far as we can know. Does not wait.
    pub fn has_exited(&self) -> bool {
        self.as_fd().is_some_and(is_readable)
    }

    /// How the process has ended. A process whose socket has closed may be on its way out, so this
    /// waits for up to 20 ms until it knows.
    pub fn cause(&self) -> ExitCause {
        self.as_fd().map_or(ExitCause::Unknown, cause::of)
    }
}

/// A pidfd of this process, to pass to a peer; `None` where the call is refused, as under some seccomp filters.
pub fn own_pidfd() -> io::Result<Option<Fd>> {
    match Fd::make(|| pidfd_open(getpid(), PidfdFlags::empty())) {
        Err(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => Ok(None),
        opened => Ok(Some(opened?)),
    }
}

/// Whether the process that listens at the other end of `sock` has ended, while a child of it that
/// has inherited the listener keeps the name alive.
pub(crate) fn has_peer_ended(sock: BorrowedFd<'_>) -> bool {
    match sockopt::peer_pidfd(sock) {
        Ok(pidfd) => is_readable(pidfd.as_fd()),
        // An older kernel. At worst another process has got the number, and we have to wait.
        Err(_) => peer_credentials(sock)
            .ok()
            .and_then(|peer| Pid::from_raw(peer.pid))
            .is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)),
    }
}
