//! This machine, as far as it can be judged without another.

use std::net::IpAddr;

use bcl::{Folder, JobKey, NodeId, detect_node};
use bcl_udp::route::{Interface, Route};
use bcl_udp::{BindError, Socket};

use super::finding::{Finding, ok, problem, warning};
use super::{agent, card, clock, kernel, names};

/// What the udp tier would like to have for each direction.
const BUFFER_BYTES: usize = 4 << 20;

pub fn findings() -> Vec<Finding> {
    let mut findings = vec![node()];
    findings.extend(kernel::reverse_path());
    findings.push(names::own_name());
    findings.extend(sockets());
    findings.push(clock::finding());
    findings.push(job_key());
    findings.push(folder());
    findings.extend(kernel::cores_and_copy());
    findings.extend(agent::finding());
    findings
}

/// Which address others see, on which interface, and why.
fn node() -> Finding {
    const CHECK: &str = "interface";
    let choose = "export BCL_NODE=ADDRESS (one of `ip -brief address`)";
    let (node, why) = match detect_node() {
        Ok(found) => found,
        Err(error) => return problem(CHECK, error.to_string(), choose),
    };
    let ip = IpAddr::from(node.0);
    if node == NodeId::LOOPBACK {
        let text = format!("this node is {node} ({why}): no other host can reach it");
        return warning(CHECK, text, choose);
    }
    let interface = match bcl_udp::route::interfaces() {
        Ok(all) => all.into_iter().find(|interface| interface.holds(ip)),
        Err(error) => {
            return problem(
                CHECK,
                format!("interfaces cannot be listed: {error}"),
                choose,
            );
        }
    };
    let Some(interface) = interface else {
        let text = format!("this node is {node} ({why}), which is no address of this machine");
        return problem(
            CHECK,
            text,
            format!("{choose}, or give its addresses in the nodes file"),
        );
    };
    let text = format!(
        "{} with {node} ({why}), MTU {}",
        interface.name, interface.mtu
    );
    match doubts(ip, interface).first() {
        Some(doubt) => warning(CHECK, format!("{text}; but {doubt}"), choose),
        None => ok(CHECK, text),
    }
}

/// What would speak against packets that leave by `interface`.
fn doubts(ip: IpAddr, interface: Interface) -> Vec<bcl_udp::route::Doubt> {
    let route = Route {
        to: ip,
        source: ip,
        interface,
        gateway: None,
        is_local: true,
    };
    route.doubts()
}

/// What the kernel grants to a socket.
fn sockets() -> Vec<Finding> {
    const CHECK: &str = "socket_buffers";
    let settings = match Socket::bind([127, 0, 0, 1].into(), 0) {
        Ok(socket) => socket.settings(),
        Err(error @ BindError::NotOurs { .. }) => {
            return vec![problem(CHECK, error.to_string(), "ip link set lo up")];
        }
        Err(error) => return vec![problem(CHECK, error.to_string(), "ulimit -n 4096")],
    };
    let mut findings = Vec::new();
    // Linux grants the double, for its own overhead.
    for (name, granted) in [
        ("rmem_max", settings.receive_buffer_bytes / 2),
        ("wmem_max", settings.send_buffer_bytes / 2),
    ] {
        let text = format!("net.core.{name} permits {} KiB a socket", granted >> 10);
        findings.push(match granted >= BUFFER_BYTES {
            true => ok(CHECK, text),
            false => warning(
                CHECK,
                format!("{text}: a burst that is longer gets lost and is sent again"),
                format!("sysctl -w net.core.{name}={BUFFER_BYTES}"),
            ),
        });
    }
    if !settings.segments || !settings.coalesces {
        let text = "this kernel does not segment and coalesce UDP (Linux 5.0): streams are several times slower";
        findings.push(warning(CHECK, text, "update the kernel"));
    }
    findings.extend(card::finding(settings.asks_the_card));
    findings
}

fn job_key() -> Finding {
    const CHECK: &str = "job_key";
    match JobKey::from_env() {
        Err(error) => problem(
            CHECK,
            error.to_string(),
            "export BCL_JOB_KEY=$(openssl rand -hex 32)",
        ),
        Ok(_) if !JobKey::is_given_in_env() => warning(
            CHECK,
            "none is given, so ports reach only this node: `bcl run` makes one for each job",
            "export BCL_JOB_KEY=$(openssl rand -hex 32), the same on all hosts",
        ),
        Ok(key) => {
            let job = super::job_id(&key);
            ok(
                CHECK,
                format!("job {job:016x}; a host that says the same has the same key"),
            )
        }
    }
}

fn folder() -> Finding {
    let path = Folder::default_path();
    match Folder::open(&path) {
        Ok(folder) => ok(
            "folder",
            format!("ports of this node meet in {}", folder.path().display()),
        ),
        Err(error) => problem(
            "folder",
            error.to_string(),
            "export BCL_DIR=$XDG_RUNTIME_DIR/bcl",
        ),
    }
}
