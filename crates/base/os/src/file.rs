//! Reading files without leaving them to children.

use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::Fd;

/// What one of the kernel's own files says (below /proc or /sys), as text.
///
/// # Errors
/// What open(2) and read(2) say.
pub fn of_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mut file = Fd::make(|| rustix::fs::open(path.as_ref(), flags, Mode::empty()))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// What stands behind a name at the beginning of a line of such a file, as in `MemAvailable:  1 kB`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}
