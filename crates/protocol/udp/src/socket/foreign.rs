//! What a descriptor is that another process has sent, and that it says is a UDP socket of its own.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};

use super::bind::open;
use crate::options::network_of;

/// Why a descriptor is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// Another kind of socket, or none.
    #[error("it is no UDP socket")]
    NotUdp,
    /// Its address means nothing here.
    #[error("it is in another network namespace")]
    OtherNetwork,
    /// What the system said.
    #[error("it cannot be looked at: {0}")]
    System(#[from] io::Error),
}

/// Where somebody's UDP socket is bound, in the network namespace of this thread. Nothing about it is changed.
///
/// # Errors
/// When it is something else.
pub fn address_of(fd: BorrowedFd<'_>) -> Result<SocketAddr, Unfit> {
    let family = sockopt::socket_domain(fd).map_err(|_| Unfit::NotUdp)?;
    let is_ip = [AddressFamily::INET, AddressFamily::INET6].contains(&family);
    let is_datagram = sockopt::socket_type(fd) == Ok(SocketType::DGRAM);
    let is_udp = sockopt::socket_protocol(fd) == Ok(Some(ipproto::UDP));
    if !(is_ip && is_datagram && is_udp) {
        return Err(Unfit::NotUdp);
    }
    let system = |errno| Unfit::System(io::Error::from(errno));
    let address = rustix::net::getsockname(fd).map_err(system)?;
    let address = SocketAddr::try_from(address).map_err(system)?;
    let own = open(address.ip())?;
    if network_of(fd)? != network_of(own.as_fd())? {
        return Err(Unfit::OtherNetwork);
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_udp_socket_tells_where_it_is_bound() {
        for ip in ["127.0.0.1", "::1"] {
            let socket = UdpSocket::bind((ip, 0)).unwrap();
            let address = address_of(socket.as_fd()).unwrap();
            assert_eq!(address, socket.local_addr().unwrap());
        }
    }

    #[test]
    fn nothing_else_passes_for_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixDatagram::unbound().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        for other in [listener.as_fd(), unix.as_fd(), file.as_fd()] {
            let found = address_of(other);
            assert!(matches!(found, Err(Unfit::NotUdp)), "{found:?}");
        }
    }
}
