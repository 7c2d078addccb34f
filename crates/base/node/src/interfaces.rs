//! The addresses of this machine's interfaces.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::ptr;

use bcl_os::fork;

/// The first IPv4 address of interface `name`, or `None` if it has none.
pub(crate) fn ipv4_of(name: &str) -> io::Result<Option<Ipv4Addr>> {
    let list = List::read()?;
    Ok(list.iter().find_map(|(owner, ip)| match ip {
        IpAddr::V4(ip) if owner == name => Some(ip),
        _ => None,
    }))
}

/// Interfaces that are up, the loopback not among them, with the first IPv4 address of each.
pub(crate) fn outer() -> io::Result<Vec<(String, Ipv4Addr)>> {
    let list = List::read()?;
    let mut found: Vec<(String, Ipv4Addr)> = Vec::new();
    for (name, ip) in list.nodes().filter(|node| is_outer(node)).filter_map(named) {
        if let IpAddr::V4(ip) = ip
            && found.iter().all(|(known, _)| *known != name)
        {
            found.push((name, ip));
        }
    }
    Ok(found)
}

/// Every address, IPv4 and IPv6, of every interface.
pub fn all() -> io::Result<Vec<IpAddr>> {
    let list = List::read()?;
    Ok(list.iter().map(|(_, ip)| ip).collect())
}

/// The result of getifaddrs(3), freed on drop.
struct List(*mut libc::ifaddrs);

impl List {
    fn read() -> io::Result<List> {
        let mut head = ptr::null_mut();
        // The C library asks by a socket of its own, which a child would keep.
        // SAFETY: `head` is a valid place for the pointer.
        match fork::held_off(|| unsafe { libc::getifaddrs(&raw mut head) }) {
            0 => Ok(List(head)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (String, IpAddr)> + '_ {
        self.nodes().filter_map(named)
    }

    fn nodes(&self) -> impl Iterator<Item = &libc::ifaddrs> {
        // SAFETY: the list lives as long as `self`, and each `ifa_next` is null or a node of it.
        std::iter::successors(unsafe { self.0.as_ref() }, |node| unsafe {
            node.ifa_next.as_ref()
        })
    }
}

/// Of an interface that is up and leads out of this machine.
fn is_outer(node: &libc::ifaddrs) -> bool {
    let (up, loopback) = (libc::IFF_UP as u32, libc::IFF_LOOPBACK as u32);
    node.ifa_flags & (up | loopback) == up
}

/// Interface and address of a node of the list, if it has one.
fn named(node: &libc::ifaddrs) -> Option<(String, IpAddr)> {
    // SAFETY: `ifa_name` is a C string that belongs to the list.
    let name = unsafe { CStr::from_ptr(node.ifa_name) };
    Some((name.to_string_lossy().into_owned(), address_in(node)?))
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the pointer came from getifaddrs and is freed once.
        unsafe { libc::freeifaddrs(self.0) }
    }
}

fn address_in(node: &libc::ifaddrs) -> Option<IpAddr> {
    let place = node.ifa_addr;
    // SAFETY: `ifa_addr` is null or points to a sockaddr that belongs to the list.
    let family = unsafe { place.as_ref()? }.sa_family;
    match i32::from(family) {
        libc::AF_INET => {
            // SAFETY: an AF_INET address is a `sockaddr_in`.
            let address = unsafe { place.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: an AF_INET6 address is a `sockaddr_in6`.
            let address = unsafe { place.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(IpAddr::from(address.sin6_addr.s6_addr))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found() {
        assert_eq!(ipv4_of("lo").unwrap(), Some(Ipv4Addr::LOCALHOST));
        assert!(all().unwrap().contains(&Ipv4Addr::LOCALHOST.into()));
        assert!(outer().unwrap().iter().all(|(name, _)| name != "lo"));
    }

    #[test]
    fn unknown_interface_has_no_address() {
        assert_eq!(ipv4_of("no-such-interface").unwrap(), None);
    }
}
