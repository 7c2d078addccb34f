//! How a process ended, as status and as words.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The status for the launcher: the process' own, or 128 + N if signal N ended it.
pub fn status(ended: ExitStatus) -> u8 {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => (128 + signal) as u8,
        (None, None) => 1,
    }
}

/// Who failed, and how.
pub fn describe(rank: usize, pid: u32, ended: ExitStatus) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let how = match (ended.code(), ended.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(number)) => {
            let core = if ended.core_dumped() {
                ", core dumped"
            } else {
                ""
            };
            format!("was killed by signal {number}{}{core}", name(number))
        }
        (None, None) => "ended in an unknown way".into(),
    };
    format!("rank {rank} on {host} (pid {pid}) {how}")
}

/// ` (SIGSEGV)` and the like.
fn name(signal: i32) -> String {
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

    #[test]
    fn a_killed_process_counts_128_more_than_the_signal() {
        assert_eq!(status(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(status(ExitStatus::from_raw(libc::SIGSEGV)), 139);
    }

    #[test]
    fn the_words_name_rank_process_and_cause() {
        let killed = describe(2, 77, ExitStatus::from_raw(libc::SIGSEGV));
        assert!(killed.starts_with("rank 2 on "), "{killed}");
        assert!(killed.ends_with("(pid 77) was killed by signal 11 (SIGSEGV)"));
        let failed = describe(0, 77, ExitStatus::from_raw(3 << 8));
        assert!(failed.ends_with("exited with status 3"));
    }
}
