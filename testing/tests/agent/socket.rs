//! How the agent's socket comes about, and what it tells.

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bcl_agent_client::Agent;
use bcl_testing::PATIENCE;
use bcl_testing::peer::Peer;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::lab::{self, Lab};

/// A socket that nobody serves yet.
fn listening(path: &Path) -> OwnedFd {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&socket, 5).unwrap();
    socket
}

// AGENT-1.1
#[test]
fn a_socket_that_was_passed_on_is_served() {
    let lab = Lab::new(&[]);
    let path = lab.socket().with_file_name("passed.sock");
    let socket = listening(&path);
    let mut command = Command::new("sh");
    command
        .args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_bcld-fake"))
        .args(["--foreground", "--interface=lo", "--name=passed"])
        .arg(format!("--group={}", lab::group()))
        .args(
            lab.paths()
                .iter()
                .map(|path| path.replace("/state", "/another")),
        );
    let number = socket.as_raw_fd();
    // SAFETY: dup2 may be called between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::dup2(number, 3) {
            3 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut agent = command.spawn().unwrap();
    let status = Agent::connect_to(&path).and_then(|agent| agent.status());
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert_eq!(status.unwrap().name, "passed");
}

#[test]
fn the_status_tells_of_ports_and_so_do_the_metrics() {
    let lab = Lab::new(&[]);
    let mut asker = lab.asker();
    let number: u16 = asker.tell("open 127.0.0.1 any 65536").parse().unwrap();
    asker.tell("enter 3");
    asker.tell("memory 65536");
    asker.tell("bind 9 0 0 100 7");
    let agent = Agent::connect_to(&lab.socket()).unwrap();
    let status = agent.status().unwrap();
    assert_eq!(status.name, "test");
    assert_eq!(status.interfaces[0].name, "lo");
    let [port] = status.ports.as_slice() else {
        panic!("{status:?}");
    };
    assert_eq!(
        (port.number, port.connections, port.windows),
        (number, 1, 1)
    );
    assert_eq!((port.ring_bytes, port.memory_bytes), (65_536, 65_536));
    assert!(port.attended);
    let metrics = agent.metrics().unwrap();
    let line = format!("bcl_port_connections{{port=\"127.0.0.1:{number}\"}} 1");
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

#[test]
fn a_missing_agent_is_told_with_what_to_do() {
    let lab = Lab::new(&[]);
    let error = Agent::connect_to(&lab.socket().with_file_name("none")).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("bcld --foreground") && text.contains("BCL_AGENT"),
        "{text}"
    );
}

// AGENT-1.1
#[test]
fn whatever_the_umask_others_come_through_to_the_socket() {
    let lab = Lab::new(&[]);
    let folder = lab.socket().with_file_name("run");
    let socket = folder.join("agent.sock");
    let mut child = Command::new("sh")
        .args(["-c", "umask 077 && exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_bcld-fake"))
        .args(["--foreground", "--interface=lo", "--name=masked"])
        .arg(format!("--group={}", lab::group()))
        .args(lab.paths().map(|path| {
            path.replace("/state", "/masked")
                .replace("/agent.sock", "/run/agent.sock")
        }))
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while Agent::connect_to(&socket).is_err() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let modes = (mode(&folder), mode(&socket));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(modes, (0o755, 0o666));
}

/// A port that can do without the agent waits for it for half a second, and the next one not at all.
#[test]
fn ports_do_not_wait_for_an_agent_that_hangs() {
    let lab = Lab::new(&[]);
    let path = lab.socket().with_file_name("hanging.sock");
    let _socket = listening(&path);
    let ports = lab.socket().with_file_name("ports");
    let mut command = bcl_testing::peer::command(&ports, &["obey"]);
    command.env("BCL_AGENT", &path).env("BCL_NODE", "127.0.0.2");
    let half_a_second = Duration::from_millis(500);
    let begin = Instant::now();
    let mut peer = Peer::spawn(command);
    assert!((half_a_second..10 * half_a_second).contains(&begin.elapsed()));
    peer.order("close");
    let begin = Instant::now();
    peer.order("open 4000");
    assert!(begin.elapsed() < half_a_second);
}
