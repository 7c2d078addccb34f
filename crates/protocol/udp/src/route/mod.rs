//! By which interface and from which address packets reach a destination, why, and what speaks against it.
//!
//! The kernel's routes decide, and are asked: no list of interfaces is guessed from. What is worth
//! doubting in the answer is said, since a wrong interface is the most frequent reason for silence.

mod doubt;
mod interface;
mod netlink;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

pub use doubt::Doubt;
pub use interface::{Interface, interfaces};

use crate::address::unspecified_like;
use crate::socket::open;

/// The kernel's way to a destination.
#[derive(Clone, Debug)]
pub struct Route {
    /// The destination.
    pub to: IpAddr,
    /// The address that our packets carry, to which answers come.
    pub source: IpAddr,
    /// Where they leave; for a destination on this machine, the interface that holds the address.
    pub interface: Interface,
    /// The router that they are handed to; `None` if the destination is on the interface's own network.
    pub gateway: Option<IpAddr>,
    /// The destination is this machine.
    pub is_local: bool,
}

/// Why there is no way.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// The kernel has no route.
    #[error(
        "there is no route to {to}: connect the two networks, or add one with `ip route add {to} via ROUTER`"
    )]
    None {
        /// The destination.
        to: IpAddr,
    },
    /// Anything else.
    #[error("cannot ask the kernel for its route to {to}: {source}")]
    System {
        /// The destination.
        to: IpAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Asks the kernel for its route to `to`. Sends nothing to the network.
pub fn route_to(to: IpAddr) -> Result<Route, RouteError> {
    find(to).map_err(|source| match source.raw_os_error() {
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL) => {
            RouteError::None { to }
        }
        _ => RouteError::System { to, source },
    })
}

fn find(to: IpAddr) -> io::Result<Route> {
    let hop = netlink::next_hop(to)?;
    let source = source_for(to)?;
    let all = interfaces()?;
    let is_wanted = |candidate: &&Interface| match hop.is_local {
        true => candidate.holds(to),
        false => candidate.index == hop.interface,
    };
    let chosen = all.iter().find(is_wanted);
    // All of 127.0.0.0/8 is local, though loopback holds one address of it.
    let chosen = chosen.or_else(|| all.iter().find(|other| other.index == hop.interface));
    let interface = chosen.cloned().ok_or_else(|| {
        let text = format!("interface {} has gone", hop.interface);
        io::Error::new(io::ErrorKind::NotFound, text)
    })?;
    Ok(Route {
        to,
        source,
        interface,
        gateway: hop.gateway,
        is_local: hop.is_local,
    })
}

/// Connecting a UDP socket chooses its address as sending would.
fn source_for(to: IpAddr) -> io::Result<IpAddr> {
    const DISCARD: u16 = 9;
    let fd = open(to)?;
    rustix::net::bind(&fd, &SocketAddr::new(unspecified_like(to), 0))?;
    rustix::net::connect(&fd, &SocketAddr::new(to, DISCARD))?;
    Ok(SocketAddr::try_from(rustix::net::getsockname(&fd)?)?.ip())
}

impl Route {
    /// What speaks against this way, worst first.
    pub fn doubts(&self) -> Vec<Doubt> {
        doubt::doubts(self)
    }
}

/// The choice and its reason in a few words.
impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (to, source, name) = (self.to, self.source, &self.interface.name);
        match self.gateway {
            _ if self.is_local => write!(f, "{to} is this machine's own address, on {name}"),
            Some(gateway) => write!(
                f,
                "{name} from {source}, for the kernel's route to {to} leads through {gateway}"
            ),
            None => write!(f, "{name} from {source}, for {to} is on its network"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_its_own_way() {
        for text in ["127.0.0.1", "127.0.1.1", "::1"] {
            let to: IpAddr = text.parse().unwrap();
            let route = route_to(to).unwrap();
            assert!(route.is_local && route.interface.is_loopback, "{route:?}");
            assert_eq!(route.interface.name, "lo");
            assert!(route.to_string().contains("own address"));
        }
    }
}
