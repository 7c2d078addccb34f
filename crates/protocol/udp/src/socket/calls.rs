//! System calls of the data path, past the wrappers of the C library: in a process of several threads those make themselves points
//! where a thread can be canceled, and no more such points, with two locked instructions for each call. A program that looks for
//! packets makes little else but such calls.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// As `recvfrom`, with the length that came.
///
/// # Safety
/// `from`, unless it is null, is an address of `from_len` bytes that can be written.
#[inline]
pub(super) unsafe fn receive(
    fd: BorrowedFd<'_>,
    into: &mut [u8],
    from: *mut c_void,
    from_len: *mut libc::socklen_t,
) -> io::Result<usize> {
    let (start, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: the pointers and lengths are of the live slice, and of what the caller vouches for.
    let received = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            fd.as_raw_fd(),
            start,
            len,
            0,
            from,
            from_len,
        )
    };
    count(received)
}

/// As `recvmsg`, with the length that came.
///
/// # Safety
/// The message describes memory that can be written.
#[inline]
pub(super) unsafe fn receive_message(
    fd: BorrowedFd<'_>,
    message: &mut libc::msghdr,
) -> io::Result<usize> {
    // SAFETY: by the contract.
    let received =
        unsafe { libc::syscall(libc::SYS_recvmsg, fd.as_raw_fd(), ptr::from_mut(message), 0) };
    count(received)
}

/// As `sendto`.
///
/// # Safety
/// `to`, unless it is null, is an address of `to_len` bytes.
#[inline]
pub(super) unsafe fn send(
    fd: BorrowedFd<'_>,
    bytes: &[u8],
    to: *const libc::sockaddr,
    to_len: libc::socklen_t,
) -> io::Result<usize> {
    let (start, len) = (bytes.as_ptr(), bytes.len());
    // SAFETY: the pointers and lengths are of the live slice, and of what the caller vouches for.
    let sent =
        unsafe { libc::syscall(libc::SYS_sendto, fd.as_raw_fd(), start, len, 0, to, to_len) };
    count(sent)
}

/// As `sendmmsg`: how many of the messages have gone.
///
/// # Safety
/// The messages describe memory that can be read.
#[inline]
pub(super) unsafe fn send_messages(
    fd: BorrowedFd<'_>,
    messages: &mut [libc::mmsghdr],
) -> io::Result<usize> {
    let (start, len) = (messages.as_mut_ptr(), messages.len());
    // SAFETY: by the contract.
    let sent = unsafe { libc::syscall(libc::SYS_sendmmsg, fd.as_raw_fd(), start, len, 0) };
    count(sent)
}

#[inline]
fn count(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
