//! The way to another host and back.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bcl::{JobKey, Nodes};
use bcl_udp::route::{Doubt, Route};

use super::finding::{Finding, ok, problem, warning};
use super::probe::{Answered, Prober};
use super::{firewall, kernel, mtu, names};
use crate::failure::Result;

/// Clocks that differ by more make logs hard to read; nothing of BCL depends on it.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(1);

/// Looks at each address of the host called `name`.
pub fn look_at(name: &str, report: &mut impl FnMut(Finding) -> Result<()>) -> Result<()> {
    let addresses = match addresses(name) {
        Ok(addresses) => addresses,
        Err(finding) => return report(finding),
    };
    addresses
        .into_iter()
        .try_for_each(|to| look_at_address(to, report))
}

fn addresses(name: &str) -> std::result::Result<Vec<IpAddr>, Finding> {
    const CHECK: &str = "host";
    let nodes =
        Nodes::load().map_err(|error| problem(CHECK, error.to_string(), "edit the nodes file"))?;
    if let Some(node) = nodes.by_name(name) {
        return Ok(node.addresses.clone());
    }
    names::first_address(name)
        .map(|ip| vec![ip])
        .ok_or_else(|| {
            let text =
                format!("{name} is neither in the nodes file nor a host name nor an address");
            problem(
                CHECK,
                text,
                format!("getent hosts {name}; or write it into ~/.config/bcl/nodes.toml"),
            )
        })
}

fn look_at_address(to: IpAddr, report: &mut impl FnMut(Finding) -> Result<()>) -> Result<()> {
    let route = match bcl_udp::route::route_to(to) {
        Ok(route) => route,
        Err(error) => {
            return report(problem(
                "route",
                error.to_string(),
                format!("ip route add {to} via ROUTER"),
            ));
        }
    };
    report(of_route(&route))?;
    if to.is_loopback() {
        return Ok(());
    }
    let mtu = bcl_udp::mtu::kernel_mtu(route.source, to).unwrap_or(route.interface.mtu);
    let mut prober = match Prober::new(route.source) {
        Ok(prober) => prober,
        Err(failure) => {
            return report(problem(
                "firewall",
                failure.text,
                format!("ip route get {to}"),
            ));
        }
    };
    let drops_before = kernel::reverse_path_drops();
    let (finding, answered) = firewall::outward(&mut prober, to)?;
    report(finding)?;
    let Some(answered) = answered else {
        return firewall::dropped_by_reverse_path(drops_before).map_or(Ok(()), report);
    };
    let peer = SocketAddr::new(to, answered.from.port());
    report(firewall::inward(&mut prober, peer, route.source)?)?;
    for finding in mtu::findings(&mut prober, peer, &route, mtu, answered.answer.mtu)? {
        report(finding)?;
    }
    report(of_jobs(to, &answered))?;
    report(of_clocks(to, &answered))
}

fn of_route(route: &Route) -> Finding {
    const CHECK: &str = "route";
    let show = format!("ip route get {}", route.to);
    match route.doubts().into_iter().next() {
        None => ok(CHECK, route.to_string()),
        Some(doubt @ Doubt::LoopbackAlias { .. }) => problem(
            CHECK,
            doubt.to_string(),
            "give the host's address on the network, or mend /etc/hosts",
        ),
        Some(doubt @ Doubt::Down { .. }) => {
            let mend = format!(
                "ip link set dev {} up; else look at its cable",
                route.interface.name
            );
            problem(CHECK, format!("{route}; but {doubt}"), mend)
        }
        Some(doubt) => warning(CHECK, format!("{route}; but {doubt}"), show),
    }
}

fn of_jobs(to: IpAddr, answered: &Answered) -> Finding {
    const CHECK: &str = "job_key_equal";
    let ours = JobKey::from_env()
        .ok()
        .filter(|_| JobKey::is_given_in_env());
    let ours = ours.map(|key| super::job_id(&key));
    let give = "export BCL_JOB_KEY, the same on both hosts, before `bcl doctor`";
    match (ours, answered.answer.job) {
        (Some(ours), theirs) if ours == theirs => ok(CHECK, format!("{to} has the same job key")),
        (None, 0) => warning(
            CHECK,
            format!("neither this host nor {to} was given a job key"),
            give,
        ),
        (Some(_), 0) => warning(CHECK, format!("{to} was given no job key"), give),
        (None, _) => warning(
            CHECK,
            format!("{to} was given a job key, and this host was not"),
            give,
        ),
        _ => problem(
            CHECK,
            format!("{to} has another job key: its ports and ours refuse each other"),
            give,
        ),
    }
}

fn of_clocks(to: IpAddr, answered: &Answered) -> Finding {
    let difference = answered.clocks_apart;
    let text = format!(
        "the clocks of {to} and this host differ by {} ms",
        difference.as_millis()
    );
    match difference > CLOCK_TOLERANCE {
        false => ok("clock_equal", text),
        true => warning(
            "clock_equal",
            format!("{text}: their logs do not match"),
            "timedatectl set-ntp true, on both",
        ),
    }
}
