//! The socket that programs connect to, and who is let in ([AGENT-1.1], [AGENT-3.1]).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bcl_agent_messages::{Code, Failure};
use bcl_node::PeerCredentials;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::failure::failure;
use crate::groups::supplementary_groups;

/// Programs that may wait to be let in.
const BACKLOG: i32 = 256;
/// The first descriptor that systemd passes on.
const FIRST_PASSED: i32 = 3;

/// Who is let in.
#[derive(Debug, Clone)]
pub struct Door {
    /// Name of the group whose members may, for people.
    pub group: String,
    /// Its number; nobody but root may if there is no such group.
    pub gid: Option<u32>,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// Somebody else listens there.
    #[error("an agent listens at {} already: stop it, or give this one another --socket", .0.display())]
    Taken(PathBuf),
    /// There is something else at its place.
    #[error("{} is not a socket: remove it, or give bcld another --socket", .0.display())]
    NotASocket(PathBuf),
    /// What the starter has passed on is of no use.
    #[error(
        "the descriptor that bcld was started with (LISTEN_FDS) is no listening SOCK_SEQPACKET socket: use ListenSequentialPacket= in the socket unit"
    )]
    Passed,
    /// Anything else.
    #[error("cannot listen at {}: {source}", path.display())]
    System {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Door {
    /// Whether the peer may ask for anything.
    pub fn check(&self, socket: &OwnedFd, peer: &PeerCredentials) -> Result<(), Failure> {
        if peer.uid == 0 {
            return Ok(());
        }
        if let Some(gid) = self.gid {
            let is_member = || supplementary_groups(socket).is_ok_and(|all| all.contains(&gid));
            if peer.gid == gid || is_member() {
                return Ok(());
            }
        }
        let group = &self.group;
        let remedy = match self.gid {
            Some(_) => format!("as root: `usermod -aG {group} USER`, then log in again"),
            None => format!(
                "as root: `groupadd --system {group}`, `usermod -aG {group} USER`, `systemctl restart bcld`, then log in again"
            ),
        };
        Err(failure(
            Code::NotPermitted,
            "use the agent",
            format_args!("user {} is not in group {group}", peer.uid),
            remedy,
        ))
    }

    /// The socket that this process was started with, if it was ([AGENT-1.1]).
    ///
    /// # Errors
    /// When it is of no use.
    pub fn passed() -> Result<Option<OwnedFd>, DoorError> {
        let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
        if number("LISTEN_PID") != Some(std::process::id()) {
            return Ok(None);
        }
        match number("LISTEN_FDS") {
            None | Some(0) => return Ok(None),
            Some(1) => {}
            Some(_) => return Err(DoorError::Passed),
        }
        // SAFETY: who sets LISTEN_PID and LISTEN_FDS gives this descriptor to this process, and this is
        // called once, before any other is opened.
        let socket = unsafe { OwnedFd::from_raw_fd(FIRST_PASSED) };
        let listens = sockopt::socket_acceptconn(&socket) == Ok(true)
            && sockopt::socket_type(&socket) == Ok(SocketType::SEQPACKET);
        if !listens || make_private(&socket).is_err() {
            return Err(DoorError::Passed);
        }
        Ok(Some(socket))
    }

    /// Makes the socket. Everybody may connect: who is not let in shall hear why.
    ///
    /// # Errors
    /// When another agent listens there, or the system refuses.
    pub fn make(path: &Path) -> Result<OwnedFd, DoorError> {
        let system = |source| DoorError::System {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(system)?;
        }
        let address = SocketAddrUnix::new(path).map_err(|errno| system(errno.into()))?;
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(DoorError::NotASocket(path.to_owned()));
            }
            Ok(_) if is_heard(&address) => return Err(DoorError::Taken(path.to_owned())),
            // Of an agent that was killed.
            Ok(_) => fs::remove_file(path).map_err(system)?,
            Err(_) => {}
        }
        let socket = new_socket().map_err(system)?;
        rustix::net::bind(&socket, &address).map_err(|errno| system(errno.into()))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666)).map_err(system)?;
        rustix::net::listen(&socket, BACKLOG).map_err(|errno| system(errno.into()))?;
        Ok(socket)
    }
}

fn is_heard(address: &SocketAddrUnix) -> bool {
    new_socket().is_ok_and(|socket| {
        !matches!(
            rustix::net::connect(&socket, address),
            Err(rustix::io::Errno::CONNREFUSED)
        )
    })
}

fn new_socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?)
}

fn make_private(socket: &OwnedFd) -> io::Result<()> {
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(socket, true)?;
    debug_assert_eq!(socket.as_raw_fd(), FIRST_PASSED);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // AGENT-3.1
    #[test]
    fn members_and_root_are_let_in() {
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let socket = OwnedFd::from(socket);
        let peer = |uid, gid| PeerCredentials { pid: 1, uid, gid };
        // Nobody is in this group, whoever runs the test.
        let door = Door {
            group: "bcl".into(),
            gid: Some(3_999_999_999),
        };
        door.check(&socket, &peer(0, 0)).unwrap();
        door.check(&socket, &peer(1000, 3_999_999_999)).unwrap();
        let refusal = door.check(&socket, &peer(1000, 1000)).unwrap_err();
        assert!(refusal.remedy.contains("usermod -aG bcl"), "{refusal}");
        let nobody = Door { gid: None, ..door };
        nobody.check(&socket, &peer(0, 0)).unwrap();
        let refusal = nobody.check(&socket, &peer(1000, 0)).unwrap_err();
        assert!(refusal.remedy.contains("groupadd"), "{refusal}");
    }

    #[test]
    fn a_socket_that_is_in_use_is_not_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/agent.sock");
        let first = Door::make(&path).unwrap();
        assert!(matches!(Door::make(&path), Err(DoorError::Taken(_))));
        drop(first);
        Door::make(&path).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        assert!(matches!(Door::make(&file), Err(DoorError::NotASocket(_))));
        assert_eq!(fs::read(&file).unwrap(), b"kept");
    }
}
