//! Giving a port its name, and taking the name back.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use bcl_os::Fd;
use bcl_types::{Address, NodeId};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, getpid};
use rustix::time::ClockId;

use super::lock::Lock;
use super::{Folder, FolderError};

/// Lower numbers are only given to those who ask for them.
const FIRST_ASSIGNED: u16 = 1024;

/// The last number that other nodes can reach (`spec/wire.md`); higher ones are only given to those who ask.
const LAST_ASSIGNED: u16 = 8191;

/// How many numbers can be assigned.
const ASSIGNABLE: u32 = (LAST_ASSIGNED - FIRST_ASSIGNED) as u32 + 1;

/// Peers that may wait to be accepted; the kernel lowers it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// Device and inode of a file: what a name stands for.
type FileId = (u64, u64);

/// A name in the folder and the socket that listens behind it. Dropping it removes the name.
#[derive(Debug)]
pub struct Bound {
    listener: Fd,
    address: Address,
    /// The folder; shared, because a port can outlive the [`Folder`] it was opened by.
    dir: Arc<Fd>,
    file: FileId,
    owner: Pid,
}

impl Folder {
    /// Opens the port `number` of `node`, or one with an assigned number.
    ///
    /// Only this user and root can connect, unless `open_to_others`.
    pub fn bind(
        &self,
        node: NodeId,
        number: Option<u16>,
        open_to_others: bool,
    ) -> Result<Bound, FolderError> {
        let lock = self.lock()?;
        match number {
            Some(0) => Err(FolderError::InvalidNumber),
            Some(port) => {
                let address = Address { node, port };
                self.try_bind(address, open_to_others, &lock)?
                    .ok_or_else(|| FolderError::PortInUse {
                        address,
                        folder: self.path.clone(),
                    })
            }
            None => self.bind_assigned(node, open_to_others, &lock),
        }
    }

    fn bind_assigned(
        &self,
        node: NodeId,
        open_to_others: bool,
        lock: &Lock,
    ) -> Result<Bound, FolderError> {
        for port in candidates() {
            let bound = self.try_bind(Address { node, port }, open_to_others, lock)?;
            if let Some(bound) = bound {
                return Ok(bound);
            }
        }
        Err(FolderError::NoFreePort {
            folder: self.path.clone(),
        })
    }

    /// `None` if the name is in use.
    fn try_bind(
        &self,
        address: Address,
        open_to_others: bool,
        lock: &Lock,
    ) -> Result<Option<Bound>, FolderError> {
        let attempt = || match self.bind_name(address) {
            Ok(listener) => Ok(Some(listener)),
            Err(Errno::ADDRINUSE) => Ok(None),
            Err(errno) => Err(FolderError::system(
                "create",
                &self.socket_path(address),
                errno.into(),
            )),
        };
        let listener = match attempt()? {
            None if self.remove_if_dead(address, lock)? => attempt()?,
            first => first,
        };
        listener
            .map(|listener| self.listen(listener, address, open_to_others))
            .transpose()
    }

    /// A socket with a name that still refuses everybody.
    fn bind_name(&self, address: Address) -> Result<Fd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = Fd::make(|| {
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        })?;
        // The name inherits the rights of the socket (less the umask).
        rustix::fs::fchmod(&listener, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(self.socket_path(address))?)?;
        Ok(listener)
    }

    fn listen(
        &self,
        listener: Fd,
        address: Address,
        open_to_others: bool,
    ) -> Result<Bound, FolderError> {
        let path = self.socket_path(address);
        let failed = |errno: Errno| FolderError::system("open", &path, errno.into());
        let name = address.to_string();
        let file = file_id(&self.dir, &name).map_err(failed)?;
        // From here on a failure removes the name again.
        let bound = Bound {
            listener,
            address,
            dir: self.dir.clone(),
            file,
            owner: getpid(),
        };
        if open_to_others {
            bound.open_to_others(&name).map_err(failed)?;
        }
        rustix::net::listen(&bound.listener, BACKLOG).map_err(failed)?;
        Ok(bound)
    }
}

impl Bound {
    /// The name of the port.
    pub fn address(&self) -> Address {
        self.address
    }

    /// The listening socket: non-blocking, closes on exec. Peers are accepted from it.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Removes the name and closes the socket. Dropping does the same.
    pub fn unbind(self) {}

    /// Lets all users connect, whatever the umask; the check of their uid comes later.
    fn open_to_others(&self, name: &str) -> Result<(), Errno> {
        // Not by the name: whoever owns the folder could put a link there that leads the change
        // to another file of ours.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = Fd::make(|| rustix::fs::openat(&self.dir, name, flags, Mode::empty()))?;
        let stat = rustix::fs::fstat(&file)?;
        if (stat.st_dev, stat.st_ino) != self.file {
            return Err(Errno::STALE);
        }
        let everybody = Mode::from_raw_mode(0o666);
        let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::chmod(by_descriptor, everybody)
    }
}

impl Drop for Bound {
    /// Removes the name if it is still ours: not in a child that has inherited it by fork, and
    /// not if somebody has replaced it. (As long as the listener is open its inode is in use, so
    /// that no other file can have the same number.)
    fn drop(&mut self) {
        let name = self.address.to_string();
        let is_ours = self.owner == getpid() && file_id(&self.dir, &name) == Ok(self.file);
        if is_ours {
            // If it fails the name is stale, and the next who meets it removes it.
            let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}

fn file_id(dir: &Fd, name: &str) -> Result<FileId, Errno> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// All numbers that can be assigned, once each. They start somewhere else for each process and each
/// time, so that processes seldom meet and the number of a closed port rests for a while.
fn candidates() -> impl Iterator<Item = u16> {
    let pid = getpid().as_raw_nonzero().get().unsigned_abs();
    let now_ns = rustix::time::clock_gettime(ClockId::Monotonic).tv_nsec as u32;
    let start = pid.wrapping_mul(0x9E37_79B1).wrapping_add(now_ns) % ASSIGNABLE;
    (0..ASSIGNABLE).map(move |step| FIRST_ASSIGNED + ((start + step) % ASSIGNABLE) as u16)
}
