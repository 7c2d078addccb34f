//! What is left of a program that ends: nothing. AGENT-7

use std::net::UdpSocket;
use std::time::Duration;

use bcl_testing::PATIENCE;
use bcl_types::Cause;
use bcl_wire::{CheckKey, End, gone_packet, parse, udp_port};

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

/// A peer of ports of the agent, where BCL has its ports.
struct Peer(UdpSocket);

impl Peer {
    fn new() -> Self {
        let mut sockets =
            udp_port::ALL.filter_map(|port| UdpSocket::bind(("127.0.0.1", port)).ok());
        Self(sockets.next().expect("one of them is free"))
    }

    fn at(&self) -> String {
        self.0.local_addr().expect("it is bound").to_string()
    }

    /// What it is told of a connection, which must be sealed as a port of [`bcl-asker`](crate::lab::Asker) would.
    fn hears(&self, connection: u32) -> Cause {
        self.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut packet = [0; 100];
        let len = self.0.recv(&mut packet).expect("it is told");
        let (header, _) = parse(&packet[..len]).expect("it is a packet");
        let from = End {
            connection,
            port: header.from_port,
        };
        let to = End {
            connection: 1,
            port: header.to_port,
        };
        let key = CheckKey::from_bytes(&[2; 16]);
        let sealed = gone_packet(header.cause(), from, to, &key);
        assert_eq!(packet[..len], sealed);
        header.cause()
    }

    /// It is told so of a connection five times.
    fn hears_five_times(&self, connection: u32, cause: Cause) {
        for _ in 0..5 {
            assert_eq!(self.hears(connection), cause);
        }
    }

    /// That it is told no more.
    fn hears_no_more(&self) {
        let last_word = Some(Duration::from_secs(1));
        self.0.set_read_timeout(last_word).expect("a timeout");
        let mut packet = [0; 100];
        assert!(self.0.recv(&mut packet).is_err(), "{packet:?}");
    }
}

// AGENT-7.3
#[test]
fn peers_are_told_five_times_of_a_process_that_was_killed() {
    let lab = Lab::new(&[]);
    let peer = Peer::new();
    let mut asker = lab.asker();
    asker.tell("open 127.0.0.1 any");
    asker.tell(&format!("enter 3 {}", peer.at()));
    // The interface program need not have it any more.
    asker.tell("remove 3");
    asker.tell(&format!("enter 4 {}", peer.at()));
    asker.tell(&format!("enter 5 {}", peer.at()));
    asker.tell("end 4");
    asker.tell("remove 5");
    asker.tell("end 5");
    asker.kill();
    peer.hears_five_times(3, Cause::Killed(9));
    peer.hears_no_more();
}

#[test]
fn the_next_agent_tells_too() {
    let mut lab = Lab::new(&[]);
    let peer = Peer::new();
    let mut killed_after = lab.asker();
    let mut killed_between = lab.asker();
    for (asker, number) in [(&mut killed_after, 3), (&mut killed_between, 4)] {
        asker.tell("open 127.0.0.1 any");
        asker.tell(&format!("enter {number} {}", peer.at()));
    }
    lab.kill();
    killed_between.kill();
    lab.start();
    peer.hears_five_times(4, Cause::Vanished);
    killed_after.kill();
    peer.hears_five_times(3, Cause::Killed(9));
    peer.hears_no_more();
}

#[test]
fn a_port_that_leaves_without_ending_its_connections_was_closed() {
    let lab = Lab::new(&[]);
    let peer = Peer::new();
    let mut asker = lab.asker();
    for leave in ["close", "forget"] {
        asker.tell("open 127.0.0.1 any");
        asker.tell(&format!("enter 3 {}", peer.at()));
        asker.tell(leave);
        peer.hears_five_times(3, Cause::Closed);
    }
    asker.tell("open 127.0.0.1 any");
    for nobody in [
        "127.0.0.1:80",
        "255.255.255.255:20001",
        "224.0.0.1:20001",
        "0.0.0.0:20001",
    ] {
        asker.is_refused(&format!("enter 3 {nobody}"), &["no port of BCL is at"]);
    }
}
