//! Whether the machine's own name leads to an address that others can use.

use std::net::{IpAddr, ToSocketAddrs};

use bcl::{NodeId, detect_node};

use super::finding::{Finding, ok, warning};

pub fn own_name() -> Finding {
    const CHECK: &str = "host_name";
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().into_owned();
    let Some(ip) = first_address(&name) else {
        let text = format!(
            "the name of this host, {name}, leads to no address: give peers an address instead"
        );
        return warning(
            CHECK,
            text,
            format!("echo \"{} {name}\" >> /etc/hosts", own_address()),
        );
    };
    if !ip.is_loopback() {
        return ok(CHECK, format!("{name} is {ip}"));
    }
    let text = format!(
        "{name} is {ip} here (/etc/hosts): a program that tells peers its own name by it tells them to talk to themselves"
    );
    warning(
        CHECK,
        text,
        format!("sed -i '1i {} {name}' /etc/hosts", own_address()),
    )
}

/// To be written into /etc/hosts.
fn own_address() -> String {
    match detect_node() {
        Ok((node, _)) if node != NodeId::LOOPBACK => node.to_string(),
        _ => "ADDRESS".into(),
    }
}

/// IPv4 is preferred, since node numbers are IPv4 addresses.
pub fn first_address(name: &str) -> Option<IpAddr> {
    let found: Vec<IpAddr> = (name, 0)
        .to_socket_addrs()
        .ok()?
        .map(|address| address.ip())
        .collect();
    let v4 = found.iter().find(|ip| ip.is_ipv4());
    v4.or(found.first()).copied()
}

#[test]
fn an_address_is_its_own_name() {
    assert_eq!(first_address("127.0.1.1"), Some([127, 0, 1, 1].into()));
}
