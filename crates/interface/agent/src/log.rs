//! What the agent says to whoever watches it: lines on standard error, which systemd keeps.

use std::fmt::{Arguments, Display};
use std::io::Write;

/// One line.
pub(crate) fn note(line: Arguments<'_>) {
    // Nobody may be listening.
    let _ = writeln!(std::io::stderr(), "bcld: {line}");
}

/// Tells of a failure that changes nothing for what comes next.
pub(crate) fn failed<T, E: Display>(result: Result<T, E>) {
    if let Err(error) = result {
        note(format_args!("{error}"));
    }
}
