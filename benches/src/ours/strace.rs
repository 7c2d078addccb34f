//! Counts system calls from outside: `strace` writes down every call of every thread of a process, and
//! the process marks the stretch that counts by a call that nothing else makes.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::getppid;

use crate::command;
use crate::error::{Error, Result, system};

const MARK: &str = "getppid(";

/// Begins or ends the stretch that counts; called by the process that is watched.
pub fn mark() {
    // It has no effect, and neither Rust's nor our library calls it.
    let _ = getppid();
}

/// `command` run under strace, which writes to `log`.
///
/// # Errors
/// When strace is not installed.
pub fn wrap(command: &Command, log: &Path) -> Result<Command> {
    command::require("strace", "strace")?;
    let mut wrapped = Command::new("strace");
    wrapped.args(["-f", "-o"]).arg(log).arg("--");
    let words: Vec<&OsStr> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .collect();
    wrapped.args(words);
    Ok(wrapped)
}

/// How many calls `log` holds between the marks.
///
/// # Errors
/// When it has no marks.
pub fn calls_between_marks(log: &Path) -> Result<f64> {
    let text = fs::read_to_string(log).map_err(system("read", log.display()))?;
    count(&text).ok_or_else(|| Error::Unreadable {
        command: "strace".into(),
        output: format!("{} lines without both marks", text.lines().count()),
    })
}

fn count(log: &str) -> Option<f64> {
    let mut lines = log.lines();
    lines.find(|line| line.contains(MARK))?;
    let mut calls = 0;
    for line in lines {
        if line.contains(MARK) {
            return Some(f64::from(calls));
        }
        calls += u32::from(is_call(line));
    }
    None
}

/// Not a signal, not the end of a thread, and not the return from a call that was counted at its entry.
fn is_call(line: &str) -> bool {
    let event = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    !event.starts_with("---") && !event.starts_with("+++") && !event.contains(" resumed>")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "12 write(1, \"ready\\n\", 6) = 6\n12 getppid() = 11\n";

    #[test]
    fn only_calls_between_the_marks_count() {
        let busy = "13 <... epoll_wait resumed>) = 1\n\
                    12 --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                    13 read(5,  <unfinished ...>\n\
                    12 sched_yield() = 0\n";
        let log = format!("{BEFORE}{busy}12 getppid() = 11\n12 write(1, \"0\", 1) = 1\n");
        assert_eq!(count(&log), Some(2.0));
        assert_eq!(count(&format!("{BEFORE}12 getppid() = 11\n")), Some(0.0));
    }

    #[test]
    fn without_marks_there_is_no_count() {
        assert_eq!(count(BEFORE), None);
        assert_eq!(count(""), None);
    }
}
