//! Giving a port its name, and taking the name back.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use bcl_os::Fd;
use bcl_types::{Address, FIRST_ASSIGNED_PORT, LAST_REACHABLE_PORT, NodeId};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, getpid};
use rustix::time::ClockId;

use super::lock::Lock;
use super::names::{Name, Seat};
use super::{Folder, FolderError};

/// Rights to a name: who may write to it may connect.
const OPEN_TO_OWN: Mode = Mode::from_raw_mode(0o600);
const OPEN_TO_ALL: Mode = Mode::from_raw_mode(0o666);
/// Means nothing to the kernel, for a socket.
const MARKED: Mode = Mode::XUSR;

/// How many numbers can be assigned.
pub(super) const ASSIGNABLE: u32 = (LAST_REACHABLE_PORT - FIRST_ASSIGNED_PORT) as u32 + 1;

/// Peers that may wait to be accepted; the kernel lowers it to net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// Device and inode of a file: what a name stands for.
type FileId = (u64, u64);

/// A name in the folder and the socket that listens behind it. Dropping it removes the name.
#[derive(Debug)]
pub struct Bound<N: Name = Address> {
    listener: Fd,
    name: N,
    /// The folder; shared, because a port can outlive the [`Folder`] it was opened by.
    dir: Arc<Fd>,
    file: FileId,
    owner: Pid,
}

impl Folder {
    /// Opens the port `number` of `node`.
    ///
    /// Only this user and root can connect, unless `open_to_others`.
    pub fn bind(
        &self,
        node: NodeId,
        number: u16,
        open_to_others: bool,
    ) -> Result<Bound, FolderError> {
        if number == 0 {
            return Err(FolderError::InvalidNumber);
        }
        let address = Address { node, port: number };
        let bound = self.try_bind(address, open_to_others, &self.lock()?)?;
        bound.ok_or_else(|| FolderError::PortInUse {
            address,
            folder: self.path.clone(),
        })
    }

    /// Takes the place of a member of a region, to which only this user and root can connect; `None` if somebody has it.
    pub fn bind_seat(&self, seat: Seat) -> Result<Option<Bound<Seat>>, FolderError> {
        self.try_bind(seat, false, &self.lock()?)
    }

    /// The same with a number that is assigned: one that is free in this folder, and elsewhere as `is_free` says.
    pub fn bind_any(
        &self,
        node: NodeId,
        open_to_others: bool,
        is_free: impl Fn(Address) -> bool,
    ) -> Result<Bound, FolderError> {
        let lock = self.lock()?;
        let mut taken_elsewhere = 0;
        for port in candidates() {
            let address = Address { node, port };
            if !self.holds(address) && !is_free(address) {
                taken_elsewhere += 1;
            } else if let Some(bound) = self.try_bind(address, open_to_others, &lock)? {
                return Ok(bound);
            }
        }
        Err(FolderError::NoFreePort {
            folder: self.path.clone(),
            taken_elsewhere,
        })
    }

    pub(super) fn is_marked(&self, seat: Seat) -> bool {
        look_at(&self.dir, &seat.to_string()).is_ok_and(|(_, mode)| mode.contains(MARKED))
    }

    /// `None` if the name is in use.
    fn try_bind<N: Name>(
        &self,
        name: N,
        open_to_others: bool,
        lock: &Lock,
    ) -> Result<Option<Bound<N>>, FolderError> {
        let attempt = || match self.bind_name(name) {
            Ok(listener) => Ok(Some(listener)),
            Err(Errno::ADDRINUSE) => Ok(None),
            Err(errno) => Err(FolderError::system(
                "create",
                &self.socket_path(name),
                errno.into(),
            )),
        };
        let listener = match attempt()? {
            None if self.remove_if_dead(name, lock)? => attempt()?,
            first => first,
        };
        listener
            .map(|listener| self.listen(listener, name, open_to_others))
            .transpose()
    }

