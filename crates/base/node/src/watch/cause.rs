//! How a process has ended, from the kernel's records.

use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

use bcl_os::ready::wait_for;
use bcl_types::Cause;
use rustix::ioctl::{Updater, ioctl, opcode};

use super::fdinfo::{self, Pid};
use super::stat::stat_fields;

/// How long we wait for a process that is on its way out.
const PATIENCE: Duration = Duration::from_millis(20);

/// How often we look whether the parent has taken notice.
const PAUSE: Duration = Duration::from_millis(1);

/// How a process has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It lives, or the kernel does not tell us.
    Unknown,
}

/// The cause of death of the process behind `pidfd`.
pub(super) fn of(pidfd: BorrowedFd<'_>) -> ExitCause {
    let deadline = Instant::now() + PATIENCE;
    if !wait_for([pidfd], Some(PATIENCE)).unwrap_or(false) {
        return ExitCause::Unknown;
    }
    // Which of the two answers depends on whether its parent has waited for it; on an older kernel
    // that has become false between them, neither.
    loop {
        if let Some(cause) = known(pidfd) {
            return cause;
        }
        if Instant::now() >= deadline {
            return ExitCause::Unknown;
        }
        thread::sleep(PAUSE);
    }
}

/// The same, if the kernel tells it now.
pub fn known(pidfd: BorrowedFd<'_>) -> Option<ExitCause> {
    let status = of_reaped(pidfd).or_else(|| of_zombie(pidfd))?;
    Some(ExitCause::from_wait_status(status))
}

impl ExitCause {
    fn from_wait_status(status: i32) -> ExitCause {
        if libc::WIFEXITED(status) {
            ExitCause::Exited(libc::WEXITSTATUS(status))
        } else if libc::WIFSIGNALED(status) {
            ExitCause::Killed(libc::WTERMSIG(status))
        } else {
            ExitCause::Unknown
        }
    }
}

/// What the process's peers are told.
impl From<ExitCause> for Cause {
    fn from(cause: ExitCause) -> Self {
        match cause {
            ExitCause::Exited(status) => Self::Exited(status),
            ExitCause::Killed(signal) => Self::Killed(signal),
            ExitCause::Unknown => Self::Vanished,
        }
    }
}

/// The wait status of a process that its parent has waited for (kernel 6.15).
fn of_reaped(pidfd: BorrowedFd<'_>) -> Option<i32> {
    const GET_INFO: u32 = opcode::read_write::<libc::pidfd_info>(0xFF, 11);
    const EXIT: u64 = libc::PIDFD_INFO_EXIT as u64;
    // SAFETY: `pidfd_info` is plain integers, for which zero is a value.
    let mut info: libc::pidfd_info = unsafe { std::mem::zeroed() };
    info.mask = EXIT;
    // SAFETY: PIDFD_GET_INFO takes a `pidfd_info` of the size that its number encodes, and fills it.
    unsafe { ioctl(pidfd, Updater::<GET_INFO, _>::new(&mut info)) }.ok()?;
    (info.mask & EXIT != 0).then_some(info.exit_code)
}

/// The wait status of a zombie, by /proc/PID/stat.
fn of_zombie(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let Some(Pid::Visible(pid)) = fdinfo::pid_of(pidfd) else {
        return None;
    };
    let read = |name| bcl_os::file::of_kernel(format!("/proc/{pid}/{name}"));
    let stat = read("stat").ok()?;
    let may_look = read("io").is_ok();
    // If it is still there, the number has not passed to another process meanwhile.
    if fdinfo::pid_of(pidfd) != Some(Pid::Visible(pid)) {
        return None;
    }
    let status = exit_code_of_zombie(&stat)?;
    // To those who may not look the kernel shows zero. Those may not read the other file, either: it is not enough to be the same
    // user, or root, if the process had privileges that we have given up.
    (status != 0 || may_look).then_some(status)
}

/// Field 52, `exit_code`, if field 3, the state, says that the process has ended.
fn exit_code_of_zombie(stat: &str) -> Option<i32> {
    let mut fields = stat_fields(stat)?;
    let state = fields.next()?;
    let exit_code = fields.nth(52 - 4)?;
    matches!(state, "Z" | "X").then_some(exit_code.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    fn stat(state: &str, exit_code: &str) -> String {
        let between = vec!["0"; 52 - 4].join(" ");
        format!("7 (a) b) {state} {between} {exit_code}\n")
    }

    #[test]
    fn the_exit_code_is_field_52() {
        assert_eq!(exit_code_of_zombie(&stat("Z", "768")), Some(768));
        assert_eq!(exit_code_of_zombie(&stat("S", "768")), None);
        assert_eq!(exit_code_of_zombie("7 (a) Z 1 2"), None);
    }

    #[test]
    fn wait_statuses() {
        assert_eq!(ExitCause::from_wait_status(3 << 8), ExitCause::Exited(3));
        assert_eq!(ExitCause::from_wait_status(9), ExitCause::Killed(9));
        assert_eq!(
            ExitCause::from_wait_status(0x80 | 11),
            ExitCause::Killed(11)
        );
        assert_eq!(ExitCause::from_wait_status(0x137f), ExitCause::Unknown);
    }

    #[test]
    fn a_zombie_and_its_pidfd() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "exit 5"])
            .spawn()
            .unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let pidfd = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap();
        while of_zombie(pidfd.as_fd()).is_none() {
            thread::sleep(PAUSE);
        }
        assert_eq!(of_zombie(pidfd.as_fd()), Some(5 << 8));
        child.wait().unwrap();
        assert_eq!(of_zombie(pidfd.as_fd()), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*") {
            exit_code_of_zombie(&text);
        }
    }
}
