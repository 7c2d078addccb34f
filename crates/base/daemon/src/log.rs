//! What a daemon says to whoever watches it.

use std::fmt::{Arguments, Display};
use std::io::Write;

/// Lines on standard error, which systemd keeps.
#[derive(Debug, Clone, Copy)]
pub struct Log(&'static str);

impl Log {
    /// Of the daemon with this name, with which each line begins.
    pub const fn of(name: &'static str) -> Self {
        Self(name)
    }

    /// One line.
    pub fn note(self, line: Arguments<'_>) {
        // Nobody may be listening.
        let _ = writeln!(std::io::stderr(), "{}: {line}", self.0);
    }

    /// Tells of a failure that changes nothing for what comes next.
    pub fn failed<T, E: Display>(self, result: Result<T, E>) {
        if let Err(error) = result {
            self.note(format_args!("{error}"));
        }
    }
}