    /// A socket with a name that still refuses everybody.
    fn bind_name(&self, name: impl Name) -> Result<Fd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = Fd::make(|| {
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        })?;
        // The name inherits the rights of the socket (less the umask).
        rustix::fs::fchmod(&listener, OPEN_TO_OWN)?;
        rustix::net::bind(&listener, &SocketAddrUnix::new(self.socket_path(name))?)?;
        Ok(listener)
    }

    fn listen<N: Name>(
        &self,
        listener: Fd,
        name: N,
        open_to_others: bool,
    ) -> Result<Bound<N>, FolderError> {
        let path = self.socket_path(name);
        let failed = |errno: Errno| FolderError::system("open", &path, errno.into());
        let text = name.to_string();
        let (file, mode) = look_at(&self.dir, &text).map_err(failed)?;
        // From here on a failure removes the name again.
        let bound = Bound {
            listener,
            name,
            dir: self.dir.clone(),
            file,
            owner: getpid(),
        };
        let right = match open_to_others {
            true => OPEN_TO_ALL,
            false => OPEN_TO_OWN,
        };
        if mode != right {
            bound.open_to(right, &text).map_err(failed)?;
        }
        rustix::net::listen(&bound.listener, BACKLOG).map_err(failed)?;
        Ok(bound)
    }
}

impl Bound {
    /// The name of the port.
    pub fn address(&self) -> Address {
        self.name
    }
}

impl Bound<Seat> {
    /// Marks the seat, for others to see ([`Folder::with_marked_seats`]).
    ///
    /// # Errors
    /// What the file system says.
    pub fn mark(&self) -> Result<(), Errno> {
        self.open_to(OPEN_TO_OWN | MARKED, &self.name.to_string())
    }
}

impl<N: Name> Bound<N> {
    /// The listening socket: non-blocking, closes on exec. Peers are accepted from it.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Removes the name and closes the socket. Dropping does the same.
    pub fn unbind(self) {}

    /// Lets users connect, whatever the umask; the check of their uid comes later.
    fn open_to(&self, mode: Mode, name: &str) -> Result<(), Errno> {
        // Not by the name: whoever owns the folder could put a link there that leads the change
        // to another file of ours.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = Fd::make(|| rustix::fs::openat(&self.dir, name, flags, Mode::empty()))?;
        let stat = rustix::fs::fstat(&file)?;
        if (stat.st_dev, stat.st_ino) != self.file {
            return Err(Errno::STALE);
        }
        rustix::fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)
    }
}

impl<N: Name> Drop for Bound<N> {
    /// Removes the name if it is still ours: not in a child that has inherited it by fork, and
    /// not if somebody has replaced it. (As long as the listener is open its inode is in use, so
    /// that no other file can have the same number.)
    fn drop(&mut self) {
        let name = self.name.to_string();
        let is_there = || look_at(&self.dir, &name).is_ok_and(|(file, _)| file == self.file);
        let is_ours = self.owner == getpid() && is_there();
        if is_ours {
            // If it fails the name is stale, and the next who meets it removes it.
            let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
        }
    }
}

/// What a name stands for, and who may use it.
fn look_at(dir: &Fd, name: &str) -> Result<(FileId, Mode), Errno> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((
        (stat.st_dev, stat.st_ino),
        Mode::from_raw_mode(stat.st_mode),
    ))
}

/// All numbers that can be assigned, once each. They start somewhere else for each process and each
/// time, so that processes seldom meet and the number of a closed port rests for a while.
fn candidates() -> impl Iterator<Item = u16> {
    let pid = getpid().as_raw_nonzero().get().unsigned_abs();
    let now_ns = rustix::time::clock_gettime(ClockId::Monotonic).tv_nsec as u32;
    let start = pid.wrapping_mul(0x9E37_79B1).wrapping_add(now_ns) % ASSIGNABLE;
    (0..ASSIGNABLE).map(move |step| FIRST_ASSIGNED_PORT + ((start + step) % ASSIGNABLE) as u16)
}
