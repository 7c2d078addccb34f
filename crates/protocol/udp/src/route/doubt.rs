//! What speaks against the kernel's choice of an interface.

use std::fmt;
use std::net::IpAddr;

use super::Route;

/// A reason to doubt that a route leads to the host that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A loopback address other than 127.0.0.1, as Debian writes into /etc/hosts for the machine's own name.
    LoopbackAlias {
        /// The address.
        ip: IpAddr,
    },
    /// The interface is switched off, or its cable leads nowhere.
    Down {
        /// Its name.
        interface: String,
    },
    /// A network that containers or virtual machines of this one machine share.
    WithinMachine {
        /// The interface's name.
        interface: String,
        /// Whose it is.
        whose: &'static str,
    },
    /// A tunnel or VPN.
    Tunnel {
        /// Its name.
        interface: String,
        /// Its kind, as the kernel calls it.
        kind: String,
    },
    /// An address that holds on one link only: 169.254.0.0/16 or fe80::/10.
    LinkLocal {
        /// The address.
        ip: IpAddr,
    },
    /// Our packets carry the address of another interface than the one that they leave by.
    OtherAddress {
        /// The address.
        source: IpAddr,
        /// The interface.
        interface: String,
    },
}

/// Interfaces by how their names begin, for a bridge is a bridge to the kernel, whoever made it.
const WITHIN_MACHINE: &[(&str, &str)] = &[
    ("docker", "Docker's"),
    ("br-", "Docker's"),
    ("podman", "Podman's"),
    ("cni", "Kubernetes'"),
    ("flannel", "Kubernetes'"),
    ("cali", "Kubernetes'"),
    ("lxcbr", "LXC's"),
    ("lxdbr", "LXD's"),
    ("incusbr", "Incus'"),
    ("virbr", "libvirt's"),
    ("vmnet", "VMware's"),
    ("vboxnet", "VirtualBox's"),
];

const TUNNELS: &[&str] = &[
    "tun",
    "wireguard",
    "ipip",
    "sit",
    "gre",
    "gretap",
    "ip6gre",
    "ip6tnl",
    "vti",
    "xfrm",
    "ppp",
];

pub(super) fn doubts(route: &Route) -> Vec<Doubt> {
    let interface = &route.interface;
    let name = || interface.name.clone();
    let mut found = Vec::new();
    if is_loopback_alias(route.to) {
        found.push(Doubt::LoopbackAlias { ip: route.to });
    }
    if !(interface.is_up && interface.has_carrier) {
        found.push(Doubt::Down { interface: name() });
    }
    let owner = WITHIN_MACHINE
        .iter()
        .find(|(start, _)| interface.name.starts_with(start));
    if let Some((_, whose)) = owner {
        found.push(Doubt::WithinMachine {
            interface: name(),
            whose,
        });
    }
    if let Some(kind) = tunnel_kind(route) {
        found.push(Doubt::Tunnel {
            interface: name(),
            kind,
        });
    }
    if is_link_local(route.source) {
        found.push(Doubt::LinkLocal { ip: route.source });
    }
    if !route.is_local && !interface.holds(route.source) {
        found.push(Doubt::OtherAddress {
            source: route.source,
            interface: name(),
        });
    }
    found
}

fn tunnel_kind(route: &Route) -> Option<String> {
    let interface = &route.interface;
    let of_kernel = interface
        .kind
        .as_deref()
        .filter(|kind| TUNNELS.contains(kind));
    let other = (interface.is_point_to_point && !interface.is_loopback).then_some("point-to-point");
    of_kernel.or(other).map(str::to_owned)
}

fn is_loopback_alias(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(v4) if v4.is_loopback() && v4.octets() != [127, 0, 0, 1])
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::LoopbackAlias { ip } => write!(
                f,
                "{ip} is this machine itself, whoever asks: a host name that leads to it (in /etc/hosts) does not lead here from elsewhere"
            ),
            Doubt::Down { interface } => write!(f, "{interface} is down or has no carrier"),
            Doubt::WithinMachine { interface, whose } => write!(
                f,
                "{interface} is {whose} network within this machine: other hosts can have one with the same addresses, and packets of ours do not get there"
            ),
            Doubt::Tunnel { interface, kind } => write!(
                f,
                "{interface} is a tunnel or VPN ({kind}): slower than the network below it, with a smaller MTU"
            ),
            Doubt::LinkLocal { ip } => write!(
                f,
                "{ip} holds on one link only: no host behind a router can answer it"
            ),
            Doubt::OtherAddress { source, interface } => write!(
                f,
                "packets leave by {interface} with {source}, which is not its address: a strict rp_filter at the other end drops them"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Interface;

    fn route(to: &str, source: &str, name: &str, kind: Option<&str>) -> Route {
        let source = source.parse().unwrap();
        Route {
            to: to.parse().unwrap(),
            source,
            interface: Interface {
                index: 7,
                name: name.to_owned(),
                kind: kind.map(str::to_owned),
                mtu: 1500,
                is_up: true,
                has_carrier: true,
                is_loopback: false,
                is_point_to_point: false,
                addresses: vec![(source, 24)],
            },
            gateway: None,
            is_local: false,
        }
    }

    #[test]
    fn a_plain_network_is_not_doubted() {
        assert_eq!(route("10.0.0.2", "10.0.0.1", "eth0", None).doubts(), []);
        assert_eq!(
            route("10.0.0.2", "10.0.0.1", "veth3", Some("veth")).doubts(),
            []
        );
    }

    #[test]
    fn the_usual_culprits_are_named() {
        for (route, word) in [
            (
                route("172.17.0.2", "172.17.0.1", "docker0", Some("bridge")),
                "Docker",
            ),
            (
                route("192.168.122.2", "192.168.122.1", "virbr0", Some("bridge")),
                "libvirt",
            ),
            (
                route("10.9.0.1", "10.9.0.2", "wg0", Some("wireguard")),
                "VPN",
            ),
            (
                route("10.9.0.1", "10.9.0.2", "tailscale0", Some("tun")),
                "VPN",
            ),
            (route("127.0.1.1", "127.0.0.1", "lo", None), "/etc/hosts"),
            (
                route("169.254.7.7", "169.254.1.1", "eth0", None),
                "one link",
            ),
        ] {
            let doubts = route.doubts();
            assert_eq!(doubts.len(), 1, "{doubts:?}");
            assert!(doubts[0].to_string().contains(word), "{}", doubts[0]);
        }
    }

    #[test]
    fn a_borrowed_address_and_a_dead_link_are_told() {
        let mut route = route("10.0.0.2", "10.0.0.1", "eth0", None);
        route.interface.has_carrier = false;
        route.source = [10, 1, 1, 1].into();
        let doubts = route.doubts();
        assert!(matches!(
            doubts[..],
            [Doubt::Down { .. }, Doubt::OtherAddress { .. }]
        ));
    }
}
