//! The network interfaces of this machine, as far as the network namespace shows them.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use super::netlink::{self, AddressOf, Link};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number of it.
    pub index: u32,
    /// Its name, such as `eth0`.
    pub name: String,
    /// What made it, if not hardware: `veth`, `bridge`, `tun`, `wireguard`, ...
    pub kind: Option<String>,
    /// The largest packet that it takes, IP's headers included.
    pub mtu: u32,
    /// Somebody has switched it on.
    pub is_up: bool,
    /// Its cable, or what stands for it, leads somewhere.
    pub has_carrier: bool,
    /// It leads back to this machine.
    pub is_loopback: bool,
    /// It leads to one other machine only, as tunnels do.
    pub is_point_to_point: bool,
    /// Its addresses, each with the length of its network's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
}

impl Interface {
    /// Whether `ip` is one of its addresses.
    pub fn holds(&self, ip: IpAddr) -> bool {
        self.addresses.iter().any(|(address, _)| *address == ip)
    }
}

/// All interfaces, by number.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut found: BTreeMap<u32, Interface> = netlink::links()?
        .into_iter()
        .map(|link| (link.index, without_addresses(link)))
        .collect();
    for AddressOf { interface, address } in netlink::addresses()? {
        // One that came or went between the two questions is left out.
        if let Some(interface) = found.get_mut(&interface) {
            interface.addresses.push(address);
        }
    }
    Ok(found.into_values().collect())
}

fn without_addresses(link: Link) -> Interface {
    let has = |flag: libc::c_int| link.flags & flag as u32 != 0;
    Interface {
        index: link.index,
        name: link.name,
        kind: link.kind,
        mtu: link.mtu,
        is_up: has(libc::IFF_UP),
        has_carrier: has(libc::IFF_RUNNING),
        is_loopback: has(libc::IFF_LOOPBACK),
        is_point_to_point: has(libc::IFF_POINTOPOINT),
        addresses: Vec::new(),
    }
}

#[test]
fn loopback_is_among_them() {
    let all = interfaces().unwrap();
    let loopback = all.iter().find(|interface| interface.is_loopback).unwrap();
    assert!(
        loopback.mtu > 0 && loopback.holds([127, 0, 0, 1].into()),
        "{loopback:?}"
    );
}
