//! The socket options that std and rustix do not have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Linux's number for generic segmentation of UDP; the same for the control message that asks for it.
pub(crate) const UDP_SEGMENT: libc::c_int = 103;
/// Linux's number for coalescing at the receiver, and for the control message that tells the size.
pub(crate) const UDP_GRO: libc::c_int = 104;

/// An integer option: `(level, name)`.
pub(crate) type Name = (libc::c_int, libc::c_int);

/// What IPv4 does about datagrams that are too long for a path.
pub(crate) const DISCOVER_V4: Name = (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);

pub(crate) fn set(socket: BorrowedFd<'_>, option: Name, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the kernel reads one `int` from a live `int`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            option.0,
            option.1,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

pub(crate) fn get(socket: BorrowedFd<'_>, option: Name) -> io::Result<libc::c_int> {
    get_bytes(socket, option).map(libc::c_int::from_ne_bytes)
}

/// Names the network namespace that a socket was made in, until the machine starts anew.
pub(crate) fn network_of(socket: BorrowedFd<'_>) -> io::Result<u64> {
    get_bytes(socket, (libc::SOL_SOCKET, libc::SO_NETNS_COOKIE)).map(u64::from_ne_bytes)
}

fn get_bytes<const N: usize>(socket: BorrowedFd<'_>, option: Name) -> io::Result<[u8; N]> {
    let mut value = [0; N];
    let mut len = N as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which is the size of `value`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            option.0,
            option.1,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    if status == 0 {
        return Ok(value);
    }
    Err(io::Error::last_os_error())
}
