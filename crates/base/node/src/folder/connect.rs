//! Reaching a port by its name.

use std::os::fd::AsFd;

use bcl_os::Fd;
use bcl_types::Address;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::Folder;
use super::names::{Name, Seat};
use crate::watch::has_peer_ended;

/// Why a port was not reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No such name, or its owner has died.
    #[error("no port {address} is open on this node")]
    NoPort {
        /// The port.
        address: Address,
    },
    /// The port belongs to another user, who has not allowed us.
    #[error("port {address} belongs to another user: its owner can allow you with BCL_ALLOW_UIDS")]
    NotAllowed {
        /// The port.
        address: Address,
    },
    /// Too many others are waiting to be let in.
    #[error("port {address} has too many connections waiting: try again later")]
    Busy {
        /// The port.
        address: Address,
    },
    /// This process or the system has too many open files.
    #[error(
        "no file descriptor is free to connect to port {address}: raise the limit of open files (ulimit -n)"
    )]
    NoDescriptors {
        /// The port.
        address: Address,
    },
    /// Anything else.
    #[error("cannot connect to port {address}: {errno}")]
    System {
        /// The port.
        address: Address,
        /// What the system said.
        errno: Errno,
    },
}

impl Folder {
    /// Connects to `address` and returns a non-blocking socket that closes on exec.
    ///
    /// The connection is there at once, but says nothing about who is at the other end: that is
    /// for the [`handshake`](crate::handshake).
    pub fn connect(&self, address: Address) -> Result<Fd, ConnectError> {
        self.try_connect(address).map_err(|errno| match errno {
            Errno::NOENT | Errno::CONNREFUSED => ConnectError::NoPort { address },
            Errno::ACCESS | Errno::PERM => ConnectError::NotAllowed { address },
            Errno::AGAIN => ConnectError::Busy { address },
            Errno::MFILE | Errno::NFILE => ConnectError::NoDescriptors { address },
            errno => ConnectError::System { address, errno },
        })
    }

    /// The same with a member of a region; `None` if nobody lives there.
    ///
    /// # Errors
    /// What connect(2) says.
    pub fn connect_to_seat(&self, seat: Seat) -> Result<Option<Fd>, Errno> {
        match self.try_connect(seat) {
            Ok(connected) => Ok(Some(connected)),
            Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn try_connect(&self, name: impl Name) -> Result<Fd, Errno> {
        let path = SocketAddrUnix::new(self.socket_path(name))?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let sock = Fd::make(|| {
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        })?;
        rustix::net::connect(&sock, &path)?;
        match has_peer_ended(sock.as_fd()) {
            true => Err(Errno::CONNREFUSED),
            false => Ok(sock),
        }
    }
}
