//! The bell of a port: a pipe whose write end every peer holds.
//!
//! A pipe and not an eventfd, because a peer that holds an eventfd can also read it and so steal the
//! wake-ups of others. What a peer can do with a write end is wake the port for nothing.

use std::os::fd::{AsFd, BorrowedFd};

use crate::{Fd, fork};
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use rustix::pipe::PipeFlags;

use crate::signals::without_signal;

/// The owner's side.
#[derive(Debug)]
pub struct Bell {
    read: Fd,
    write: Fd,
}

impl Bell {
    /// Makes a silent bell.
    pub fn new() -> Result<Self, Errno> {
        fork::held_off(|| {
            let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            Ok(Self {
                read: Fd::own(read),
                write: Fd::own(write),
            })
        })
    }

    /// Readable while the bell has been rung and not silenced: what to give to `poll`.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }

    /// The end that peers get.
    pub fn ringer(&self) -> BorrowedFd<'_> {
        self.write.as_fd()
    }

    /// Takes back all rings so far.
    pub fn silence(&self) {
        let mut sink = [0u8; 256];
        while matches!(rustix::io::read(&self.read, &mut sink), Ok(n) if n == sink.len()) {}
    }
}

/// Rings; never blocks, even if a hostile holder of the same pipe took its non-blocking flag away.
///
/// A full pipe is a bell that rings already, and one whose owner is gone wakes nobody.
pub fn ring(ringer: BorrowedFd<'_>) {
    // Nobody is told of a reader that is dead: its end is news of its own.
    let _ = without_signal(libc::SIGPIPE, Errno::PIPE, || match write_nowait(ringer) {
        written @ (Ok(()) | Err(Errno::AGAIN | Errno::PIPE)) => written,
        // Linux before 6.4 knows no such flag for pipes, and a sandbox may refuse the call. What is left then is a moment
        // in which a hostile holder could fill a pipe that it made blocking.
        Err(_) if is_writable(ringer) => rustix::io::write(ringer, &[1]).map(drop),
        written => written,
    });
}

fn write_nowait(ringer: BorrowedFd<'_>) -> Result<(), Errno> {
    let byte = [IoSlice::new(&[1])];
    // Offset -1: a pipe has none.
    rustix::io::pwritev2(ringer, &byte, u64::MAX, ReadWriteFlags::NOWAIT).map(drop)
}

fn is_writable(ringer: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(ringer, PollFlags::OUT)];
    let at_once = rustix::time::Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    matches!(rustix::event::poll(&mut fds, Some(&at_once)), Ok(1))
}

/// Whether a descriptor that a peer sent as its ringer is a pipe at all.
pub fn is_ringer(fd: BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(fd).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{AtomicBool, Ordering};

    fn rings(bell: &Bell) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(bell.as_fd(), PollFlags::IN)];
        let at_once = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut fds, Some(&at_once)).unwrap() == 1
    }

    #[test]
    fn rings_until_silenced() {
        let bell = Bell::new().unwrap();
        assert!(!rings(&bell));
        ring(bell.ringer());
        ring(bell.ringer());
        assert!(rings(&bell));
        bell.silence();
        assert!(!rings(&bell));
    }

    #[test]
    fn a_full_bell_does_not_block_even_without_the_flag() {
        let bell = Bell::new().unwrap();
        rustix::fs::fcntl_setfl(bell.ringer(), rustix::fs::OFlags::empty()).unwrap();
        for _ in 0..100_000 {
            ring(bell.ringer());
        }
        bell.silence();
        assert!(!rings(&bell));
    }

    #[test]
    fn a_bell_whose_owner_is_gone_kills_nobody() {
        static KILLED: AtomicBool = AtomicBool::new(false);
        extern "C" fn on_sigpipe(_: libc::c_int) {
            KILLED.store(true, Ordering::SeqCst);
        }
        let Bell { read, write } = Bell::new().unwrap();
        drop(read);
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(libc::SIGPIPE, on_sigpipe as *const () as libc::sighandler_t) };
        ring(write.as_fd());
        assert!(!KILLED.load(Ordering::SeqCst));
    }

    #[test]
    fn a_full_pipe_is_known_to_be_full() {
        let bell = Bell::new().unwrap();
        assert!(is_writable(bell.ringer()));
        while write_nowait(bell.ringer()).is_ok() {}
        assert!(!is_writable(bell.ringer()));
    }
}
