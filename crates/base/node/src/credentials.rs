//! Which user is at the other end, and whether it may be.

use std::io;
use std::os::fd::AsFd;

use crate::key::JobKey;
use crate::{sockopt, user_namespace};

/// What the kernel says about the process at the other end of a Unix socket: the one that
/// connected or, seen from the connecting side, the one that began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Process number in our pid namespace; 0 if the peer is not visible from it.
    pub pid: i32,
    /// Effective user.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
}

/// Asks the kernel who is at the other end of `sock`.
pub fn peer_credentials(sock: impl AsFd) -> io::Result<PeerCredentials> {
    let cred = sockopt::peer_cred(sock.as_fd())?;
    Ok(PeerCredentials {
        pid: cred.pid,
        uid: cred.uid,
        gid: cred.gid,
    })
}

/// Whether a process of user `peer_uid` may talk to one of `own_uid` in a job that allows
/// `allowed` besides and has this key.
///
/// Root always may: it can read our memory anyway, so refusing it would protect nothing. An id that may stand for anybody
/// says nothing about its user; a key that is a secret does, and is proved afterwards.
pub fn uid_allowed(peer_uid: u32, own_uid: u32, allowed: &[u32], key: &JobKey) -> bool {
    let is_known = peer_uid == own_uid || peer_uid == 0 || allowed.contains(&peer_uid);
    is_known && (key.is_secret() || !user_namespace::may_be_anybody(peer_uid))
}

/// Whether a process of user `peer_uid` may read the memory of one of `own_uid`, as far as users decide.
pub fn is_of_own_user(peer_uid: u32, own_uid: u32) -> bool {
    (peer_uid == own_uid || peer_uid == 0) && !user_namespace::may_be_anybody(peer_uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_socket_pair_is_ourselves() {
        let (a, _b) = UnixStream::pair().unwrap();
        let peer = peer_credentials(&a).unwrap();
        assert_eq!(peer.pid, rustix::process::getpid().as_raw_nonzero().get());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert_eq!(peer.gid, rustix::process::getegid().as_raw());
    }

    #[test]
    fn other_users_only_when_named() {
        let key = JobKey::of_user(1000);
        let allowed = |peer, own, others: &[u32]| uid_allowed(peer, own, others, &key);
        assert!(allowed(1000, 1000, &[]));
        assert!(allowed(0, 1000, &[]));
        assert!(!allowed(1001, 1000, &[]));
        assert!(!allowed(1001, 0, &[]));
        assert!(allowed(1001, 1000, &[7, 1001]));
    }
}
