//! Runs other programs: their output, their errors, and an end to those that hang.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::error::{Error, Result, system};
use crate::watchdog::Watchdog;

/// Runs `command` to its end and returns what it printed.
///
/// # Errors
/// When it cannot start, fails, or takes longer than `limit`.
pub fn run(command: &mut Command, package: &'static str, limit: Duration) -> Result<String> {
    let child = start(command.stdin(Stdio::null()), package)?;
    let watchdog = Watchdog::over([&child], limit);
    let output = finish(command, child)?;
    watchdog.rest();
    check(command, output)
}

/// Sees that `program` is installed, before something else starts it and fails in words of its own.
///
/// # Errors
/// [`Error::Missing`] when it is not; it is in the Debian package `package`.
pub fn require(program: &str, package: &'static str) -> Result<()> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&folders).any(|folder| folder.join(program).is_file()) {
        return Ok(());
    }
    Err(Error::Missing {
        program: program.to_owned(),
        package,
    })
}

/// Starts `command` with its output going to pipes.
///
/// # Errors
/// [`Error::Missing`] when there is no such program; it is in the Debian package `package`.
pub fn start(command: &mut Command, package: &'static str) -> Result<Child> {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing {
                program: text(command.get_program()),
                package,
            },
            _ => system("start", describe(command))(source),
        })
}

/// Waits for the end of `child`, which runs `command`.
///
/// # Errors
/// When it cannot be waited for; how it ended is in the output.
pub fn finish(command: &Command, child: Child) -> Result<Output> {
    child
        .wait_with_output()
        .map_err(system("wait for", describe(command)))
}

/// What a command printed, if it succeeded.
///
/// # Errors
/// [`Error::Failed`] with the end of what it said.
pub fn check(command: &Command, output: Output) -> Result<String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Failed {
        command: describe(command),
        status: output.status.to_string(),
        stderr: last_lines(&String::from_utf8_lossy(&output.stderr)),
    })
}

/// The one figure that `output` of `command` consists of.
///
/// # Errors
/// [`Error::Unreadable`] when it is something else.
pub fn figure(command: &Command, output: &str) -> Result<f64> {
    output.trim().parse().map_err(|_| Error::Unreadable {
        command: describe(command),
        output: output.to_owned(),
    })
}

/// The command line, for messages.
pub fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(text).collect::<Vec<_>>().join(" ")
}

/// A command whose first words are `words`.
pub fn from_words<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// Enough to see the reason in; mpiexec can say a great deal.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(5)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn an_absent_program_is_named_with_its_package() {
        let error = run(&mut Command::new("no-such-program"), "some-package", LIMIT).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no-such-program is not installed: apt install some-package"
        );
        let required = require("no-such-program", "some-package").unwrap_err();
        assert_eq!(required.to_string(), error.to_string());
        assert!(require("sh", "dash").is_ok());
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let mut command = from_words(&["sh", "-c", "echo broken >&2; exit 3"]);
        let error = run(&mut command, "dash", LIMIT).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let mut command = from_words(&["sleep", "1000"]);
        let error = run(&mut command, "coreutils", Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("signal"), "{error}");
    }

    #[test]
    fn a_figure_is_read_and_anything_else_refused() {
        let command = Command::new("peer");
        assert_eq!(figure(&command, " 0.25\n").unwrap(), 0.25);
        assert!(figure(&command, "0.25 us").is_err());
    }
}
