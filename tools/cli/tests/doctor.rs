//! `bcl doctor` between hosts that are namespaces, each with something wrong. Without root, little is checked.

mod common;
#[path = "../../../crates/udp/tests/common/netns.rs"]
mod netns;

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Output};

use common::{Node, await_line, finish, text};
use netns::Host;
use serde_json::Value;

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// What was found, by the name of the check.
struct Findings {
    status: Option<i32>,
    all: Vec<Value>,
}

impl Findings {
    fn of(output: &Output) -> Findings {
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(output)));
        Findings {
            status: output.status.code(),
            all: report["findings"].as_array().unwrap().clone(),
        }
    }

    /// Asserts the worst verdict of `check`, and a word that its text has.
    fn expect(&self, check: &str, verdict: &str, word: &str) {
        let mut of_check = self.all.iter().filter(|finding| finding["check"] == check);
        let fits = |finding: &Value| {
            finding["verdict"] == verdict && finding["text"].as_str().unwrap().contains(word)
        };
        assert!(
            of_check.any(fits),
            "no {verdict} of {check} with {word}: {:#?}",
            self.all
        );
        // Whatever is not well can be mended.
        let mended = |finding: &Value| finding["verdict"] == "ok" || finding["mend"].is_string();
        assert!(self.all.iter().all(mended), "{:#?}", self.all);
    }
}

/// Two hosts, 10.0.0.1 and 10.0.0.2, joined by `eth`.
fn hosts() -> Option<(Host, Host)> {
    let (a, b) = (Host::new()?, Host::new()?);
    a.join(("eth", "10.0.0.1/24"), &b, ("eth", "10.0.0.2/24"));
    Some((a, b))
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

fn doctor(host: &Host, node: &Node, arguments: &[&str]) -> Findings {
    let mut command = node.bcl(&["doctor", "--json"]);
    command.args(arguments);
    command.env("BCL_JOB_KEY", KEY).env("BCL_NODE", "10.0.0.1");
    Findings::of(&finish(host.within(|| command.spawn()).unwrap()))
}

/// Packets to these UDP ports find no way: the next thing to a firewall that every kernel has.
fn block(host: &Host, ports: &str, how: &str) {
    host.run("ip rule add pref 100 lookup local");
    host.run("ip rule del pref 0");
    host.run(&format!(
        "ip rule add pref 50 iif eth ipproto udp dport {ports} {how}"
    ));
}

#[test]
fn two_sound_hosts_have_no_problem() {
    let Some((a, b)) = hosts() else { return };
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("interface", "ok", "eth with 10.0.0.1");
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
    let Some((a, b)) = hosts() else { return };
    let node = Node::new();
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("firewall", "warning", "nobody listens");
    block(&b, "20001-28191", "blackhole");
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("firewall", "problem", "nothing comes back");
    let found = doctor(&a, &node, &["10.0.0.77"]);
    found.expect("firewall", "problem", "there is no host 10.0.0.77");
    let found = doctor(&a, &node, &["10.9.0.1"]);
    found.expect("route", "problem", "no route");
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_firewall_that_refuses_is_named() {
    let Some((a, b)) = hosts() else { return };
    // Only a host that forwards says that it refuses.
    b.within(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
        .unwrap();
    block(&b, "20001-28191", "prohibit");
    let found = doctor(&a, &Node::new(), &["10.0.0.2"]);
    found.expect("firewall", "problem", "10.0.0.2 refuses");
}

#[test]
fn a_firewall_that_permits_a_part_is_found() {
    let Some((a, b)) = hosts() else { return };
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    block(&b, "25000-28191", "blackhole");
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("firewall", "problem", "but not on 25851, 27021, 28191");
}

#[test]
fn a_firewall_here_is_told_from_one_there() {
    let Some((a, b)) = hosts() else { return };
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    // As one that lets answers in: they come to the port that has asked.
    block(&a, "20001-28190", "blackhole");
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("firewall", "ok", "answers");
    found.expect("firewall_back", "problem", "a firewall here");
}

#[test]
fn a_link_that_swallows_large_packets_is_found() {
    let Some((a, b)) = hosts() else { return };
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    b.run("ip link set eth mtu 1300");
    let found = doctor(&a, &node, &["10.0.0.2"]);
    found.expect("mtu", "problem", "vanish without a word");
    found.expect("mtu_equal", "warning", "1500 here and 1300");
    assert_eq!(found.status, Some(1));
}

#[test]
fn a_router_that_tells_of_its_mtu_is_named() {
    let (Some(a), Some(router), Some(b)) = (Host::new(), Host::new(), Host::new()) else {
        return;
    };
    a.join(("eth", "10.0.0.1/24"), &router, ("left", "10.0.0.9/24"));
    router.join(("right", "10.0.2.9/24"), &b, ("eth", "10.0.2.1/24"));
    router
        .within(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1"))
        .unwrap();
    router.run("ip link set right mtu 1400");
    a.run("ip route add default via 10.0.0.9");
    b.run("ip route add default via 10.0.2.9");
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    let found = doctor(&a, &node, &["10.0.2.1"]);
    found.expect("route", "ok", "through 10.0.0.9");
    found.expect(
        "mtu",
        "warning",
        "1400 B get through to 10.0.2.1, not of 1500 B, says 10.0.0.9",
    );
    assert_eq!(found.status, Some(0), "{:#?}", found.all);
}

#[test]
fn a_reverse_path_filter_that_drops_is_found() {
    let Some((a, b)) = hosts() else { return };
    a.join(("other", "10.0.2.1/24"), &b, ("other", "10.0.2.2/24"));
    // Packets leave by `other` with the address of `eth`, so that answers come by `eth`.
    a.run("ip route add 10.0.3.1/32 via 10.0.2.2 src 10.0.0.1");
    b.run("ip address add 10.0.3.1/32 dev lo");
    // Else the filter takes the question for our link address already, and counts nothing.
    b.within(|| std::fs::write("/proc/sys/net/ipv4/conf/all/arp_announce", "2"))
        .unwrap();
    a.within(|| std::fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "1"))
        .unwrap();
    let node = Node::new();
    let _listener = Listener::on(&b, &node);
    let found = doctor(&a, &node, &["10.0.3.1"]);
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
        .env("BCL_NODE", "192.0.2.77");
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
