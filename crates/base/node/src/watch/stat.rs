//! Reading /proc/PID/stat.

use std::str::SplitAsciiWhitespace;

/// The fields of a process from the third on, its state. Field 2 is a name in parentheses and may contain anything, even
/// parentheses.
pub fn stat_fields(stat: &str) -> Option<SplitAsciiWhitespace<'_>> {
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_ascii_whitespace())
}
