//! What can be wrong with the folder or with a name in it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bcl_types::{Address, FIRST_ASSIGNED_PORT, LAST_REACHABLE_PORT};

use super::bind::ASSIGNABLE;

/// Why the folder cannot be used, or a port not be opened in it.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file, or a symbolic link, which somebody else could point elsewhere.
    #[error("socket folder {} is not a directory (links are not followed): remove it or set BCL_DIR to another path", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another user could exchange our names.
    #[error("socket folder {} belongs to user {owner} and is not sticky, so that user could take our place: set BCL_DIR to a folder of your own, or have its owner run `chmod 1777` on it", path.display())]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The kernel limits the paths of sockets.
    #[error("the path of socket folder {} is too long: set BCL_DIR to one of at most {max_bytes} bytes", path.display())]
    PathTooLong {
        /// The folder.
        path: PathBuf,
        /// How long it may be.
        max_bytes: usize,
    },
    /// Number 0 was asked for.
    #[error(
        "port 0 does not exist: ask for a number from 1 to 65535, or for none to be assigned one"
    )]
    InvalidNumber,
    /// The number is taken by a live port, or by a file that is not ours to remove.
    #[error("port {address} is in use (in {}): choose another number, or let BCL assign one", folder.display())]
    PortInUse {
        /// The port.
        address: Address,
        /// The folder.
        folder: PathBuf,
    },
    /// All the numbers that can be assigned are taken.
    #[error(
        "no port number from {FIRST_ASSIGNED_PORT} to {LAST_REACHABLE_PORT} is free: {} are in use in {} (`bcl stat` shows them) and the UDP ports of {taken_elsewhere} by other programs (`ss -uln` shows them): close some, or ask for a number that is free",
        ASSIGNABLE - taken_elsewhere, folder.display()
    )]
    NoFreePort {
        /// The folder.
        folder: PathBuf,
        /// How many of them are free in the folder, and not elsewhere.
        taken_elsewhere: u32,
    },
    /// Another process holds the lock and does not give it back.
    #[error("socket folder {} has been locked by another process for {} s: look for a stopped process with `fuser -v {}`, or set BCL_DIR to another folder", folder.display(), waited.as_secs(), folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// How long we have tried.
        waited: Duration,
    },
    /// This process or the system has too many open files.
    #[error("no file descriptor is free to {action} {}: raise the limit of open files (ulimit -n)", path.display())]
    NoDescriptors {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FolderError {
    /// An error of the system, sorted by whether descriptors have run out.
    pub(super) fn system(action: &'static str, path: &Path, source: io::Error) -> FolderError {
        let path = path.to_path_buf();
        match source.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => FolderError::NoDescriptors { action, path },
            _ => FolderError::System {
                action,
                path,
                source,
            },
        }
    }
}
