//! What the network says of datagrams that were sent: ICMP errors, and the kernel's own of their size.
//!
//! The kernel keeps them in a queue of the socket (`IP_RECVERR`), each with the address that the datagram went to,
//! and lets the next call fail once to draw attention. Nothing received is lost by that.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::ptr;

use super::control::{self, Room, space};
use super::{HEADER_BYTES, Socket};
use crate::address::RawAddress;

/// More than this are not kept: the oldest go, for they are hints and not a log.
const MAX_REPORTS: usize = 64;

/// Room for the error and the address of who has told it.
type ErrorRoom = Room<{ space(size_of::<libc::sock_extended_err>() + size_of::<RawAddress>()) }>;

/// One thing that the network or the kernel has said of a datagram that was sent.
///
/// Reports of the network are not authenticated: who knows the addresses can forge one. So they are a reason to look
/// closer; what they return shows that who sent them has seen that datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Where the datagram was to go.
    pub to: SocketAddr,
    /// What became of it.
    pub trouble: Trouble,
    /// Who says so; `None` is our own kernel.
    pub by: Option<IpAddr>,
    /// The datagram, if it was a header and nothing else. Networks return at least the first 8 bytes, most of them
    /// some hundreds (RFC 1812, 4.3.2.3).
    pub returned: Option<[u8; HEADER_BYTES]>,
}

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The host is there, but nothing is bound to the port.
    PortUnreachable,
    /// It is larger than a link on the way takes.
    TooLarge {
        /// What the link takes, IP's headers included.
        mtu: u32,
    },
    /// A firewall on the way or at the end says that it lets nothing pass.
    Prohibited,
    /// No route, or no answer by the last hop.
    HostUnreachable,
    /// Something else, by the system's number.
    Other(i32),
}

impl Socket {
    /// The oldest report that has not been taken, if there is one.
    ///
    /// Also reads what the kernel holds, which ends a `POLLERR`.
    pub fn next_report(&mut self) -> Option<Report> {
        if self.reports.is_empty() {
            self.collect_reports();
        }
        self.reports.pop_front()
    }

    /// Whether [`next_report`](Self::next_report) has something without asking the kernel, which sends and receives
    /// have done when there was something to ask for. Costs nothing.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Takes over what the kernel holds.
    pub(super) fn collect_reports(&mut self) {
        // Bounded, though the network could fill the queue as quickly as we read it.
        for _ in 0..MAX_REPORTS {
            let Some(report) = self.read_report() else {
                break;
            };
            if self.reports.len() == MAX_REPORTS {
                self.reports.pop_front();
            }
            self.reports.push_back(report);
        }
    }

    fn read_report(&self) -> Option<Report> {
        let mut to = RawAddress::EMPTY;
        let mut room = ErrorRoom::EMPTY;
        let mut returned = [0; HEADER_BYTES];
        let mut slice = libc::iovec {
            iov_base: returned.as_mut_ptr().cast(),
            iov_len: HEADER_BYTES,
        };
        // SAFETY: a `msghdr` of zeros is one without address, slices and control messages.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_name = ptr::from_mut(&mut to).cast();
        message.msg_namelen = RawAddress::ROOM;
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        message.msg_control = room.as_mut_ptr();
        message.msg_controllen = size_of::<ErrorRoom>() as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the message describes live memory of the lengths that it says.
        let len = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, flags) };
        let len = usize::try_from(len).ok()?;
        let is_whole = len == HEADER_BYTES && message.msg_flags & libc::MSG_TRUNC == 0;
        // SAFETY: the kernel has filled the message; the error is plain integers, followed by an address of the
        // family that the address says, for which `room` has space whatever the kernel has written.
        let (error, by) = unsafe {
            let (level, kind) = match self.local {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_RECVERR),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
            };
            let (error, at) = control::find::<libc::sock_extended_err>(&message, level, kind)?;
            (error, offender(at))
        };
        Some(Report {
            to: to.get()?,
            trouble: trouble(&error),
            by: by.filter(|_| error.ee_origin != libc::SO_EE_ORIGIN_LOCAL),
            returned: is_whole.then_some(returned),
        })
    }
}

/// The address that follows an error, as `SO_EE_OFFENDER` of the C library has it.
///
/// # Safety
/// `error` points to an error in an [`ErrorRoom`] that the kernel has filled.
unsafe fn offender(error: *const u8) -> Option<IpAddr> {
    let mut raw = RawAddress::EMPTY;
    // SAFETY: the room has space for both; bytes that the kernel has not written are not read, for it writes an
    // address of either family, and a family of 0 if it knows none. IPv4's is the shorter by 12 bytes.
    unsafe {
        let address = error.add(size_of::<libc::sock_extended_err>());
        let family = address.cast::<libc::sa_family_t>().read_unaligned();
        let len = match i32::from(family) {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            _ => return None,
        };
        ptr::copy_nonoverlapping(address, ptr::from_mut(&mut raw).cast(), len);
    }
    raw.get().map(|address| address.ip())
}

fn trouble(error: &libc::sock_extended_err) -> Trouble {
    match error.ee_errno as libc::c_int {
        libc::ECONNREFUSED => Trouble::PortUnreachable,
        libc::EMSGSIZE => Trouble::TooLarge { mtu: error.ee_info },
        libc::EACCES => Trouble::Prohibited,
        libc::EHOSTUNREACH if is_prohibition(error) => Trouble::Prohibited,
        libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN => Trouble::HostUnreachable,
        other => Trouble::Other(other),
    }
}

/// Codes 9, 10 and 13 of ICMP's "unreachable" are "administratively prohibited" (RFC 1812, 5.2.7.1), which Linux
/// does not tell from "no host".
fn is_prohibition(error: &libc::sock_extended_err) -> bool {
    error.ee_origin == libc::SO_EE_ORIGIN_ICMP
        && error.ee_type == 3
        && matches!(error.ee_code, 9 | 10 | 13)
}

/// Whether the kernel may have meant an earlier datagram when it failed a call with `errno`.
pub(super) fn may_be_pending(errno: libc::c_int) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EMSGSIZE
            | libc::EACCES
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::ENOPROTOOPT
            | libc::EOPNOTSUPP
            | libc::EPROTO
    )
}
