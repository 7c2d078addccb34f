//! Objects that outlive whoever made them, by a name in a bpf file system.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use crate::error::{Doing, Error};
use crate::sys;

/// Gives an object a name.
///
/// # Errors
/// When the kernel refuses, or something has that name.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> Result<(), Error> {
    sys::pin(object, path).doing(|| format!("pinning {}", path.display()))
}

/// The object of that name.
///
/// # Errors
/// When there is none, or the kernel refuses.
pub fn open(path: &Path) -> Result<OwnedFd, Error> {
    sys::open_pinned(path).doing(|| format!("opening {}", path.display()))
}

/// Takes a name away, if it is there. The object goes unless somebody has it open.
///
/// # Errors
/// When the kernel refuses.
pub fn unpin(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).doing(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}
