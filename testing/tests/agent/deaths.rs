//! What is left of a program that ends: nothing. AGENT-7

use crate::lab::{Asker, Lab};

const NOTHING: [&str; 0] = [];

fn with_everything(lab: &Lab) -> Asker {
    let mut asker = lab.asker();
    asker.tell("open 127.0.0.1 any 65536");
    asker.tell("enter 3");
    asker.tell("memory 100000");
    asker.tell("bind 9 0 0 100000 7");
    let all = [
        "connection-0-3",
        "job-0",
        "memory-0",
        "port-0",
        "window-0-9",
    ];
    assert_eq!(lab.tables(), all);
    assert_eq!(lab.records(), ["0.port"]);
    asker
}

// AGENT-7.1
#[test]
fn nothing_is_left_of_a_port_that_is_closed_forgotten_or_killed() {
    let lab = Lab::new(&[]);
    let mut asker = with_everything(&lab);
    asker.tell("close");
    assert_eq!(lab.tables(), NOTHING);
    assert_eq!(lab.records(), NOTHING);

    with_everything(&lab).tell("forget");
    lab.await_tables(&NOTHING);

    with_everything(&lab).kill();
    lab.await_tables(&NOTHING);
    assert_eq!(lab.records(), NOTHING);
}

// AGENT-7.2
#[test]
fn a_child_does_not_keep_the_port_of_its_dead_parent() {
    let lab = Lab::new(&[]);
    let mut asker = with_everything(&lab);
    let child: i32 = asker.tell("fork").parse().unwrap();
    asker.kill();
    lab.await_tables(&NOTHING);
    let child = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn ports_of_one_job_share_its_key_and_the_last_takes_it_along() {
    let lab = Lab::new(&[]);
    let mut one = lab.asker();
    let mut two = lab.asker();
    one.tell("open 127.0.0.1 any");
    two.tell("open 127.0.0.1 any");
    assert_eq!(lab.tables(), ["job-0", "port-0", "port-1"]);
    one.tell("close");
    assert_eq!(lab.tables(), ["job-0", "port-1"]);
    two.tell("close");
    assert_eq!(lab.tables(), NOTHING);
}
