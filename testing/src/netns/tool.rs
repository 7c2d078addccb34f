//! `ip` and `tc`, with errors that say what was asked and what they answered.

use std::io::{Error, ErrorKind, Result};
use std::process::Command;

/// Runs a command line and returns what it printed.
///
/// # Errors
/// Of kind `NotFound` when there is no such program, `PermissionDenied` when the kernel did not permit it.
pub(super) fn run(line: &str) -> Result<String> {
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

/// Whether the machine, not the test, is the reason.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::PermissionDenied
    )
}

/// The number that follows `mark` in what `ip` or `tc` printed.
pub(super) fn number_after(text: &str, mark: &str) -> Option<u32> {
    let rest = &text[text.find(mark)? + mark.len()..];
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// The number of an interface.
///
/// # Errors
/// When the namespace has none of that name.
pub(super) fn index_of(namespace: &str, interface: &str) -> Result<u32> {
    let shown = run(&format!("ip -n {namespace} -o link show dev {interface}"))?;
    number_after(&shown, "")
        .ok_or_else(|| Error::other(format!("no index of {interface} in '{shown}'")))
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

#[test]
fn numbers_are_found() {
    let line = "direct-action not_in_hw id 107 name pass tag 39f5 jited";
    assert_eq!(number_after(line, " id "), Some(107));
    assert_eq!(number_after(line, " map "), None);
}
