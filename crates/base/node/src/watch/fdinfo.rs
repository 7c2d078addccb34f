//! What /proc says about a pidfd of ours.

use std::os::fd::{AsRawFd, BorrowedFd};

/// The process that a pidfd stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pid {
    /// Its number in our pid namespace. A zombie still has one.
    Visible(i32),
    /// It lives in a pid namespace that we cannot see.
    Elsewhere,
    /// It has ended and its parent has taken notice.
    Gone,
}

/// The process of `fd`; `None` if it is no pidfd or /proc is not mounted.
pub(super) fn pid_of(fd: BorrowedFd<'_>) -> Option<Pid> {
    let text = bcl_os::file::of_kernel(format!("/proc/self/fdinfo/{}", fd.as_raw_fd())).ok()?;
    parse(&text)
}

/// Whether `fd` is a pidfd and, as far as can be known, of the process `pid`, where 0 is one that
/// we cannot see.
pub(super) fn is_of_process(fd: BorrowedFd<'_>, pid: i32) -> bool {
    match pid_of(fd) {
        Some(Pid::Visible(number)) => number == pid,
        Some(Pid::Elsewhere) => pid == 0,
        // It was somebody's; a false one would only end the connection of who has sent it.
        Some(Pid::Gone) => true,
        None => false,
    }
}

fn parse(fdinfo: &str) -> Option<Pid> {
    match bcl_os::file::field(fdinfo, "Pid:")?.parse().ok()? {
        -1 => Some(Pid::Gone),
        0 => Some(Pid::Elsewhere),
        pid => Some(Pid::Visible(pid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_pidfd_of_our_own() {
        let pidfd = crate::watch::own_pidfd().unwrap().unwrap();
        assert_eq!(
            pid_of(pidfd.as_fd()),
            Some(Pid::Visible(std::process::id() as i32))
        );
    }

    #[test]
    fn a_passed_pidfd_must_be_of_the_peer() {
        let pidfd = crate::watch::own_pidfd().unwrap().unwrap();
        let own = std::process::id() as i32;
        assert!(is_of_process(pidfd.as_fd(), own));
        assert!(!is_of_process(pidfd.as_fd(), own + 1));
        assert!(!is_of_process(std::io::stdin().as_fd(), own));
    }

    #[test]
    fn another_descriptor_is_no_pidfd() {
        assert_eq!(pid_of(std::io::stdin().as_fd()), None);
    }

    #[test]
    fn special_numbers() {
        assert_eq!(parse("flags:\t02\nPid:\t-1\nNSpid:\t-1\n"), Some(Pid::Gone));
        assert_eq!(parse("Pid:\t0\n"), Some(Pid::Elsewhere));
        assert_eq!(parse("Pid:\tx\n"), None);
    }
}
