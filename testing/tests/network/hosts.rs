//! The hosts themselves: what can be done to them, and that nothing of them stays.

use std::fs;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use bcl_testing::netns::{Cluster, cluster};

/// Longer than a packet takes, and than a neighbour takes to be found.
const A_WHILE: Duration = Duration::from_millis(500);
const PORT: u16 = 7000;
/// Set for the process that makes a cluster and is killed.
pub const TO_BE_KILLED: &str = "BCL_TEST_TO_BE_KILLED";

/// Sockets of two hosts of a cluster.
struct Line {
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Line {
    fn between(cluster: &Cluster, from: usize, to: usize) -> Self {
        let socket = |index: usize, port: u16| {
            let host = cluster.host(index);
            let bound = host.enter(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)));
            bound.expect("the host is there").expect("the port is free")
        };
        let line = Self {
            sender: socket(from, 0),
            receiver: socket(to, PORT),
        };
        let patience = Some(A_WHILE);
        line.receiver
            .set_read_timeout(patience)
            .expect("a socket may wait");
        line
    }

    /// Whether packets of that length arrive.
    fn will_carry(&self, to: Ipv4Addr, len: usize) -> bool {
        (0..TRIES).any(|_| self.carries(to, len))
    }

    /// Whether a packet of that length arrives.
    fn carries(&self, to: Ipv4Addr, len: usize) -> bool {
        let to = SocketAddr::from((to, PORT));
        let mut buffer = [0; 9000];
        // What has come for an earlier question is no answer to this one.
        self.receiver
            .set_nonblocking(true)
            .expect("it need not wait");
        while self.receiver.recv(&mut buffer).is_ok() {}
        self.receiver.set_nonblocking(false).expect("it may wait");
        if self.sender.send_to(&vec![1; len], to).is_err() {
            return false;
        }
        loop {
            match self.receiver.recv(&mut buffer) {
                Ok(found) => return found == len,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the receiver: {error}"),
            }
        }
    }
}

/// How often a packet is sent that should arrive, on a machine that may have much to do.
const TRIES: usize = 20;

#[test]
fn a_cable_and_a_switch_carry_packets() {
    for hosts in [2, 5] {
        let Some(cluster) = cluster(hosts) else {
            return;
        };
        let to = hosts - 1;
        assert!(Line::between(&cluster, 0, to).will_carry(cluster.host(to).address, 1000));
    }
}

#[test]
fn a_cut_cable_carries_nothing_until_it_is_mended() {
    for hosts in [2, 3] {
        let Some(cluster) = cluster(hosts) else {
            return;
        };
        let line = Line::between(&cluster, 0, 1);
        let to = cluster.host(1).address;
        assert!(line.will_carry(to, 10));
        cluster.cut(1).expect("a cable can be pulled");
        assert!(!line.carries(to, 10));
        cluster.mend(1).expect("a cable can be plugged in");
        // A switch looks and listens before it carries.
        while !line.carries(to, 10) {}
    }
}

/// The sender is not told: its longer packets vanish.
#[test]
fn a_lower_mtu_swallows_longer_packets() {
    let Some(cluster) = cluster(2) else {
        return;
    };
    let line = Line::between(&cluster, 0, 1);
    let to = cluster.host(1).address;
    cluster.set_mtu_of_all(9000).expect("veth takes it");
    assert!(line.will_carry(to, 8000));
    cluster.set_mtu(1, 1500).expect("veth takes it");
    assert!(!line.carries(to, 8000));
    assert!(line.will_carry(to, 1400));
}

#[test]
fn a_host_that_moves_is_found_at_its_new_address_only() {
    let Some(mut cluster) = cluster(3) else {
        return;
    };
    let line = Line::between(&cluster, 0, 1);
    let old = cluster.host(1).address;
    let new = cluster.spare_address();
    assert!(line.will_carry(old, 10));
    cluster.change_address(1, new).expect("an address changes");
    assert!(line.will_carry(new, 10));
    assert!(!line.carries(old, 10));
}

#[test]
fn a_deleted_host_takes_its_processes_with_it() {
    let Some(mut cluster) = cluster(2) else {
        return;
    };
    let mut sleeper = cluster
        .host(1)
        .command("sh")
        .args(["-c", "echo here; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts");
    // Who is still on the way to the host is not on it.
    let mut output = sleeper.stdout.take().expect("it is a pipe");
    output
        .read_exact(&mut [0; 4])
        .expect("it says that it is there");
    cluster.delete(1).expect("a host can be deleted");
    let status = sleeper.wait().expect("it is our child");
    assert!(!status.success(), "{status}");
}

/// A test that is killed leaves namespaces; the next cluster removes them.
#[test]
fn nothing_stays_of_a_test_that_was_killed() {
    if std::env::var_os(TO_BE_KILLED).is_some() {
        let _cluster = Cluster::new(2);
        // SAFETY: it ends this process, which is what it is for.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    if cluster(1).is_none() {
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("a test knows its path"))
        .args(["nothing_stays_of_a_test_that_was_killed", "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .stdout(Stdio::null())
        .spawn()
        .expect("the test starts again");
    let of_child = format!("bcl-ns-{}-", child.id());
    child.wait().expect("it is our child");
    let names = || {
        let names = fs::read_dir("/run/netns").expect("namespaces are listed there");
        names
            .flatten()
            .filter(|name| name.file_name().to_string_lossy().starts_with(&of_child))
            .count()
    };
    assert_eq!(names(), 3);
    drop(cluster(1));
    assert_eq!(names(), 0);
}
