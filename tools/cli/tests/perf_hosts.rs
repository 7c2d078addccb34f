//! `bcl perf` between hosts: network namespaces that it makes itself, or a partner behind a remote shell.

mod common;

use std::process::Command;

use common::{Node, await_line, children, eventually, finish, is_running, signal, text};
use serde_json::Value;

const ENDLESS: &str = "perf latency --size 8 --iterations 100000000000 --wait adaptive";

/// `bcl` with these words.
fn bcl(node: &Node, words: &str) -> Command {
    node.bcl(&words.split(' ').collect::<Vec<_>>())
}

/// Whether `--hosts netns` works here; it takes root.
fn can_make_networks() -> bool {
    bcl_netns::hosts::<1>().is_some()
}

/// A short measurement between two hosts, moved by this device.
fn is_measured(node: &Node, bench: &str, more: &str, device: &str) {
    let words = format!(
        "perf {bench} --hosts netns{more} --json --size 8,10000 --iterations 20 --wait adaptive"
    );
    let output = finish(bcl(node, &words).spawn().unwrap());
    assert!(output.status.success(), "{bench}: {}", text(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.lines().count() >= 2);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["hosts"], 2);
        assert_eq!(line["device"], device);
    }
    assert!(node.names().is_empty());
}

#[test]
fn namespaces_are_two_hosts() {
    if !can_make_networks() {
        return;
    }
    let node = Node::new();
    for bench in ["latency", "bandwidth", "rate", "rma"] {
        is_measured(&node, bench, "", "udp");
    }
}

/// Each with an agent; `cargo build -p bcl-agent` builds it, and so do the tests of the workspace.
#[test]
fn each_member_of_a_billboard_has_a_host() {
    if !can_make_networks() {
        return;
    }
    let node = Node::new();
    let words = "perf bbp --members 4 --hosts netns --json --size 8,3000 --iterations 20";
    let output = finish(bcl(&node, words).spawn().unwrap());
    assert!(output.status.success(), "{}", text(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), 2 * 3 + 3 * 2);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["hosts"], 4);
        let is_heard = ["message", "multicast"].contains(&line["what"].as_str().unwrap());
        match line["delivered_us_p50"].as_f64() {
            Some(us) => assert!(is_heard && us > 0.0 && us < 1e6, "{line}"),
            None => assert!(!is_heard, "{line}"),
        }
    }
    assert!(node.names().is_empty());
}

#[test]
fn what_agents_of_its_own_are_worth_is_measured_in_each_mode() {
    if !can_make_networks() {
        return;
    }
    let node = Node::new();
    for (bench, mode) in [
        ("latency", "generic"),
        ("bandwidth", "auto"),
        ("rate", "native"),
        ("rma", "native"),
        ("rma --target stopped", "native"),
        ("rma --target stopped", "generic"),
    ] {
        is_measured(&node, bench, &format!(" --device xdp --mode {mode}"), "xdp");
    }
    let output = finish(bcl(&node, "perf rate --mode native").spawn().unwrap());
    assert!(text(&output).contains("--device xdp --hosts netns"));
    let stopped = "perf rma --hosts netns --device udp --target stopped";
    let output = finish(bcl(&node, stopped).spawn().unwrap());
    assert!(text(&output).contains("--device xdp"), "{}", text(&output));
}

#[test]
fn whatever_ends_the_command_nothing_is_left() {
    if !can_make_networks() {
        return;
    }
    let [udp, xdp] = ["", " --device xdp"];
    let [int, kill] = [libc::SIGINT, libc::SIGKILL];
    for (ending, device) in [(int, udp), (kill, udp), (int, xdp), (kill, xdp)] {
        let node = Node::new();
        let mut child = bcl(&node, &format!("{ENDLESS} --hosts netns{device}"))
            .spawn()
            .unwrap();
        await_line(&mut child);
        let others = children(child.id());
        assert_eq!(others.len(), if device == xdp { 3 } else { 1 });
        let sockets = format!("bcl-perf-{}-", child.id());
        signal(child.id(), ending);
        if ending == libc::SIGINT {
            assert_eq!(finish(child).status.code(), Some(128 + ending));
            assert!(node.names().is_empty());
        } else {
            child.wait().unwrap();
        }
        let is_any_left = || others.iter().copied().any(is_running);
        eventually("partner and agents end", || !is_any_left());
        let mut left = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        assert!(left.all(|left| !left.file_name().to_string_lossy().starts_with(&sockets)));
    }
}

#[test]
fn a_partner_on_a_host_is_started_by_the_launcher_and_goes_with_the_command() {
    let node = Node::new();
    let launched = |words: &str| {
        let mut command = bcl(&node, words);
        command.env("BCL_LAUNCHER", node.shell());
        command.spawn().unwrap()
    };
    let output = finish(launched(
        "perf rate --size 8 --iterations 1000 --json --host left",
    ));
    assert!(output.status.success(), "{}", text(&output));
    let output = finish(launched("perf rate --size 8 --host nowhere"));
    assert_eq!(output.status.code(), Some(255), "{}", text(&output));
    assert!(text(&output).contains("cannot reach host nowhere"));

    for ending in [libc::SIGINT, libc::SIGKILL] {
        let mut child = launched(&format!("{ENDLESS} --host left"));
        await_line(&mut child);
        let helper = children(child.id())[0];
        let partner = children(helper)[0];
        signal(child.id(), ending);
        child.wait().unwrap();
        eventually("all end", || !is_running(helper) && !is_running(partner));
    }

    let child = {
        let mut child = launched(&format!("{ENDLESS} --host left"));
        await_line(&mut child);
        child
    };
    let helper = children(child.id())[0];
    signal(children(helper)[0], libc::SIGKILL);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("partner on host left"),
        "{}",
        text(&output)
    );
}
