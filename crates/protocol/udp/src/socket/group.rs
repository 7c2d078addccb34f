//! IP multicast: a datagram that the network brings to all who have joined a group.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd;

use rustix::net::sockopt;

use super::Socket;
use super::bind::{open, set_up};
use crate::options;
use crate::route::interfaces;

/// Not beyond the sender's own network: routers pass nothing on.
const HOPS: u32 = 1;

impl Socket {
    /// Opens a socket for what is sent to a group and comes by the interface that has the address `own`. Others on this machine can
    /// have one too, and each gets all. It is not for sending.
    pub fn join(group: SocketAddr, own: IpAddr) -> io::Result<Socket> {
        let fd = open(own)?;
        sockopt::set_socket_reuseaddr(&fd, true)?;
        let local = match (group, own) {
            (SocketAddr::V4(v4), IpAddr::V4(own)) => {
                rustix::net::bind(&fd, &v4)?;
                sockopt::set_ip_add_membership(&fd, v4.ip(), &own)?;
                // Nothing of the same group that other programs get by other interfaces.
                options::set(fd.as_fd(), (libc::IPPROTO_IP, libc::IP_MULTICAST_ALL), 0)?;
                group
            }
            (SocketAddr::V6(v6), IpAddr::V6(_)) => {
                let index = interface_of(own)?;
                let local = SocketAddrV6::new(*v6.ip(), v6.port(), 0, index);
                rustix::net::bind(&fd, &local)?;
                sockopt::set_ipv6_add_membership(&fd, v6.ip(), index)?;
                let all = (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_ALL);
                options::set(fd.as_fd(), all, 0)?;
                local.into()
            }
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let settings = set_up(fd.as_fd(), own)?;
        Ok(Socket::new(fd, local, None, settings))
    }

    /// What is sent to groups from now on leaves by the interface of the own address, for hosts of its network, and for others on
    /// this machine if they are to get it too.
    pub fn send_to_groups(&self, also_here: bool) -> io::Result<()> {
        match self.local.ip() {
            IpAddr::V4(own) => {
                sockopt::set_ip_multicast_if(&self.fd, &own)?;
                sockopt::set_ip_multicast_ttl(&self.fd, HOPS)?;
                sockopt::set_ip_multicast_loop(&self.fd, also_here)?;
            }
            IpAddr::V6(_) => {
                sockopt::set_ipv6_multicast_if(&self.fd, interface_of(self.local.ip())?)?;
                sockopt::set_ipv6_multicast_hops(&self.fd, HOPS)?;
                sockopt::set_ipv6_multicast_loop(&self.fd, also_here)?;
            }
        }
        Ok(())
    }
}

fn interface_of(own: IpAddr) -> io::Result<u32> {
    let all = interfaces()?;
    let found = all.iter().find(|interface| interface.holds(own));
    let index = found.map(|interface| interface.index);
    index.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffers, Train};

    fn group(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn got(socket: &mut Socket) -> Option<(SocketAddr, Vec<u8>)> {
        let mut buffers = Buffers::new();
        let received = socket.receive(&mut buffers).unwrap();
        received.map(|mut received| (received.from(), received.next().unwrap().to_vec()))
    }

    /// The loopback of IPv6 leads to no group: see `testing/tests/network/regions.rs`.
    #[test]
    fn all_who_have_joined_get_what_is_sent_to_the_group() {
        let own: IpAddr = [127, 0, 0, 1].into();
        let of = group("239.192.7.1:28000");
        let mut hearers = [(); 2].map(|()| Socket::join(of, own).unwrap());
        let mut elsewhere = Socket::join(group("239.192.7.2:28000"), own).unwrap();
        let mut from = Socket::bind(own, 0).unwrap();
        from.send_to_groups(true).unwrap();
        let mut train = Train::default();
        train.begin(&[3; 80]);
        assert!(train.add(&[4; 80]));
        let to = hearers[0].local_address();
        assert_eq!(from.send_to_each(&[to], &train), 1);
        for hearer in &mut hearers {
            assert_eq!(got(hearer), Some((from.local_address(), vec![3; 80])));
            assert_eq!(got(hearer), Some((from.local_address(), vec![4; 80])));
            assert_eq!(got(hearer), None);
        }
        assert_eq!(got(&mut elsewhere), None);
    }

    #[test]
    fn a_group_is_of_the_same_family_as_the_address() {
        let mixed = Socket::join(group("239.192.7.1:28000"), "::1".parse().unwrap());
        assert_eq!(mixed.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
