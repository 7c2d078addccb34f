//! How a process ended, as status and as words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::name::Name;

/// How a process ended, wherever it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ended {
    Exited(u8),
    Killed { signal: u8, has_dumped_core: bool },
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (None, Some(signal)) => Self::Killed {
                signal: signal as u8,
                has_dumped_core: status.core_dumped(),
            },
            (code, _) => Self::Exited(code.unwrap_or(1) as u8),
        }
    }
}

impl Ended {
    /// The status for the launcher: the process' own, or 128 + N if signal N ended it.
    pub fn status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Killed { signal, .. } => 128 + (signal & 0x7f),
        }
    }
}

/// Who failed, and how.
pub fn describe(name: Name, host: &str, pid: u32, ended: Ended) -> String {
    let how = match ended {
        Ended::Exited(status) => format!("exited with status {status}"),
        Ended::Killed {
            signal,
            has_dumped_core,
        } => {
            let core = if has_dumped_core { ", core dumped" } else { "" };
            format!(
                "was killed by signal {signal}{}{core}",
                signal_name(signal.into())
            )
        }
    };
    format!("rank {name} on {host} (pid {pid}) {how}")
}

/// ` (SIGSEGV)` and the like.
fn signal_name(signal: i32) -> String {
    let known = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL: by hand, or for want of memory"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
    ];
    let found = known.iter().find(|(number, _)| *number == signal);
    found.map_or_else(String::new, |(_, name)| format!(" ({name})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(group: u32, rank: u32) -> Name {
        Name { group, rank }
    }

    fn ended(raw: i32) -> Ended {
        ExitStatus::from_raw(raw).into()
    }

    #[test]
    fn a_killed_process_counts_128_more_than_the_signal() {
        assert_eq!(ended(3 << 8).status(), 3);
        assert_eq!(ended(libc::SIGSEGV).status(), 139);
    }

    #[test]
    fn the_words_name_rank_host_process_and_cause() {
        assert_eq!(
            describe(name(0, 2), "left", 77, ended(libc::SIGSEGV)),
            "rank 2 on left (pid 77) was killed by signal 11 (SIGSEGV)"
        );
        assert!(describe(name(1, 0), "left", 77, ended(3 << 8)).contains("rank 1.0 on"));
    }
}
