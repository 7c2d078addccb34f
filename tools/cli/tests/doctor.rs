//! `bcl doctor` between hosts that are namespaces, each with something wrong. Without root, little is checked.

mod common;

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;

use bcl_netns::{Block, Host};
use common::findings::Findings;
use common::{Node, await_line, finish};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Hosts of which the first is at (0, 1): part and number in their block.
struct Site<const N: usize> {
    block: Block,
    hosts: [Host; N],
}

impl<const N: usize> Site<N> {
    fn new() -> Option<Self> {
        let (block, hosts) = bcl_netns::hosts()?;
        Some(Self { block, hosts })
    }

    fn at(&self, (part, number): (u8, u8)) -> IpAddr {
        self.block.v4(part, number).into()
    }

    /// Joins an interface of host `near` with that of another. The parts of the block are networks.
    fn cable(&self, near: (usize, &str, (u8, u8)), far: (usize, &str, (u8, u8))) {
        let end = |(_, name, at): (usize, _, _)| (name, self.at(at));
        let [one, other] = [near.0, far.0].map(|index| &self.hosts[index]);
        one.join(end(near), other, end(far)).unwrap();
    }

    /// What `bcl doctor` on the first host finds of a host with that address.
    fn doctor(&self, node: &Node, of: (u8, u8)) -> Findings {
        let mut command = node.bcl(&["doctor", "--json", &self.at(of).to_string()]);
        command
            .env("BCL_JOB_KEY", KEY)
            .env("BCL_NODE", self.at((0, 1)).to_string());
        Findings::of(&finish(self.hosts[0].within(|| command.spawn()).unwrap()))
    }
}

/// Two hosts, at (0, 1) and (0, 2), joined by `eth`.
fn two_hosts() -> Option<Site<2>> {
    let site = Site::new()?;
    site.cable((0, "eth", (0, 1)), (1, "eth", (0, 2)));
    Some(site)
}

/// A running `bcl doctor --listen`, ended with the test.
struct Listener(Child);

