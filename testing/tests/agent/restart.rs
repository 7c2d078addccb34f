//! The agent may end and come back at any time. AGENT-8

use crate::lab::{Asker, Lab};

fn with_port(lab: &Lab) -> Asker {
    let mut asker = lab.asker();
    asker.tell("open 127.0.0.1 any 65536");
    asker.tell("enter 3");
    asker.tell("memory 100000");
    asker.tell("bind 9 0 0 100000 7");
    asker
}

const ALL: [&str; 5] = [
    "connection-0-3",
    "job-0",
    "memory-0",
    "port-0",
    "window-0-9",
];

// AGENT-8.1, AGENT-8.2, AGENT-8.3
#[test]
fn what_was_entered_outlives_the_agent_and_its_program_goes_on() {
    let mut lab = Lab::new(&[]);
    let mut asker = with_port(&lab);
    lab.kill();
    assert_eq!(lab.tables(), ALL);
    asker.is_refused("enter 4", &["no agent at", "systemctl start bcld"]);
    lab.start();
    assert_eq!(lab.tables(), ALL);
    asker.tell("enter 4");
    asker.is_refused("enter 3", &["entered already"]);
    asker.is_refused("free 0", &["window 9"]);
    assert_eq!(asker.tell("remove 3"), "77");
    asker.tell("unbind 9");
    asker.tell("free 0");
    assert_eq!(lab.tables(), ["connection-0-4", "job-0", "port-0"]);
    lab.kill();
    lab.start();
    asker.tell("close");
    assert_eq!(lab.tables(), [""; 0]);
    assert_eq!(lab.records(), [""; 0]);
}

// AGENT-8.2
#[test]
fn a_program_that_has_not_asked_again_is_watched_all_the_same() {
    let mut lab = Lab::new(&[]);
    let mut asker = with_port(&lab);
    lab.kill();
    lab.start();
    asker.kill();
    lab.await_tables(&[]);
}

// AGENT-8.2
#[test]
fn what_belongs_to_nobody_is_removed_at_the_start() {
    let mut lab = Lab::new(&[]);
    let mut dead = with_port(&lab);
    let mut alive = lab.asker();
    alive.tell("open 127.0.0.1 any");
    lab.kill();
    dead.kill();
    for entry in ["job-7", "port-9", "memory-5"] {
        lab.forge(entry, "");
    }
    let connection = serde_json::json!({
        "connection": 1, "peer": "127.0.0.1:20001", "peer_connection": 2,
        "key_theirs": "00".repeat(16), "key_ours": "00".repeat(16), "expected": 3,
    });
    for entry in ["connection-9-1", "connection-8-1"] {
        lab.forge(entry, &connection.to_string());
    }
    lab.start();
    assert_eq!(lab.tables(), ["job-0", "port-1"]);
    assert_eq!(lab.records(), ["1.port"]);
}

// AGENT-8.2
#[test]
fn a_process_that_has_become_another_program_has_no_port() {
    let mut lab = Lab::new(&[]);
    let mut asker = with_port(&lab);
    lab.kill();
    asker.tell("exec");
    // This is the new program.
    asker.is_refused("close", &["no port"]);
    lab.start();
    assert_eq!(lab.tables(), [""; 0]);
    assert_eq!(lab.records(), [""; 0]);
}

#[test]
fn a_port_that_was_left_while_there_was_no_agent_can_be_opened_again() {
    let mut lab = Lab::new(&[]);
    let mut first = lab.asker();
    let number = first.tell("open 127.0.0.1 any");
    lab.kill();
    first.kill();
    lab.start();
    lab.await_tables(&[]);
    let mut second = lab.asker();
    second.tell(&format!("open 127.0.0.1 {number}"));
    assert_eq!(lab.tables(), ["job-0", "port-0"]);
}

#[test]
fn a_signal_ends_the_agent_and_leaves_ports_as_they_are() {
    let mut lab = Lab::new(&[]);
    let mut asker = with_port(&lab);
    assert!(lab.stop().success());
    assert!(!lab.socket().exists());
    assert_eq!(lab.tables(), ALL);
    lab.start();
    asker.tell("close");
}

// AGENT-8.4
#[test]
fn a_second_agent_of_the_name_is_refused() {
    let lab = Lab::new(&[]);
    let second = lab.command().output().unwrap();
    assert!(!second.status.success());
    let text = String::from_utf8(second.stderr).unwrap();
    assert!(text.contains("--name"), "{text}");
}

#[test]
fn the_program_is_withdrawn_when_no_port_is_open() {
    let mut lab = Lab::new(&[]);
    let mut asker = with_port(&lab);
    lab.stop();
    let withdraw = |lab: &Lab| lab.command().arg("withdraw").output().unwrap();
    let refused = withdraw(&lab);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && text.contains("1 ports are open"),
        "{text}"
    );
    assert_eq!(lab.tables(), ALL);
    asker.kill();
    assert!(withdraw(&lab).status.success());
    assert!(!lab.pins().exists());
}
