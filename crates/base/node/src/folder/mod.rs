//! The rendezvous folder: how the processes of a node find each other.
//!
//! An open port is a listening Unix socket `FOLDER/NODE:PORT`, a member of a region (`spec/reflect.md`) one of the name
//! `FOLDER/r.REGION.MEMBER`. To connect to the name is to find the port; there is no daemon and no registry. A process that
//! dies leaves its name behind, which harms nobody: nothing answers there, and the next process that wants or sees the name
//! removes it.
//!
//! Every change of the folder is made under a lock on the folder, so that what looks dead is never
//! a socket that is just being born. Connecting needs no lock.

mod bind;
mod connect;
mod error;
mod lock;
mod names;
mod probe;

use std::env;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bcl_os::Fd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::user_namespace::may_be_anybody;

pub use bind::Bound;
pub use connect::ConnectError;
pub use error::FolderError;
use names::Name;
pub use names::Seat;

/// Where ports meet when `BCL_DIR` does not say otherwise.
const DEFAULT_PATH: &str = "/tmp/bcl";

/// Like /tmp: everybody may add names, only their owners may remove them.
const MODE: Mode = Mode::from_raw_mode(0o1777);

/// What a path in a Unix socket's address can hold, without the final zero.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// The longest name a port has: `255.255.255.255:65535`.
const MAX_NAME_BYTES: usize = 21;

/// An open rendezvous folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    dir: Arc<Fd>,
}

impl Folder {
    /// `BCL_DIR`, or `/tmp/bcl`.
    pub fn default_path() -> PathBuf {
        env::var_os("BCL_DIR").map_or_else(|| DEFAULT_PATH.into(), PathBuf::from)
    }

    /// Opens the folder, and creates it (but not its parents) if it is missing.
    ///
    /// It has to be a real directory in which nobody but its owner and root can exchange our
    /// names: one of our own or of root, or a sticky one. The owner of a sticky folder could
    /// still put its own socket in the place of ours; that a peer is the right one is proved
    /// by its uid and by the [`handshake`](crate::handshake), never by its name.
    pub fn open(path: impl AsRef<Path>) -> Result<Folder, FolderError> {
        let path = absolute(path.as_ref())?;
        check_length(&path)?;
        let dir = open_or_create(&path)?;
        check_owner(&path, &dir)?;
        Ok(Folder {
            path,
            dir: Arc::new(dir),
        })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same directory, as an open file of its own.
    fn open_again(&self) -> Result<Fd, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Fd::make(|| rustix::fs::openat(&self.dir, ".", flags, Mode::empty()))
    }

    fn socket_path(&self, name: impl Name) -> PathBuf {
        self.path.join(name.to_string())
    }
}

/// So that a later change of the working directory does not matter.
fn absolute(path: &Path) -> Result<PathBuf, FolderError> {
    std::path::absolute(path).map_err(|source| FolderError::system("find", path, source))
}

fn check_length(path: &Path) -> Result<(), FolderError> {
    let longest_bytes = path.as_os_str().len() + "/".len() + MAX_NAME_BYTES;
    if longest_bytes > MAX_SOCKET_PATH_BYTES {
        return Err(FolderError::PathTooLong {
            path: path.into(),
            max_bytes: MAX_SOCKET_PATH_BYTES - MAX_NAME_BYTES - "/".len(),
        });
    }
    Ok(())
}

fn open_or_create(path: &Path) -> Result<Fd, FolderError> {
    let created = match rustix::fs::mkdir(path, MODE) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        // On a read-only file system an existing folder is reported as such; open it below.
        Err(Errno::ROFS | Errno::ACCESS) if path.exists() => false,
        Err(errno) => return Err(FolderError::system("create", path, errno.into())),
    };
    if created {
        undo_umask(path)
            .map_err(|errno| FolderError::system("open to other users", path, errno.into()))?;
    }
    open_directory(path, OFlags::RDONLY).map_err(|errno| match errno {
        Errno::NOTDIR | Errno::LOOP => FolderError::NotADirectory { path: path.into() },
        errno => FolderError::system("open", path, errno.into()),
    })
}

/// The umask has taken rights away from a folder that has just been made: those of others, perhaps our own.
fn undo_umask(path: &Path) -> Result<(), Errno> {
    let dir = open_directory(path, OFlags::PATH)?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), MODE)
}

fn open_directory(path: &Path, how: OFlags) -> Result<Fd, Errno> {
    let flags = how | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Fd::make(|| rustix::fs::open(path, flags, Mode::empty()))
}

fn check_owner(path: &Path, dir: &Fd) -> Result<(), FolderError> {
    let stat = rustix::fs::fstat(dir)
        .map_err(|errno| FolderError::system("examine", path, errno.into()))?;
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw() && !may_be_anybody(stat.st_uid);
    let is_trusted = stat.st_uid == 0 || is_own;
    let is_sticky = Mode::from_raw_mode(stat.st_mode).contains(Mode::SVTX);
    if is_trusted || is_sticky {
        return Ok(());
    }
    Err(FolderError::Untrusted {
        path: path.into(),
        owner: stat.st_uid,
    })
}
