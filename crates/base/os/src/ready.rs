//! Whether descriptors are readable, and waiting until one is: poll(2) with times as Rust has them.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until one of some descriptors is readable, or a signal comes; false on timeout. `None` waits for ever.
///
/// # Errors
/// What poll(2) says.
pub fn wait_for<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    timeout: Option<Duration>,
) -> Result<bool, Errno> {
    let mut fds: Vec<_> = descriptors
        .into_iter()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    // Longer than the kernel can count is for ever.
    let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(errno) => Err(errno),
    }
}

/// Whether a descriptor is readable at this moment: a pidfd is when its process has ended.
pub fn is_readable(descriptor: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())) == Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::Instant;

    #[test]
    fn a_pipe_is_readable_once_something_is_in_it() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        assert!(!is_readable(read.as_fd()));
        let (start, patience) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(wait_for([read.as_fd()], Some(patience)), Ok(false));
        assert!(start.elapsed() >= patience);
        rustix::io::write(&write, &[1]).unwrap();
        assert!(is_readable(read.as_fd()));
        for timeout in [None, Some(Duration::MAX), Some(Duration::ZERO)] {
            assert_eq!(wait_for([read.as_fd()], timeout), Ok(true));
        }
    }
}
