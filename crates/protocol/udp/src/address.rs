//! Socket addresses as the kernel reads and writes them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A `sockaddr` of either family; smaller than `sockaddr_storage`, since it is made for each send.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union RawAddress {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddress {
    /// Room for the kernel to write one.
    pub(crate) const EMPTY: RawAddress = RawAddress {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    pub(crate) const ROOM: libc::socklen_t = size_of::<RawAddress>() as libc::socklen_t;

    pub(crate) fn new(address: &SocketAddr) -> RawAddress {
        match address {
            SocketAddr::V4(v4) => RawAddress {
                v4: libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from(*v4.ip()).to_be(),
                    },
                    sin_zero: [0; 8],
                },
            },
            SocketAddr::V6(v6) => RawAddress {
                v6: libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: v6.ip().octets(),
                    },
                    sin6_scope_id: v6.scope_id(),
                },
            },
        }
    }

    /// How many bytes of it the kernel reads.
    pub(crate) fn len(&self) -> libc::socklen_t {
        match i32::from(self.family()) {
            libc::AF_INET => size_of::<libc::sockaddr_in>() as libc::socklen_t,
            _ => size_of::<libc::sockaddr_in6>() as libc::socklen_t,
        }
    }

    /// What the kernel has written; `None` if it has written no IP address.
    pub(crate) fn get(&self) -> Option<SocketAddr> {
        match i32::from(self.family()) {
            libc::AF_INET => {
                // SAFETY: all of both variants is plain integers, initialized from the start.
                let v4 = unsafe { self.v4 };
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above; every way to make a value initializes the longer variant or
                // leaves the family at AF_INET.
                let v6 = unsafe { self.v6 };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let (port, scope) = (u16::from_be(v6.sin6_port), v6.sin6_scope_id);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, scope).into())
            }
            _ => None,
        }
    }

    fn family(&self) -> libc::sa_family_t {
        // SAFETY: the family stands first in both variants.
        unsafe { self.v4.sin_family }
    }
}

/// The wildcard address of the family of `ip`.
pub(crate) fn unspecified_like(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        for text in ["10.1.2.3:20007", "[::1]:1", "[fe80::1%3]:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(RawAddress::new(&address).get(), Some(address));
        }
        assert_eq!(RawAddress::EMPTY.get(), None);
    }
}
