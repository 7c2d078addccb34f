//! `bcl perf` with its real partner process.

mod common;

use common::{Node, children, eventually, finish, is_running, is_stopped, signal, text};
use serde_json::Value;

fn lines(node: &Node, arguments: &[&str]) -> Vec<Value> {
    let text = node.succeed(arguments);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn latency_has_a_line_for_each_size_with_the_stable_names() {
    let node = Node::new();
    let arguments = "perf latency --json --size 8,1k,100000 --iterations 20 --wait adaptive";
    let lines = lines(&node, &arguments.split(' ').collect::<Vec<_>>());
    let sizes: Vec<_> = lines.iter().map(|line| &line["size_bytes"]).collect();
    assert_eq!(sizes, [8, 1024, 100_000]);
    for line in &lines {
        assert_eq!(line["bench"], "latency");
        assert_eq!(line["device"], "shm");
        assert_eq!(line["hosts"], 1);
        assert_eq!(line["iterations"], 20);
        let us = |name: &str| line[name].as_f64().unwrap();
        assert!(us("one_way_us_min") > 0.0);
        assert!(us("one_way_us_min") <= us("one_way_us_p50"));
        assert!(us("one_way_us_p50") <= us("one_way_us_p99"));
        assert!(line.get("mb_per_s").is_none());
    }
    assert_eq!(lines[0]["channel"], "system");
    assert_eq!(lines[2]["channel"], "normal");
    assert!(node.names().is_empty());
}

#[test]
fn every_kind_of_buffer_copy_and_channel_carries_the_right_bytes() {
    let node = Node::new();
    for buffers in ["normal", "enabled", "dma"] {
        for copy in ["auto", "stream"] {
            for bench in ["latency", "bandwidth"] {
                let arguments = format!(
                    "perf {bench} --json --channel normal --size 0,1,8,4k,1m --iterations 200 --wait adaptive \
                     --buffers {buffers} --copy {copy}"
                );
                let lines = lines(&node, &arguments.split(' ').collect::<Vec<_>>());
                assert_eq!(lines.len(), 5);
                for line in lines {
                    assert_eq!(line["buffers"], buffers);
                    assert_eq!(line["channel"], "normal");
                }
            }
        }
    }
}

#[test]
fn rate_counts_messages() {
    let node = Node::new();
    let lines = lines(
        &node,
        &[
            "perf",
            "rate",
            "--json",
            "--size",
            "8",
            "--iterations",
            "1000",
        ],
    );
    let rate = lines[0]["messages_per_s"].as_f64().unwrap();
    let bandwidth = lines[0]["mb_per_s"].as_f64().unwrap();
    assert!(rate > 0.0);
    assert!((bandwidth - rate * 8.0 / 1e6).abs() < 1e-6 * bandwidth);
}

#[test]
fn one_sided_operations_work_on_both_kinds_of_memory() {
    let node = Node::new();
    for window in ["dma", "normal"] {
        let arguments = format!(
            "perf rma --json --size 8,4k,100000 --iterations 10 --wait adaptive --window {window}"
        );
        let lines = lines(&node, &arguments.split(' ').collect::<Vec<_>>());
        let operations: Vec<_> = lines.iter().map(|line| &line["operation"]).collect();
        let put_and_get = ["put", "put", "put", "get", "get", "get"];
        assert_eq!(operations[..6], put_and_get);
        assert_eq!(operations[6..], ["fetch-add", "compare-swap"]);
        assert!(lines.iter().all(|line| line["window"] == window));
    }
}

#[test]
fn whatever_the_owner_does_operations_go_on_and_many_at_a_time() {
    let node = Node::new();
    for (target, outstanding) in [("polling", 1), ("computing", 1), ("stopped", 4)] {
        let arguments = format!(
            "perf rma --json --size 8,100000 --iterations 20 --target {target} --outstanding {outstanding}"
        );
        let lines = lines(&node, &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(lines.len(), 6);
        for line in lines {
            let said = (&line["target"], &line["outstanding"]);
            assert_eq!(said, (&target.into(), &outstanding.into()));
            assert!(line["mb_per_s"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn a_picture_is_drawn() {
    let node = Node::new();
    let file = node.folder().join("out.svg");
    let path = file.to_str().unwrap();
    node.succeed(&[
        "perf",
        "latency",
        "--size",
        "8,64",
        "--iterations",
        "20",
        "--plot",
        path,
    ]);
    let svg = std::fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("message length"));
}

#[test]
fn a_billboard_is_measured_and_drawn() {
    let node = Node::new();
    let picture = node.folder().join("figures.svg");
    let arguments = format!(
        "perf bbp --members 3 --json --size 0,100 --iterations 40 --plot {}",
        picture.display()
    );
    let lines = lines(&node, &arguments.split(' ').collect::<Vec<_>>());
    let whats: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["what"].as_str().unwrap(),
                line["members"].as_u64().unwrap(),
            )
        })
        .collect();
    let of_a_size = [("message", 2), ("multicast", 3), ("tree", 3)];
    let barriers = [2, 2, 3, 3]
        .into_iter()
        .zip(["barrier", "barrier-by-messages"].into_iter().cycle());
    let barriers: Vec<_> = barriers.map(|(members, what)| (what, members)).collect();
    assert_eq!(whats, [&of_a_size[..], &of_a_size, &barriers].concat());
    for line in &lines {
        assert_eq!(
            (&line["bench"], &line["hosts"]),
            (&Value::from("bbp"), &Value::from(1))
        );
        assert!(line["until_all_us_p50"].as_f64().unwrap() > 0.0);
    }
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("Figure 6") && svg.contains("the paper: billboard"));
    assert!(node.names().is_empty());
}

#[test]
fn of_a_billboard_only_what_is_wanted_is_measured() {
    let node = Node::new();
    let words = "perf bbp --members 2 --json --size 8 --iterations 20 --what barrier,multicast";
    let lines = lines(&node, &words.split(' ').collect::<Vec<_>>());
    let whats: Vec<_> = lines.iter().map(|line| line["what"].as_str()).collect();
    assert_eq!(whats, [Some("multicast"), Some("barrier")]);
}

#[test]
fn a_ctrl_c_ends_both_processes_and_leaves_no_names() {
    for ending in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let node = Node::new();
        let child = node.endless_perf();
        let partners = children(child.id());
        assert_eq!(partners.len(), 1);
        signal(child.id(), ending);
        let output = finish(child);
        assert_eq!(
            output.status.code(),
            Some(128 + ending),
            "{}",
            text(&output)
        );
        assert!(node.names().is_empty(), "left: {:?}", node.names());
        assert!(!is_running(partners[0]));
    }
}

#[test]
fn a_killed_partner_is_named_with_the_cause() {
    let node = Node::new();
    let child = node.endless_perf();
    let partner = children(child.id())[0];
    signal(partner, libc::SIGKILL);
    let output = finish(child);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("partner"), "{complaint}");
    assert!(
        complaint.contains("gone") || complaint.contains("ended"),
        "{complaint}"
    );
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(node.names().is_empty(), "left: {:?}", node.names());
}