impl Listener {
    fn on(host: &Host, node: &Node) -> Listener {
        let mut command = node.bcl(&["doctor", "--listen"]);
        command.env("BCL_JOB_KEY", KEY);
        let mut child = host.within(|| command.spawn()).unwrap();
        let line = await_line(&mut child);
        assert!(line.contains("listening at"), "{line}");
        Listener(child)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may have ended, which is found out elsewhere.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Packets to these UDP ports find no way: the next thing to a firewall that every kernel has.
fn block(host: &Host, ports: &str, how: &str) {
    host.run("ip rule add pref 100 lookup local").unwrap();
    host.run("ip rule del pref 0").unwrap();
    host.run(&format!(
        "ip rule add pref 50 iif eth ipproto udp dport {ports} {how}"
    ))
    .unwrap();
}

#[test]
fn two_sound_hosts_have_no_problem() {
    let Some(site) = two_hosts() else { return };
    let [_, b] = &site.hosts;
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    let found = site.doctor(&node, (0, 2));
    let own = format!("eth with {}", site.at((0, 1)));
    found.expect("interface", "ok", &own);
    found.expect("route", "ok", "on its network");
    found.expect("firewall", "ok", "answers");
    found.expect("firewall_back", "ok", "without being asked");
    found.expect("mtu", "ok", "1500");
    found.expect("mtu_back", "ok", "1500");
    found.expect("job_key_equal", "ok", "same job key");
    found.expect("clock_equal", "ok", "differ by");
    found.expect("folder", "ok", node.folder().to_str().unwrap());
    assert_eq!(found.status, Some(0), "{:#?}", found.all);
}

#[test]
fn a_host_without_a_doctor_is_told_from_one_that_drops() {
    let Some(site) = two_hosts() else { return };
    let [_, b] = &site.hosts;
    let node = Node::new();
    let found = site.doctor(&node, (0, 2));
    found.expect("firewall", "warning", "nobody listens");
    block(b, "20001-28191", "blackhole");
    let found = site.doctor(&node, (0, 2));
    found.expect("firewall", "problem", "nothing comes back");
    let found = site.doctor(&node, (0, 77));
    let nobody = format!("there is no host {}", site.at((0, 77)));
    found.expect("firewall", "problem", &nobody);
    let found = site.doctor(&node, (9, 1));
    found.expect("route", "problem", "no route");
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_firewall_that_refuses_is_named() {
    let Some(site) = two_hosts() else { return };
    let [_, b] = &site.hosts;
    // Only a host that forwards says that it refuses.
    b.within(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
        .unwrap();
    block(b, "20001-28191", "prohibit");
    let found = site.doctor(&Node::new(), (0, 2));
    found.expect(
        "firewall",
        "problem",
        &format!("{} refuses", site.at((0, 2))),
    );
}

#[test]
fn a_firewall_that_permits_a_part_is_found() {
    let Some(site) = two_hosts() else { return };
    let [_, b] = &site.hosts;
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    block(b, "25000-28191", "blackhole");
    let found = site.doctor(&node, (0, 2));
    found.expect("firewall", "problem", "but not on 25851, 27021, 28191");
}

#[test]
fn a_firewall_here_is_told_from_one_there() {
    let Some(site) = two_hosts() else { return };
    let [a, b] = &site.hosts;
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    // As one that lets answers in: they come to the port that has asked.
    block(a, "20001-28190", "blackhole");
    let found = site.doctor(&node, (0, 2));
    found.expect("firewall", "ok", "answers");
    found.expect("firewall_back", "problem", "a firewall here");
}

#[test]
fn a_link_that_swallows_large_packets_is_found() {
    let Some(site) = two_hosts() else { return };
    let [_, b] = &site.hosts;
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    b.run("ip link set eth mtu 1300").unwrap();
    let found = site.doctor(&node, (0, 2));
    found.expect("mtu", "problem", "vanish without a word");
    found.expect("mtu_equal", "warning", "1500 here and 1300");
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_router_that_tells_of_its_mtu_is_named() {
    let Some(site) = Site::<3>::new() else { return };
    let [a, router, b] = &site.hosts;
    site.cable((0, "eth", (0, 1)), (1, "left", (0, 9)));
    site.cable((1, "right", (2, 9)), (2, "eth", (2, 1)));
    let [left, right, other] = [(0, 9), (2, 9), (2, 1)].map(|at| site.at(at));
    router
        .within(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
        .unwrap();
    router.run("ip link set right mtu 1400").unwrap();
    a.run(&format!("ip route add default via {left}")).unwrap();
    b.run(&format!("ip route add default via {right}")).unwrap();
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    let found = site.doctor(&node, (2, 1));
    found.expect("route", "ok", &format!("through {left}"));
    found.expect(
        "mtu",
        "warning",
        &format!("1400 B get through to {other}, not of 1500 B, says {left}"),
    );
    assert_eq!(found.status, Some(0), "{:#?}", found.all);
}

#[test]
fn a_reverse_path_filter_that_drops_is_found() {
    let Some(site) = two_hosts() else { return };
    let [a, b] = &site.hosts;
    site.cable((0, "other", (2, 1)), (1, "other", (2, 2)));
    let [own, gateway, far] = [(0, 1), (2, 2), (3, 1)].map(|at| site.at(at));
    // Packets leave by `other` with the address of `eth`, so that answers come by `eth`.
    a.run(&format!("ip route add {far}/32 via {gateway} src {own}"))
        .unwrap();
    b.run(&format!("ip address add {far}/32 dev lo")).unwrap();
    // Else the filter takes the question for our link address already, and counts nothing.
    b.within(|| std::fs::write("/proc/sys/net/ipv4/conf/all/arp_announce", "2"))
        .unwrap();
    a.within(|| std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "1"))
        .unwrap();
    let node = Node::new();
    let _listener = Listener::on(b, &node);
    let found = site.doctor(&node, (3, 1));
    found.expect("route", "warning", "not its address");
    found.expect("rp_filter", "warning", "strict on eth, other");
    found.expect("rp_filter", "problem", "were dropped while probing");
}

#[test]
fn names_and_keys_that_lead_astray_are_found_without_another_host() {
    let node = Node::new();
    let key = node.folder().join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let mut command = node.bcl(&["doctor", "--json", "127.0.1.1"]);
    command
        .env("BCL_JOB_KEY_FILE", &key)
        .env("BCL_NODE", Block::free().unwrap().v4(0, 77).to_string());
    let found = Findings::of(&finish(command.spawn().unwrap()));
    found.expect("route", "problem", "/etc/hosts");
    found.expect("job_key", "problem", "can be read by others");
    found.expect("interface", "problem", "no address of this machine");
    assert_eq!(found.status, Some(1));
}

#[test]
fn people_read_what_mends_it() {
    let node = Node::new();
    let output = node.run(&["doctor", "no-such-host.invalid"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("neither in the nodes file nor"),
        "{printed}"
    );
    assert!(printed.contains("mend: "), "{printed}");
    assert_eq!(output.status.code(), Some(1));
}
