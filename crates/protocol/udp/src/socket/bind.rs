//! A socket is opened, bound and set up.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::Fd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use super::coalescing::Coalescing;
use super::connect::Peer;
use super::send::Scratch;
use super::{Settings, Socket, holder};
use crate::options::{self, UDP_GRO, UDP_SEGMENT};

/// What we ask for; the kernel grants up to `net.core.rmem_max` and `wmem_max`. At 10 Gbit/s it holds
/// what arrives in 3 ms, about as long as a receiver can be off its core on a busy machine.
const BUFFER_BYTES: usize = 4 << 20;

/// So many us may a call that waits look at the network card (`SO_BUSY_POLL`); those that do not wait look once, and
/// ours do not. The value that the kernel's documentation recommends for sockets that read.
const BUSY_POLL_US: libc::c_int = 50;

/// Why no socket could be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Somebody else has the port. The text names who does, as far as /proc tells then.
    #[error("UDP port {address} is in use{}: choose another port or end that process", by(*address))]
    InUse {
        /// What was asked for.
        address: SocketAddr,
    },
    /// The address belongs to no interface of this machine.
    #[error(
        "{ip} is not an address of this machine (see `ip address`): set BCL_NODE or the nodes file to one that is"
    )]
    NotOurs {
        /// What was asked for.
        ip: IpAddr,
    },
    /// A port below `net.ipv4.ip_unprivileged_port_start`.
    #[error("UDP port {address} is reserved for root: choose one from 1024 up")]
    Reserved {
        /// What was asked for.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("cannot {action} a UDP socket at {address}: {source}")]
    System {
        /// What was being done.
        action: &'static str,
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

fn by(address: SocketAddr) -> String {
    holder::of_port(address)
        .map(|who| format!(" by {who}"))
        .unwrap_or_default()
}

impl Socket {
    /// Opens a socket at `local`, with a port that the kernel chooses if `port` is 0.
    ///
    /// At the wildcard address it receives on every interface; bound to one address, all that it
    /// sends carries that address, so bind to the one that peers know.
    pub fn bind(local: IpAddr, port: u16) -> Result<Socket, BindError> {
        let address = SocketAddr::new(local, port);
        let failed = |action| {
            move |source| BindError::System {
                action,
                address,
                source,
            }
        };
        let fd = open(local).map_err(failed("open"))?;
        rustix::net::bind(&fd, &address).map_err(|errno| sorted(address, errno.into()))?;
        let settings = set_up(fd.as_fd(), local).map_err(failed("set up"))?;
        let local = name(&fd).map_err(failed("name"))?;
        Ok(Socket::new(fd, local, None, settings))
    }

    /// Whether somebody has this port, so that [`bind`](Self::bind) would say [`BindError::InUse`]. At any other trouble
    /// it is for `bind` to say which.
    pub fn is_taken(local: IpAddr, port: u16) -> bool {
        let bound = open(local).map(|fd| rustix::net::bind(&fd, &SocketAddr::new(local, port)));
        matches!(bound, Ok(Err(Errno::ADDRINUSE)))
    }

    pub(super) fn new(fd: Fd, local: SocketAddr, peer: Option<Peer>, settings: Settings) -> Self {
        Self {
            fd,
            local,
            peer,
            settings,
            coalescing: Coalescing::new(settings.coalesces),
            reports: VecDeque::new(),
            scratch: Scratch::default(),
            refusals: 0,
        }
    }
}

fn name(fd: &Fd) -> io::Result<SocketAddr> {
    Ok(rustix::net::getsockname(fd).and_then(SocketAddr::try_from)?)
}

fn sorted(address: SocketAddr, source: io::Error) -> BindError {
    match source.raw_os_error() {
        Some(libc::EADDRINUSE) => BindError::InUse { address },
        Some(libc::EADDRNOTAVAIL) => BindError::NotOurs { ip: address.ip() },
        Some(libc::EACCES) => BindError::Reserved { address },
        _ => BindError::System {
            action: "bind",
            address,
            source,
        },
    }
}

pub(crate) fn open(like: IpAddr) -> io::Result<Fd> {
    let family = match like {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(Fd::make(|| {
        rustix::net::socket_with(family, SocketType::DGRAM, flags, None)
    })?)
}

pub(super) fn set_up(fd: BorrowedFd<'_>, local: IpAddr) -> io::Result<Settings> {
    match local {
        IpAddr::V4(_) => {
            options::set(fd, options::DISCOVER_V4, libc::IP_PMTUDISC_PROBE)?;
            options::set(fd, (libc::IPPROTO_IP, libc::IP_RECVERR), 1)?;
        }
        IpAddr::V6(_) => {
            let discover = (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER);
            options::set(fd, discover, libc::IPV6_PMTUDISC_PROBE)?;
            options::set(fd, (libc::IPPROTO_IPV6, libc::IPV6_RECVERR), 1)?;
        }
    }
    let busy_poll = (libc::SOL_SOCKET, libc::SO_BUSY_POLL);
    // Not permitted, it stays at what the administrator has said for all.
    let _ = options::set(fd, busy_poll, BUSY_POLL_US);
    // The kernel grants what it may and calls it a success.
    sockopt::set_socket_send_buffer_size(fd, BUFFER_BYTES)?;
    sockopt::set_socket_recv_buffer_size(fd, BUFFER_BYTES)?;
    Ok(Settings {
        send_buffer_bytes: sockopt::socket_send_buffer_size(fd)?,
        receive_buffer_bytes: sockopt::socket_recv_buffer_size(fd)?,
        // Size 0 is "no segmentation unless a message asks for it": known to kernels from 4.18.
        segments: options::set(fd, (libc::SOL_UDP, UDP_SEGMENT), 0).is_ok(),
        // Known from 5.0, and switched on when it pays.
        coalesces: options::set(fd, (libc::SOL_UDP, UDP_GRO), 0).is_ok(),
        asks_the_card: options::get(fd, busy_poll).is_ok_and(|time_us| time_us > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> IpAddr {
        [127, 0, 0, 1].into()
    }

    #[test]
    fn a_taken_port_names_its_holder() {
        let first = Socket::bind(loopback(), 0).unwrap();
        assert!(Socket::is_taken(loopback(), first.local_address().port()));
        let error = Socket::bind(loopback(), first.local_address().port()).unwrap_err();
        let text = error.to_string();
        let us = format!("process {}", std::process::id());
        assert!(text.contains(&us), "{text}");
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        // Kept for documentation by RFC 5737: nobody has it.
        let error = Socket::bind([192, 0, 2, 1].into(), 0).unwrap_err();
        assert!(matches!(error, BindError::NotOurs { .. }), "{error}");
    }

    #[test]
    fn the_grants_are_told() {
        let settings = Socket::bind(loopback(), 0).unwrap().settings();
        assert!(settings.send_buffer_bytes > 0 && settings.receive_buffer_bytes > 0);
    }
}
