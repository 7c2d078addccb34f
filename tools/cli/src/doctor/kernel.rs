//! Settings of the kernel that matter.

use std::fs;

use bcl_udp::route::Interface;

use super::finding::{Finding, ok, warning};

const CONF: &str = "/proc/sys/net/ipv4/conf";
const STRICT: u32 = 1;

/// Reverse path filter: on a host with several networks, the strict one drops what comes by another way than
/// answers would go.
pub fn reverse_path() -> Option<Finding> {
    const CHECK: &str = "rp_filter";
    let interfaces = bcl_udp::route::interfaces().ok()?;
    let networks: Vec<&Interface> = interfaces.iter().filter(|it| is_a_network(it)).collect();
    let strict: Vec<&str> = networks
        .iter()
        .map(|interface| interface.name.as_str())
        .filter(|name| filter_of(name) == Some(STRICT))
        .collect();
    let Some(first) = strict.first() else {
        return Some(ok(
            CHECK,
            "no interface drops what comes by another way than answers go",
        ));
    };
    if networks.len() < 2 {
        return Some(ok(
            CHECK,
            format!("strict on {first}, which is the only network"),
        ));
    }
    let text = format!(
        "strict on {} of {} networks: what comes by another interface than answers would go by is dropped in silence",
        strict.join(", "),
        networks.len()
    );
    let names = strict
        .iter()
        .map(|name| format!("net.ipv4.conf.{name}.rp_filter=2"));
    // The kernel takes the larger of an interface's value and that of `all`.
    let mend = format!("sysctl -w {}", names.collect::<Vec<_>>().join(" "));
    Some(warning(CHECK, text, mend))
}

fn is_a_network(interface: &Interface) -> bool {
    let has_v4 = interface.addresses.iter().any(|(ip, _)| ip.is_ipv4());
    interface.is_up && !interface.is_loopback && has_v4
}

/// What holds for an interface: the larger of its own value and that for all.
fn filter_of(interface: &str) -> Option<u32> {
    let read = |name: &str| number(&format!("{CONF}/{name}/rp_filter"));
    Some(read("all")?.max(read(interface)?))
}

/// How many packets the reverse path filter of this network namespace has dropped.
pub fn reverse_path_drops() -> Option<u64> {
    counter(
        &fs::read_to_string("/proc/net/netstat").ok()?,
        "IPReversePathFilter",
    )
}

/// The counters stand in pairs of lines: names, then values.
fn counter(text: &str, wanted: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks_exact(2).find_map(|pair| {
        let at = pair[0].split(' ').position(|name| name == wanted)?;
        pair[1].split(' ').nth(at)?.parse().ok()
    })
}

/// What processes of one node do with each other.
pub fn cores_and_copy() -> Vec<Finding> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = match cores {
        1 => warning(
            "cores",
            "one core: a message waits until its receiver gets it",
            "give the machine or the container a second core",
        ),
        _ => ok("cores", format!("{cores} cores")),
    };
    vec![cores, yama()]
}

fn yama() -> Finding {
    const CHECK: &str = "ptrace_scope";
    match number("/proc/sys/kernel/yama/ptrace_scope") {
        None | Some(0) => ok(
            CHECK,
            "processes of a user may read each other's memory: long messages take one copy",
        ),
        Some(1) => ok(
            CHECK,
            "1: processes that permit it may be read: long messages take one copy",
        ),
        Some(scope) => warning(
            CHECK,
            format!(
                "{scope}: no process may read another's memory, so long messages within the node take two copies"
            ),
            "sysctl -w kernel.yama.ptrace_scope=1",
        ),
    }
}

fn number(path: &str) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[test]
fn counters_are_found_by_name() {
    let text = "TcpExt: A B\nTcpExt: 1 2\nIpExt: C IPReversePathFilter\nIpExt: 3 47\n";
    assert_eq!(counter(text, "IPReversePathFilter"), Some(47));
    assert_eq!(counter(text, "B"), Some(2));
    assert_eq!(counter("TcpExt: A\n", "A"), None);
    assert!(reverse_path_drops().is_some());
}