#[test]
fn a_killed_command_takes_its_partner_with_it() {
    let node = Node::new();
    let mut child = node.endless_perf();
    let partner = children(child.id())[0];
    signal(child.id(), libc::SIGKILL);
    child.wait().unwrap();
    eventually("the partner ends", || !is_running(partner));
}

#[test]
fn a_killed_command_takes_its_stopped_partner_with_it() {
    let node = Node::new();
    let endless =
        "perf rma --target stopped --operation put --size 8 --warmup 1 --iterations 100000000000";
    let mut child = node
        .bcl(&endless.split(' ').collect::<Vec<_>>())
        .spawn()
        .unwrap();
    eventually("the partner stops", || {
        children(child.id()).into_iter().any(is_stopped)
    });
    let partner = children(child.id())[0];
    signal(child.id(), libc::SIGKILL);
    child.wait().unwrap();
    eventually("the partner ends", || !is_running(partner));
}

#[test]
fn wrong_arguments_are_usage_errors_that_tell_what_to_write() {
    let node = Node::new();
    for (arguments, hint) in [
        ("perf latency --size 8x", "64k"),
        ("perf latency --pin 1", "0,1"),
        ("perf rma --target stopped --host left", "--hosts netns"),
        (
            "perf latency --channel system --size 1m",
            "--channel normal",
        ),
        ("perf latency --pin 99999,0", "core"),
        ("perf latency --iterations 0", "1.."),
    ] {
        let output = node.run(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments}: {}",
            text(&output)
        );
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(complaint.contains(hint), "{arguments}: {complaint}");
    }
    assert!(node.names().is_empty());
}

#[test]
fn a_reader_that_leaves_is_no_reason_to_complain() {
    let node = Node::new();
    let mut child = node
        .bcl(&["perf", "latency", "--size", "8,8,8,8", "--iterations", "10"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(141));
    assert!(output.stderr.is_empty(), "{}", text(&output));
}
