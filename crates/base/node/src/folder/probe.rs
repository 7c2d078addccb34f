//! Whether somebody lives behind a name, without disturbing the owner.

use std::path::Path;

use bcl_os::Fd;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::names::Name;
use super::{Folder, FolderError};

/// What is behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// No such name.
    Absent,
    /// The socket of a process that has ended.
    Dead,
    /// A live port, or a socket of which that cannot be excluded.
    Alive,
    /// A file that is no socket. It is in the way, but it is not ours to remove.
    NotASocket,
}

impl Folder {
    /// Looks at a name.
    ///
    /// Dead is certain only under the lock: at the moment of its birth a socket looks dead.
    pub(super) fn probe(&self, name: impl Name) -> Result<Life, FolderError> {
        let path = self.socket_path(name);
        let failed = |errno: Errno| FolderError::system("probe", &path, errno.into());
        match rustix::fs::statat(&self.dir, name.to_string(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => {}
            Ok(_) => return Ok(Life::NotASocket),
            Err(Errno::NOENT) => return Ok(Life::Absent),
            Err(errno) => return Err(failed(errno)),
        }
        probe_socket(&path).map_err(failed)
    }
}

/// A port is a SOCK_SEQPACKET socket. The kernel refuses to connect a datagram socket to it, and
/// by the reason tells whether it is open, before its owner hears of it.
fn probe_socket(path: &Path) -> Result<Life, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let sock =
        Fd::make(|| rustix::net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None))?;
    match rustix::net::connect(&sock, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(Life::Dead),
        Err(Errno::NOENT) => Ok(Life::Absent),
        // PROTOTYPE is a port. Success or PERM is somebody's datagram socket. ACCESS is a socket
        // of another user: only that user can remove it.
        Ok(()) | Err(Errno::PROTOTYPE | Errno::PERM | Errno::ACCESS) => Ok(Life::Alive),
        Err(errno) => Err(errno),
    }
}
