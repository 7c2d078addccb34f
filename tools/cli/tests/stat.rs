//! `bcl stat` on ports of real processes.

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use common::{Node, await_line, finish, signal};
use serde_json::Value;

fn end(child: Child) {
    signal(child.id(), libc::SIGTERM);
    finish(child);
}

/// Returns when every thread has stopped: the signal alone only asks for it.
fn stop(pid: u32) {
    signal(pid, libc::SIGSTOP);
    let is_stopped = |task: PathBuf| {
        let stat = fs::read_to_string(task.join("stat")).unwrap();
        stat.rsplit(')')
            .next()
            .unwrap()
            .trim_start()
            .starts_with('T')
    };
    let tasks = || fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    while !tasks().all(|task| is_stopped(task.unwrap().path())) {
        std::thread::yield_now();
    }
}

fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn each_live_port_has_its_counters() {
    let node = Node::new();
    let child = node.endless_perf();
    let first = objects(&node.succeed(&["stat", "--json"]));
    let names = node.names();
    for line in &first {
        assert!(names.contains(&line["port"].as_str().unwrap().to_owned()));
    }
    let sent = |lines: &[Value]| -> Vec<_> {
        let counts = lines.iter().map(|line| line["system_sent"].as_u64());
        counts.map(Option::unwrap).collect()
    };
    let before = sent(&first);
    assert_eq!(before.len(), 2);
    // On a busy machine the two may not have run in between.
    loop {
        let second = objects(&node.succeed(&["stat", "--json"]));
        let ports = |lines: &[Value]| {
            lines
                .iter()
                .map(|line| line["port"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(ports(&second), ports(&first));
        if sent(&second)
            .iter()
            .zip(&before)
            .all(|(after, before)| after > before)
        {
            break;
        }
    }
    let pids: Vec<_> = first
        .iter()
        .map(|line| line["pid"].as_u64().unwrap())
        .collect();
    assert!(pids.contains(&u64::from(child.id())));
    end(child);
}

#[test]
fn the_table_has_a_row_for_each_port_and_all_shows_every_counter() {
    let node = Node::new();
    let child = node.endless_perf();
    let table = node.succeed(&["stat"]);
    assert_eq!(table.lines().count(), 3, "{table}");
    for name in node.names() {
        assert!(table.contains(&name), "{table}");
        let all = node.succeed(&["stat", "--all", &name]);
        assert!(all.starts_with(&name));
        assert!(
            all.contains("refused_key") && all.contains("bells_rung"),
            "{all}"
        );
    }
    end(child);
}

#[test]
fn a_sender_with_another_key_is_counted_where_it_was_refused() {
    let node = Node::new();
    let file = node.folder().join("file");
    let mut receiver = node.bcl(&["recv", file.to_str().unwrap()]).spawn().unwrap();
    let address = await_line(&mut receiver);
    let mut sender = node.bcl(&["send", &address, "/dev/null"]);
    let output = finish(sender.env("BCL_JOB_KEY", "09".repeat(32)).spawn().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(
        complaint.contains("the peer has another key"),
        "{complaint}"
    );
    let line = objects(&node.succeed(&["stat", "--json", &address])).remove(0);
    assert_eq!(line["refused_key"], 1);
    assert!(node.succeed(&["stat", "--all"]).contains("refused_key"));
    end(receiver);
}

#[test]
fn watching_shows_rates_until_it_is_interrupted() {
    let node = Node::new();
    let child = node.endless_perf();
    let mut watcher = node
        .bcl(&["stat", "--json", "--watch", "0.05"])
        .spawn()
        .unwrap();
    // How many peers a port has appears in its page only now and then, later still on a busy machine.
    loop {
        let line: Value = serde_json::from_str(&await_line(&mut watcher)).unwrap();
        let rate = line["system_sent_per_s"].as_f64();
        if rate.is_some_and(|rate| rate > 0.0) && line["peers"] == 1 {
            break;
        }
    }
    signal(watcher.id(), libc::SIGINT);
    assert_eq!(finish(watcher).status.code(), Some(128 + libc::SIGINT));
    end(child);
}

#[test]
fn a_stopped_process_is_listed_with_the_reason_and_the_others_are_shown() {
    let node = Node::new();
    let child = node.endless_perf();
    let partner = common::children(child.id())[0];
    stop(partner);
    let output = node.run(&["stat", "--json"]);
    signal(partner, libc::SIGCONT);
    assert!(output.status.success(), "{}", common::text(&output));
    let lines = objects(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(lines.len(), 2);
    let silent: Vec<_> = lines
        .iter()
        .filter(|line| line["error"].is_string())
        .collect();
    assert_eq!(silent.len(), 1);
    assert!(silent[0]["error"].as_str().unwrap().contains("stopped"));
    end(child);
}

#[test]
fn a_node_without_ports_is_no_error_but_a_wrong_address_is() {
    let node = Node::new();
    assert!(node.succeed(&["stat"]).contains("no ports"));
    let output = node.run(&["stat", "127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("no port 127.0.0.1:9 is open")
    );
    assert_eq!(node.run(&["stat", "nonsense"]).status.code(), Some(2));
}

/// Two processes that exchange long messages find out which way is the quickest, and show it.
#[test]
fn the_ways_of_long_messages_are_shown_with_what_they_cost() {
    let node = Node::new();
    let arguments = [
        "perf",
        "latency",
        "--size",
        "64K",
        "--iterations",
        "100000000",
    ];
    let child = node.bcl(&arguments).spawn().unwrap();
    let classes = loop {
        let lines = objects(&node.succeed(&["stat", "--copies", "--json"]));
        if lines.iter().any(|line| line["takes"].is_string()) {
            break lines;
        }
        std::thread::yield_now();
    };
    let line = classes
        .iter()
        .find(|line| line["takes"].is_string())
        .unwrap();
    assert_eq!(line["from_kib"], 64);
    assert!(
        line["shared_memory_gb_per_s"].as_f64().unwrap() > 0.0,
        "{line}"
    );
    let port = line["port"].as_str().unwrap();
    let table = node.succeed(&["stat", "--copies", port]);
    assert!(
        table.lines().count() >= 2 && table.contains("takes"),
        "{table}"
    );
    end(child);
}
