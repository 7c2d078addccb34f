//! The two socket options that tell who is at the other end.
//!
//! rustix wraps SO_PEERCRED, but with a process number that must not be zero; the kernel does
//! answer zero for a peer in another pid namespace, and containers are among our users.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use bcl_os::Fd;

/// SO_PEERCRED: process, user and group of the peer when it connected or began to listen.
pub(crate) fn peer_cred(sock: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let unknown = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    // SAFETY: SO_PEERCRED fills a `struct ucred`, which is plain integers.
    unsafe { get(sock, libc::SO_PEERCRED, unknown) }
}

/// SO_PEERPIDFD: a new descriptor of the peer's process (kernel 6.5).
pub(crate) fn peer_pidfd(sock: BorrowedFd<'_>) -> io::Result<Fd> {
    Fd::make(|| new_peer_pidfd(sock))
}

fn new_peer_pidfd(sock: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: SO_PEERPIDFD fills an `int`.
    let fd: libc::c_int = unsafe { get(sock, libc::SO_PEERPIDFD, -1)? };
    if fd < 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    // SAFETY: the kernel has just created this descriptor for us; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// # Safety
/// `T` must be what the kernel writes for `option`, and valid for any bytes.
unsafe fn get<T: Copy>(sock: BorrowedFd<'_>, option: libc::c_int, initial: T) -> io::Result<T> {
    let mut value = initial;
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which is the size of `value`.
    let status = unsafe {
        libc::getsockopt(
            sock.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    match status {
        0 => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}
