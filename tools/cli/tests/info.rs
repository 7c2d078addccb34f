//! `bcl info`, which connects two real processes.

mod common;

use common::Node;
use serde_json::Value;

#[test]
fn json_tells_what_two_processes_found() {
    let node = Node::new();
    let text = node.succeed(&["info", "--json"]);
    let info: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(info["socket_folder"], node.folder().to_str().unwrap());
    assert_eq!(info["tiers"][0], "shm");
    assert_eq!(info["memfd"], true);
    assert!(info["peer_memory_bytes"].as_u64().unwrap() > 0);
    assert!(info["system_max_bytes"].as_u64().unwrap() >= 4096);
    assert!(node.names().is_empty());
}

#[test]
fn single_copy_that_is_off_has_a_reason() {
    let node = Node::new();
    let mut command = node.bcl(&["info"]);
    command
        .env("BCL_COPY", "stream")
        .env("BCL_NODE", "127.1.2.3");
    let output = common::finish(command.spawn().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(line("single copy").contains("no ("), "{text}");
    assert!(
        line("node").contains("127.1.2.3 (set by BCL_NODE)"),
        "{text}"
    );
}

/// A home that is not ours to read keeps nobody from working, and is no secret.
#[test]
fn a_nodes_file_that_was_passed_over_is_named() {
    let node = Node::new();
    let file = node.folder().join("home/.config/bcl/nodes.toml");
    // A folder, for root may read every file.
    std::fs::create_dir_all(&file).unwrap();
    let mut command = node.bcl(&["info"]);
    command.env("HOME", node.folder().join("home"));
    let output = common::finish(command.spawn().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("nodes file"));
    assert!(line.unwrap().contains(file.to_str().unwrap()), "{text}");
}

#[test]
fn a_wrong_setting_is_named() {
    let node = Node::new();
    let mut command = node.bcl(&["info"]);
    command.env("BCL_NODE", "nowhere");
    let output = common::finish(command.spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("BCL_NODE")
    );
}

fn port(node: &Node) -> bcl::Port {
    let options = bcl::Port::options().folder(node.folder());
    options.node(bcl::NodeId::LOOPBACK).open().unwrap()
}

#[test]
fn a_peer_is_reached_and_its_tier_named() {
    let node = Node::new();
    let port = port(&node);
    let peer = port.address().to_string();
    let mut command = node.bcl(&["info", &peer, "--json"]);
    command.env("BCL_NODE", "127.0.0.1");
    let output = common::finish(command.spawn().unwrap());
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&info["peer"], &info["tier"]),
        (&peer.into(), &"shm".into())
    );

    let nobody = node.bcl(&["info", "127.0.0.1:99"]).spawn().unwrap();
    let output = common::finish(nobody);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("127.0.0.1:99 cannot be reached: "), "{text}");
}

/// Which way it takes for long messages, once it has had some.
#[test]
fn what_a_peer_has_found_out_of_long_messages_is_told() {
    const LEN: usize = 64 << 10;
    let node = Node::new();
    let (mut sender, mut receiver) = (port(&node), port(&node));
    for number in 0..40 {
        receiver.post(1, vec![0; LEN], number).unwrap();
        let to = receiver.address();
        sender.send(to, 1, vec![7; LEN], number).unwrap();
        let mut is_received = false;
        while !is_received {
            sender.poll(bcl::Which::Any).unwrap();
            let event = receiver.poll(bcl::Which::Any).unwrap();
            is_received = matches!(event, Some(bcl::Event::Received { .. }));
        }
    }
    // Who sleeps shows before what it knows.
    let nothing = receiver.wait(bcl::Which::Any, Some(std::time::Duration::from_millis(1)));
    assert!(nothing.unwrap().is_none());
    let mut command = node.bcl(&["info", &receiver.address().to_string()]);
    command.env("BCL_NODE", "127.0.0.1");
    let output = common::finish(command.spawn().unwrap());
    let text = String::from_utf8(output.stdout).unwrap();
    let copies = text.lines().find(|line| line.starts_with("copies"));
    assert!(
        copies.is_some_and(|line| line.contains("from 64 KiB ")),
        "{text}"
    );
}
