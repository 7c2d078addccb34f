//! `bcl send` and `bcl recv` as two real processes.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};

use common::{Node, await_line, finish, signal, text};

/// Bytes without a period that a chunk could hide.
fn bytes(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(step).collect()
}

fn recv(node: &Node, file: &str) -> (Child, String) {
    let mut child = node.bcl(&["recv", file]).spawn().unwrap();
    let address = await_line(&mut child);
    (child, address)
}

#[test]
fn files_of_every_length_arrive_whole() {
    let node = Node::new();
    let path = |name: &str| node.folder().join(name).to_str().unwrap().to_owned();
    let (source, target) = (path("source"), path("target"));
    for len in [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (9 << 20) + 123] {
        std::fs::write(&source, bytes(len)).unwrap();
        let (receiver, address) = recv(&node, &target);
        let output = node.run(&["send", &address, &source]);
        assert!(output.status.success(), "{len}: {}", text(&output));
        assert!(output.stderr.is_empty(), "no progress without a terminal");
        let output = finish(receiver);
        assert!(output.status.success(), "{len}: {}", text(&output));
        assert!(
            std::fs::read(&target).unwrap() == bytes(len),
            "{len} bytes differ"
        );
    }
    assert!(node.names().is_empty());
}

#[test]
fn pipes_work_at_both_ends() {
    let node = Node::new();
    let mut receiver = node.bcl(&["recv", "--port", "77"]).spawn().unwrap();
    let mut announced = String::new();
    let mut complaints = BufReader::new(receiver.stderr.take().unwrap());
    complaints.read_line(&mut announced).unwrap();
    assert!(announced.ends_with(":77\n"), "{announced}");
    let mut sender = node
        .bcl(&["send", announced.trim()])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = sender.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for piece in bytes(3_000_000).chunks(777) {
            input.write_all(piece).unwrap();
        }
    });
    let mut arrived = Vec::new();
    let mut output = receiver.stdout.take().unwrap();
    output.read_to_end(&mut arrived).unwrap();
    writer.join().unwrap();
    assert!(finish(sender).status.success());
    assert!(finish(receiver).status.success());
    assert!(arrived == bytes(3_000_000));
}

#[test]
fn nobody_there_is_an_error() {
    let node = Node::new();
    let mut command = node.bcl(&["send", "127.0.0.1:77"]);
    let output = finish(command.env("BCL_NODE", "127.0.0.1").spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("nobody has this port open"),
        "{complaint}"
    );
    assert_eq!(node.run(&["send", "nonsense"]).status.code(), Some(2));
    assert_eq!(
        node.run(&["send", "127.0.0.1:77", "/no/such/file"])
            .status
            .code(),
        Some(1)
    );
}

/// A sender in the middle of its stream: it has sent a whole chunk, and its input stays open.
fn half_sent(node: &Node, address: &str) -> Child {
    let mut sender = node
        .bcl(&["send", address])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let input = sender.stdin.as_mut().unwrap();
    input.write_all(&bytes(2 << 20)).unwrap();
    sender
}

#[test]
fn a_sender_that_dies_leaves_a_receiver_that_fails() {
    let node = Node::new();
    let target = node.folder().join("target");
    let (receiver, address) = recv(&node, target.to_str().unwrap());
    let mut sender = half_sent(&node, &address);
    let arrived = || std::fs::metadata(&target).unwrap().len() > 0;
    common::eventually("bytes arrive", arrived);
    // Closed too early it would be the end of the file, which the sender may see before the signal.
    let _input = sender.stdin.take();
    signal(sender.id(), libc::SIGINT);
    assert_eq!(finish(sender).status.code(), Some(128 + libc::SIGINT));
    let output = finish(receiver);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("before the end"), "{complaint}");
    assert!(node.names().is_empty());
}

#[test]
fn a_receiver_that_is_interrupted_leaves_a_sender_that_fails() {
    let node = Node::new();
    let target = node.folder().join("target");
    let (receiver, address) = recv(&node, target.to_str().unwrap());
    let mut sender = half_sent(&node, &address);
    let arrived = || std::fs::metadata(&target).unwrap().len() > 0;
    common::eventually("bytes arrive", arrived);
    signal(receiver.id(), libc::SIGINT);
    assert_eq!(finish(receiver).status.code(), Some(128 + libc::SIGINT));
    drop(sender.stdin.take());
    let output = finish(sender);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(node.names().is_empty(), "left: {:?}", node.names());
}

#[test]
fn a_node_of_the_nodes_file_is_reached_by_its_name() {
    let node = Node::new();
    let nodes = node.folder().join("nodes.toml");
    std::fs::write(
        &nodes,
        "[node.here]\nnumber = '10.7.7.7'\naddresses = ['127.0.0.1']\n",
    )
    .unwrap();
    let (file, copy) = (node.folder().join("file"), node.folder().join("copy"));
    std::fs::write(&file, "by name").unwrap();
    let start = |arguments: &[&str]| {
        node.bcl(arguments)
            .env("BCL_NODES", &nodes)
            .spawn()
            .unwrap()
    };
    let mut receiver = start(&["recv", copy.to_str().unwrap()]);
    let address = await_line(&mut receiver);
    let port = address.strip_prefix("10.7.7.7:").unwrap();
    let wrong = finish(start(&["send", &format!("there:{port}"), "/dev/null"]));
    assert_eq!(wrong.status.code(), Some(2));
    let complaint = String::from_utf8(wrong.stderr).unwrap();
    assert!(complaint.contains("the nodes file has here"), "{complaint}");
    let sent = finish(start(&[
        "send",
        &format!("here:{port}"),
        file.to_str().unwrap(),
    ]));
    assert!(sent.status.success(), "{}", text(&sent));
    assert!(finish(receiver).status.success());
    assert_eq!(std::fs::read(copy).unwrap(), b"by name");
}
