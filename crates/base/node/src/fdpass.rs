//! Datagrams with file descriptors beside them, over a Unix socket of type SOCK_SEQPACKET.
//!
//! Nothing here blocks: a full or an empty socket is [`FdPassError::WouldBlock`].

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::{Fd, fork};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// How many descriptors one datagram can carry.
pub const MAX_FDS: usize = 8;

/// Room for the control message with [`MAX_FDS`] descriptors.
const CONTROL_LEN_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FDS));

/// What [`recv`] found.
#[derive(Debug)]
pub struct Received {
    /// Length of the datagram; 0 means that the peer has closed its end.
    pub len_bytes: usize,
    /// The descriptors that came with it. They close on exec.
    pub fds: Vec<Fd>,
}

/// Why a datagram was not sent or not received.
#[derive(Debug, thiserror::Error)]
pub enum FdPassError {
    /// Nothing to receive yet, or no room to send.
    #[error("the socket is not ready: wait for it with poll")]
    WouldBlock,
    /// The peer has closed its end.
    #[error("the peer has closed the connection")]
    Closed,
    /// An empty datagram, which the receiver would take for the end, or too many descriptors.
    #[error(
        "cannot send {len_bytes} bytes with {fds} descriptors: send at least 1 byte and at most {MAX_FDS} descriptors"
    )]
    Unsendable {
        /// Length of the datagram.
        len_bytes: usize,
        /// Number of descriptors.
        fds: usize,
    },
    /// The datagram was longer than the buffer; the rest is lost.
    #[error("the peer sent a datagram longer than {room_bytes} bytes")]
    TooLong {
        /// Length of the buffer.
        room_bytes: usize,
    },
    /// More than [`MAX_FDS`] descriptors came; all have been closed.
    #[error("the peer sent more than {MAX_FDS} descriptors")]
    TooManyFds,
    /// Descriptors came, but this process may not open so many; all have been closed.
    #[error("no room for the peer's descriptors: raise the limit of open files (ulimit -n)")]
    NoDescriptors,
    /// Anything else.
    #[error("the socket failed: {0}")]
    System(Errno),
}

/// Sends one datagram with `fds` beside it, all or nothing.
pub fn send(sock: impl AsFd, data: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), FdPassError> {
    if data.is_empty() || fds.len() > MAX_FDS {
        return Err(FdPassError::Unsendable {
            len_bytes: data.len(),
            fds: fds.len(),
        });
    }
    let mut space = [MaybeUninit::uninit(); CONTROL_LEN_BYTES];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        // It fits: the number of descriptors has been checked.
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match sendmsg(sock, &[IoSlice::new(data)], &mut control, flags) {
        Ok(_) => Ok(()),
        Err(Errno::AGAIN) => Err(FdPassError::WouldBlock),
        Err(Errno::PIPE | Errno::CONNRESET) => Err(FdPassError::Closed),
        // Too many descriptors are on their way in sockets (RLIMIT_NOFILE counts them, too).
        Err(Errno::TOOMANYREFS) => Err(FdPassError::NoDescriptors),
        Err(errno) => Err(FdPassError::System(errno)),
    }
}

/// Receives one datagram into `buffer`, with the descriptors beside it.
///
/// Descriptors that come with anything but success are closed.
pub fn recv(sock: impl AsFd, buffer: &mut [u8]) -> Result<Received, FdPassError> {
    let room_bytes = buffer.len();
    let mut space = [MaybeUninit::uninit(); CONTROL_LEN_BYTES];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut receive = |control: &mut RecvAncillaryBuffer<'_>| {
        fork::held_off(|| {
            let message = recvmsg(&sock, &mut [IoSliceMut::new(buffer)], control, flags)?;
            Ok((message, take_fds(control)))
        })
    };
    // A peer that closed with datagrams of ours unread: the kernel reports that first, once, and then
    // what the peer had said before.
    let received = match receive(&mut control) {
        Err(Errno::CONNRESET) => receive(&mut control),
        first => first,
    };
    let (message, fds) = match received {
        Ok(received) => received,
        Err(Errno::AGAIN) => return Err(FdPassError::WouldBlock),
        Err(Errno::CONNRESET) => return Err(FdPassError::Closed),
        Err(errno) => return Err(FdPassError::System(errno)),
    };
    if message.flags.contains(ReturnFlags::TRUNC) {
        return Err(FdPassError::TooLong { room_bytes });
    }
    if fds.len() > MAX_FDS {
        return Err(FdPassError::TooManyFds);
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel stops at the end of our buffer or of our descriptor table, and tells us
        // only that it stopped.
        return Err(match fds.len() {
            MAX_FDS => FdPassError::TooManyFds,
            _ => FdPassError::NoDescriptors,
        });
    }
    Ok(Received {
        len_bytes: message.bytes,
        fds,
    })
}

fn take_fds(control: &mut RecvAncillaryBuffer<'_>) -> Vec<Fd> {
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            fds.extend(passed.map(Fd::own));
        }
    }
    fds
}
