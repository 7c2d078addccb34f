//! `ip` and its like, with errors that say what was asked and what they answered.

use std::io::{Error, ErrorKind, Result};
use std::process::Command;

/// Runs a command line, without a shell, in the calling thread's network, and returns what it printed. Waits for it.
///
/// # Errors
/// Of kind `NotFound` when there is no such program, `PermissionDenied` when the kernel did not permit it.
pub fn run(line: &str) -> Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command line has a first word");
    let output = Command::new(program)
        .args(words)
        .output()
        .map_err(|error| Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let refused = ["not permitted", "Permission denied"];
    let kind = if refused.iter().any(|words| said.contains(words)) {
        ErrorKind::PermissionDenied
    } else {
        ErrorKind::Other
    };
    Err(Error::new(kind, format!("`{line}`: {said}")))
}

/// Whether the machine, not the caller, is the reason.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::PermissionDenied
    )
}

#[test]
fn failures_say_what_was_asked_and_why_not() {
    let error = run("ls /no/such/folder").unwrap_err();
    assert!(
        error.to_string().contains("`ls /no/such/folder`"),
        "{error}"
    );
    assert!(!is_refusal(&error));
    assert!(is_refusal(&run("no-such-program").unwrap_err()));
}
