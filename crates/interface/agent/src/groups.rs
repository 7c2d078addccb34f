//! Which groups the process at the other end of a socket was in when it connected ([AGENT-3.1]).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// As many as Linux lets a process have.
const GROUPS_MAX: usize = 65_536;

/// Supplementary groups of the peer (SO_PEERGROUPS).
pub fn supplementary_groups(socket: impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0u32; 64];
    loop {
        let mut len = libc::socklen_t::try_from(size_of_val(groups.as_slice()))
            .map_err(|_| io::ErrorKind::InvalidData)?;
        // SAFETY: the kernel writes at most `len` bytes, which is the size of the list.
        let status = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        let written = len as usize / size_of::<u32>();
        if status == 0 {
            groups.truncate(written);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        // Then `len` is what it needs.
        if error.raw_os_error() != Some(libc::ERANGE)
            || written <= groups.len()
            || written > GROUPS_MAX
        {
            return Err(error);
        }
        groups.resize(written, 0);
    }
}

#[test]
fn a_socket_pair_has_our_groups() {
    let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut ours: Vec<u32> = rustix::process::getgroups()
        .unwrap()
        .into_iter()
        .map(|group| group.as_raw())
        .collect();
    let mut theirs = supplementary_groups(&one).unwrap();
    ours.sort_unstable();
    theirs.sort_unstable();
    assert_eq!(ours, theirs);
}
