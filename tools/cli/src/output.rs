//! Standard output: one write a line, and a reader that leaves is no error.

use std::io::Write;

use crate::failure::{self, Result};

/// Writes a line and sees to it that a waiting reader gets it.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        .map_err(failure::output)
}

/// Writes a value as a line of JSON.
pub fn json(value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string(value)
        .map_err(|error| failure::Failure::new(format!("cannot write JSON: {error}")))?;
    line(text)
}
