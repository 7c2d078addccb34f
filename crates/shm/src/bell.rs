//! The bell of a port: a pipe whose write end every peer holds.
//!
//! A pipe and not an eventfd, because a peer that holds an eventfd can also read it and so steal the
//! wake-ups of others. What a peer can do with a write end is wake the port for nothing.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, IoSlice, ReadWriteFlags};
use rustix::pipe::PipeFlags;

/// The owner's side.
#[derive(Debug)]
pub struct Bell {
    read: OwnedFd,
    write: OwnedFd,
}

impl Bell {
    /// Makes a silent bell.
    pub fn new() -> Result<Self, Errno> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { read, write })
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
/// A full pipe is a bell that rings already.
pub fn ring(ringer: BorrowedFd<'_>) {
    let byte = [IoSlice::new(&[1])];
    // Offset -1: a pipe has none.
    let _ = rustix::io::pwritev2(ringer, &byte, u64::MAX, ReadWriteFlags::NOWAIT);
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
    use rustix::event::{PollFd, PollFlags, poll};

    fn rings(bell: &Bell) -> bool {
        let mut fds = [PollFd::new(bell, PollFlags::IN)];
        poll(
            &mut fds,
            Some(&rustix::time::Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        )
        .unwrap()
            == 1
    }

    impl AsFd for Bell {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.read.as_fd()
        }
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
}
