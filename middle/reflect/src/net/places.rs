//! Where this host's packets leave, and where other hosts may be ([REFLECT-8.8]).

use std::env;
use std::net::{IpAddr, SocketAddr};

use bcl_node::{Nodes, detect_node, own_addresses};
use bcl_types::{NodeId, scrambled};

use super::group;
use crate::error::Error;

/// The nodes of a job, as `bcl run --hosts` says.
const VARIABLE: &str = "BCL_HOSTS";
/// The first port of regions: behind those of BCL's ports,
const PORTS_FROM: u16 = 28_192;
/// and so many there are: up to those that the kernel gives to whoever asks for any.
const PORTS: u64 = 4544;
/// In how many places a region's host may be, lest another region has the first.
const CANDIDATES: u64 = 3;

/// Where hosts are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub own: IpAddr,
    /// None is the own.
    pub others: Vec<IpAddr>,
    /// One packet may be sent to all at once.
    pub has_group: bool,
}

/// UDP ports at which a host with the region may be.
pub fn ports_of(region: u64) -> impl Iterator<Item = u16> {
    let port = move |turn| PORTS_FROM + (scrambled(region ^ turn << 48) % PORTS) as u16;
    (0..CANDIDATES).map(port)
}

/// Where a host at that address may be.
pub fn candidates(ip: IpAddr, region: u64) -> Vec<SocketAddr> {
    ports_of(region)
        .map(|port| SocketAddr::new(ip, port))
        .collect()
}

/// What the program says, else the launcher; `None` if there is no other host.
pub fn find(hosts: Option<Vec<IpAddr>>, own: Option<IpAddr>) -> Result<Option<Places>, Error> {
    let (hosts, own) = match hosts {
        Some(hosts) => (hosts, own),
        None => match from_environment()? {
            Some((hosts, theirs)) => (hosts, own.or(Some(theirs))),
            None => return Ok(None),
        },
    };
    if hosts.is_empty() {
        return Ok(None);
    }
    let own = own.map_or_else(|| which_is_ours(&hosts), Ok)?;
    let mut others = hosts;
    others.sort_unstable();
    others.dedup();
    others.retain(|host| *host != own);
    if let Some(other) = others.iter().find(|other| other.is_ipv4() != own.is_ipv4()) {
        return Err(Error::Configuration(format!(
            "host {other} of the region cannot be reached from {own}: addresses of IPv4 and IPv6 are mixed"
        )));
    }
    if others.is_empty() {
        return Ok(None);
    }
    let has_group = group::is_wanted()?;
    Ok(Some(Places {
        own,
        others,
        has_group,
    }))
}

/// All hosts of the job, and which this is.
fn from_environment() -> Result<Option<(Vec<IpAddr>, IpAddr)>, Error> {
    let Ok(text) = env::var(VARIABLE) else {
        return Ok(None);
    };
    let wrong = |why: &dyn std::fmt::Display| Error::Configuration(format!("{VARIABLE}: {why}"));
    let numbers = text
        .split(',')
        .map(|number| number.trim().parse::<NodeId>());
    let numbers = numbers.collect::<Result<Vec<_>, _>>();
    let numbers = numbers.map_err(|error| wrong(&error))?;
    let nodes = Nodes::load().map_err(|error| wrong(&error))?;
    let (own, _) = detect_node().map_err(|error| Error::Configuration(error.to_string()))?;
    let place = |node: NodeId| nodes.addresses(node)[0];
    Ok(Some((numbers.into_iter().map(place).collect(), place(own))))
}

fn which_is_ours(hosts: &[IpAddr]) -> Result<IpAddr, Error> {
    let own = own_addresses()
        .map_err(|source| Error::system("listing the addresses of this machine", source))?;
    let ours: Vec<&IpAddr> = hosts.iter().filter(|host| own.contains(host)).collect();
    match ours[..] {
        [one] => Ok(*one),
        [] => Err(Error::Configuration(
            "none of the region's hosts is an address of this machine: say by which the others know it".into(),
        )),
        [one, other, ..] => Err(Error::Configuration(format!(
            "{one} and {other} of the region's hosts are both addresses of this machine: say by which the others know it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_own_address_is_found_and_is_no_other() {
        let hosts = vec![ip("192.0.2.1"), ip("127.0.0.1"), ip("192.0.2.1")];
        let found = find(Some(hosts.clone()), None).unwrap().unwrap();
        let others = vec![ip("192.0.2.1")];
        let own = ip("127.0.0.1");
        let expected = Places {
            own,
            others,
            has_group: true,
        };
        assert_eq!(found, expected);
        let elsewhere = find(Some(vec![ip("192.0.2.1")]), None).unwrap_err();
        assert!(elsewhere.to_string().contains("none of the region's hosts"));
        let alone = find(Some(vec![own]), None).unwrap();
        assert_eq!(alone, None);
        assert_eq!(find(Some(Vec::new()), None).unwrap(), None);
        let mixed = find(Some(vec![own, ip("2001:db8::1")]), None).unwrap_err();
        assert!(mixed.to_string().contains("mixed"));
    }

    #[test]
    fn ports_are_those_of_the_specification() {
        for region in [0, 1, 0xffff_ffff_ffff] {
            let ports: Vec<u16> = ports_of(region).collect();
            assert_eq!(ports.len(), 3);
            assert!(ports.iter().all(|port| (28_192..=32_735).contains(port)));
            assert_eq!(ports, ports_of(region).collect::<Vec<_>>());
        }
    }
}
