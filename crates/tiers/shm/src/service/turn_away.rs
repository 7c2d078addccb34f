//! Turning callers away when this process has no descriptor left to accept them with.
//!
//! To accept takes a free number in the table of descriptors, and a program that is short of them takes each number
//! that becomes free sooner than we could. So a thread does it that lives for a moment and has a table of its own: what
//! it leaves out of that makes room, and the program's table stays as it is.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::thread::Builder;

use bcl_node::fdpass;
use bcl_node::handshake::{Reason, refuse};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::thread::UnshareFlags;

const STACK_BYTES: usize = 64 << 10;

/// Refuses all who wait at the listener, and says why.
///
/// # Errors
/// When even this thread cannot accept: nobody but the system as a whole has a descriptor to give, the limit is below
/// two, or there is no thread.
pub fn all_waiting(listener: BorrowedFd<'_>, why: Errno) -> Result<(), Errno> {
    std::thread::scope(|scope| {
        let builder = Builder::new()
            .name("bcl-refuse".into())
            .stack_size(STACK_BYTES);
        let listener = listener.as_raw_fd();
        let thread = builder.spawn_scoped(scope, move || refuse_all(listener, why));
        let no_thread = |_| Errno::AGAIN;
        thread
            .map_err(no_thread)?
            .join()
            .unwrap_or(Err(Errno::AGAIN))
    })
}

fn refuse_all(listener: RawFd, why: Errno) -> Result<(), Errno> {
    let listener = table_with_room(listener)?;
    let refusal = refuse(Reason::Limit, why.raw_os_error().unsigned_abs());
    loop {
        match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(sock) => drop(fdpass::send(&sock, &refusal, &[])),
            Err(Errno::AGAIN) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Gives this thread a table of its own, in which the listener has the lowest number, and the next one is free, for a
/// limit can be below all numbers that are in use.
fn table_with_room(listener: RawFd) -> Result<BorrowedFd<'static>, Errno> {
    own_table(listener)?;
    // SAFETY: from here on the table is this thread's own. What is replaced and closed are its copies, which nobody
    // knows; the program's descriptors, and its locks on files, stay.
    unsafe {
        if listener != 0 && libc::dup3(listener, 0, libc::O_CLOEXEC) == -1 {
            return Err(last_errno());
        }
        libc::close(1);
        Ok(BorrowedFd::borrow_raw(0))
    }
}

fn own_table(listener: RawFd) -> Result<(), Errno> {
    // Without what is above the listener there is little to copy; a kernel before 5.9 copies all of it.
    let above = listener.unsigned_abs() + 1;
    // SAFETY: the call gives this thread a table without those descriptors; that of all others stays as it is.
    let left_out = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            above,
            u32::MAX,
            libc::CLOSE_RANGE_UNSHARE,
        )
    };
    if left_out == 0 {
        return Ok(());
    }
    // SAFETY: the thread uses the listener's number only, which its copy of the table has as well.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FILES) }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
