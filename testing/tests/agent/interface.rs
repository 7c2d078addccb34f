//! The agent with the interface program itself, between two namespaces.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use bcl_agent_client::message::{Code, Connection, Outcome, Window};
use bcl_agent_client::{Agent, AgentError, Key, OpenPort, Opened, Status};
use bcl_testing::PATIENCE;
use bcl_testing::netns::{Cluster, cluster};
use bcl_testing::peer::program;
use bcl_wire::{CheckKey, Flags, Header, JobKeys, Kind, seal};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketType};

use crate::lab::{Asker, GROUP, Lab};

const SECRET: [u8; 32] = [5; 32];
const THEIRS: [u8; 16] = [3; 16];
const OURS: [u8; 16] = [4; 16];
const NUMBER: u16 = 1500;
const CONNECTION: u32 = 9;
const EXPECTED: u32 = 100;

/// Two hosts; one has the agent, and from the other comes what is sent to its ports.
struct Net {
    lab: Lab,
    cluster: Cluster,
    peer: UdpSocket,
}

impl Net {
    fn new() -> Option<Self> {
        let cluster = cluster(2)?;
        let lab = Lab::inside(&cluster.host(0).namespace, &["eth0"]);
        let far = cluster.host(1);
        let there = || UdpSocket::bind((far.address, 0)).expect("the address is its own");
        let peer = far.enter(there).expect("the namespace is there");
        peer.set_read_timeout(Some(Duration::from_millis(20)))
            .expect("a timeout");
        Some(Self { lab, cluster, peer })
    }

    fn agent(&self) -> Agent {
        Agent::connect_to(&self.lab.socket()).expect("the agent listens")
    }

    fn status(&self) -> Status {
        self.lab.status()
    }

    /// A socket of the port's address, in the namespace of a host.
    fn socket_in(&self, host: usize) -> UdpSocket {
        let bind = || {
            let socket = net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
            net::sockopt::set_ip_freebind(&socket, true)?;
            net::bind(&socket, &self.port_address())?;
            Ok::<_, Errno>(UdpSocket::from(socket))
        };
        let bound = self.cluster.host(host).enter(bind);
        bound
            .expect("the namespace is there")
            .expect("nobody else has it")
    }

    fn open(&self) -> (Opened, UdpSocket) {
        let socket = self.socket_in(0);
        let wish = wish(&socket);
        (self.agent().open(&wish).expect("root may"), socket)
    }

    /// A program of a user without privileges, on the host that has the agent.
    fn asker_of_nobody(&self) -> Asker {
        let spawn = || self.lab.asker_of(65_534, GROUP, &[]);
        let host = self.cluster.host(0);
        host.enter(spawn).expect("the namespace is there")
    }

    fn port_address(&self) -> SocketAddr {
        (self.cluster.host(0).address, 20_000 + NUMBER).into()
    }

    /// A message of the peer's, sealed with a key.
    fn send(&self, sequence: u32, key: [u8; 16]) {
        let mut header = Header::new(Kind::Data);
        header.flags = Flags::FIRST | Flags::LAST | Flags::ACK_NOW;
        header.payload_len_bytes = 8;
        header.length = 8;
        header.to_connection = CONNECTION;
        header.from_connection = 77;
        header.from_port = 7;
        header.to_port = NUMBER;
        header.sequence = sequence;
        header.message = sequence;
        let mut head = header.to_bytes();
        let payload = [sequence as u8; 8];
        let job = JobKeys::derive(&SECRET);
        seal(&mut head, &payload, &job, &CheckKey::from_bytes(&key));
        let datagram = [&head[..], &payload].concat();
        self.peer
            .send_to(&datagram, self.port_address())
            .expect("it can be sent");
    }

    /// Sends until it is acknowledged: what comes before the tables are ready is nobody's.
    fn is_acknowledged(&self, sequence: u32) {
        let start = Instant::now();
        let mut answer = [0; 2048];
        loop {
            self.send(sequence, THEIRS);
            let Ok((len, from)) = self.peer.recv_from(&mut answer) else {
                assert!(start.elapsed() < PATIENCE, "{sequence} is not acknowledged");
                continue;
            };
            assert_eq!(from, self.port_address());
            let (header, _) = bcl_wire::parse(&answer[..len]).expect("the answer is one of ours");
            if header.kind == Kind::Ack && header.ack == sequence.wrapping_add(1) {
                return;
            }
        }
    }

    /// No answer comes to what is sent.
    fn is_ignored(&self, sequence: u32, key: [u8; 16]) {
        self.drain();
        self.send(sequence, key);
        assert!(self.peer.recv(&mut [0; 2048]).is_err());
    }

    fn drain(&self) {
        while self.peer.recv(&mut [0; 2048]).is_ok() {}
    }
}

fn wish(socket: &UdpSocket) -> OpenPort<'_> {
    OpenPort {
        socket: socket.as_fd(),
        ring_bytes: Some(65_536),
        secret: SECRET,
    }
}

fn connection() -> Connection {
    Connection {
        connection: CONNECTION,
        peer: ([127, 0, 0, 1], 20_007).into(),
        peer_connection: 77,
        key_theirs: Key(THEIRS),
        key_ours: Key(OURS),
        expected: EXPECTED,
        outcomes: Vec::new(),
    }
}

/// What has been counted for the one port.
fn counted(status: &Status, cause: &str) -> u64 {
    status.ports[0].counters[cause]
}

#[test]
fn what_is_entered_is_served_whether_the_agent_lives_or_not() {
    let Some(mut net) = Net::new() else { return };
    let (mut opened, _socket) = net.open();
    net.is_ignored(EXPECTED, THEIRS);
    opened.port.enter(&connection()).unwrap();
    net.is_acknowledged(EXPECTED);
    net.is_ignored(EXPECTED + 1, OURS);
    let status = net.status();
    assert_eq!(status.interfaces[0].mode, "generic");
    assert!(counted(&status, "records") >= 1 && counted(&status, "check") >= 1);
    assert_eq!(status.counters["records"], counted(&status, "records"));

    // AGENT-8.1
    net.lab.kill();
    for sequence in 1..50 {
        net.is_acknowledged(EXPECTED + sequence);
    }
    net.lab.start();
    net.is_acknowledged(EXPECTED + 50);
    let status = net.status();
    assert_eq!(
        (status.ports[0].connections, status.ports[0].attended),
        (1, false)
    );
    assert!(counted(&status, "records") >= 51);

    // AGENT-8.3, AGENT-5.2
    let state = opened.port.remove(CONNECTION, false).unwrap().unwrap();
    assert_eq!(state.expected, EXPECTED + 51);
    assert_eq!(state.taken.0, [0; 128]);
    assert_eq!(state.refused, None);
    net.is_ignored(EXPECTED + 51, THEIRS);
    assert_eq!(state.outcomes, []);
    let anew = |outcome| Connection {
        expected: state.expected,
        outcomes: vec![outcome],
        ..connection()
    };
    // AGENT-5.1
    let outcome = Outcome {
        slot: 63,
        number: 4,
        of_mcp: true,
        done: true,
        status: 3,
        value: 5,
        begin: 8,
    };
    for wrong in [
        Outcome {
            slot: 64,
            ..outcome
        },
        Outcome {
            status: 256,
            ..outcome
        },
    ] {
        let refused = opened.port.enter(&anew(wrong));
        assert!(
            matches!(&refused, Err(AgentError::Refused(failure)) if failure.code == Code::Invalid),
            "{refused:?}"
        );
    }
    opened.port.enter(&anew(outcome)).unwrap();
    net.is_acknowledged(EXPECTED + 51);
    let state = opened.port.remove(CONNECTION, false).unwrap().unwrap();
    assert_eq!(state.outcomes, [outcome]);
    // They were this connection's.
    opened.port.enter(&connection()).unwrap();
    let state = opened.port.remove(CONNECTION, false).unwrap().unwrap();
    assert_eq!(state.outcomes, []);
    opened.port.enter(&connection()).unwrap();

    // AGENT-7.1
    opened.port.close().unwrap();
    net.is_ignored(EXPECTED, THEIRS);
    assert_eq!(net.status().ports, []);
    net.lab.stop();
    let withdrawn = net.lab.command().arg("withdraw").output().unwrap();
    assert!(withdrawn.status.success(), "{withdrawn:?}");
    assert!(!net.lab.pins().exists());
}

#[test]
fn a_port_of_a_dead_process_is_served_no_more() {
    let Some(mut net) = Net::new() else { return };
    let node = net.cluster.host(0).address;
    let mut asker = net.asker_of_nobody();
    asker.tell(&format!("open {node} {NUMBER}"));
    asker.tell("enter 1");
    assert_eq!(asker.tell("memory 100000"), "0 131072");
    asker.tell("bind 9 0 8 100000 7");
    asker.tell("bind 9 0 0 100000 7");
    assert_eq!(asker.tell("remove 1"), "77");
    asker.tell("enter 1");
    asker.is_refused("enter 1", &["entered already"]);
    net.lab.kill();
    net.lab.start();
    let port = &net.status().ports[0];
    assert_eq!((port.uid, port.connections, port.windows), (65_534, 1, 1));
    assert_eq!(port.memory_bytes, 131_072);
    asker.kill();
    let start = Instant::now();
    while !net.status().ports.is_empty() {
        assert!(start.elapsed() < PATIENCE);
    }
    // What it had can be had by others.
    let (mut opened, _socket) = net.open();
    opened.port.enter(&connection()).unwrap();
    net.is_acknowledged(EXPECTED);
}

// AGENT-4.2, AGENT-4.3, AGENT-4.4
#[test]
fn descriptors_open_nothing_else_to_a_program_without_privileges() {
    let Some(net) = Net::new() else { return };
    let node = net.cluster.host(0).address;
    let mut asker = net.asker_of_nobody();
    asker.tell(&format!("open {node} {NUMBER}"));
    let report = asker.tell(&format!("attack {}", net.lab.pins().display()));
    let expected =
        "update=EPERM lookup=ok write_map=EPERM read_map=ok protect=EACCES write_ring=EPERM";
    assert!(report.starts_with(expected), "{report}");
    for attempt in ["next_map", "next_program", "map_by_id", "create"] {
        assert!(report.contains(&format!("{attempt}=EPERM")), "{report}");
    }
    assert!(report.contains("open_pin=EACCES"), "{report}");
}

#[test]
fn windows_of_the_largest_size_are_made_and_mapped() {
    let Some(net) = Net::new() else { return };
    let (mut opened, _socket) = net.open();
    let memory = opened.port.make_memory(256 << 20).unwrap();
    opened
        .port
        .bind(&Window {
            window: 1,
            memory: memory.number,
            offset: 0,
            bytes: memory.bytes,
            access: 15,
        })
        .unwrap();
    let len = memory.bytes as usize;
    // SAFETY: the kernel chooses where; it is unmapped by the end of the process.
    let place = unsafe {
        rustix::mm::mmap(
            std::ptr::null_mut(),
            len,
            rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE,
            rustix::mm::MapFlags::SHARED,
            &memory.map,
            0,
        )
    };
    let place = place.expect("it can be mapped").cast::<u8>();
    // SAFETY: it is the last byte of the mapping.
    unsafe {
        assert_eq!(place.add(len - 1).read(), 0);
        place.add(len - 1).write(7);
    }
    opened.port.unbind(1).unwrap();
    opened.port.free_memory(memory.number).unwrap();
}

#[test]
fn the_check_finds_all_in_order_on_a_veth() {
    let Some(net) = Net::new() else { return };
    let check = net.lab.command().arg("check").output().unwrap();
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(check.status.success(), "{text}");
    assert!(
        text.contains("eth0: the interface program is attached behind the driver"),
        "{text}"
    );
    let mut elsewhere = net.lab.command();
    elsewhere.args(["check", "--interface", "nosuch"]);
    let elsewhere = elsewhere.output().unwrap();
    let text = String::from_utf8(elsewhere.stdout).unwrap();
    assert!(!elsewhere.status.success(), "{text}");
    assert!(
        text.contains("BAD   there is no interface nosuch"),
        "{text}"
    );
}

#[test]
fn another_agent_is_told_whose_program_is_there() {
    let Some(net) = Net::new() else { return };
    let [_, _, bpffs] = net.lab.paths();
    let other = |word: &str| {
        let mut command = Command::new("nsenter");
        let namespace = &net.cluster.host(0).namespace;
        command.arg(format!("--net=/run/netns/{namespace}"));
        command.arg(program("bcld-kernel"));
        let elsewhere = |name| net.lab.socket().with_file_name(name);
        command
            .args(["--name=other", "--interface=eth0", &bpffs])
            .arg("--socket")
            .arg(elsewhere("other.sock"))
            .arg("--state")
            .arg(elsewhere("other"))
            .arg(word);
        command.output().expect("it starts and ends")
    };
    let pid = net.status().pid;
    for word in ["--foreground", "check"] {
        let ended = other(word);
        assert!(!ended.status.success());
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        for told in [
            "BCL's own, of agent 'test'",
            &format!("process {pid} bcld-kernel"),
            "bcld withdraw --name test",
        ] {
            assert!(text.contains(told), "{text}");
        }
    }
}

// Of the brief: the agent drops what it does not need.
#[test]
fn the_agent_keeps_three_capabilities_and_can_get_no_others() {
    let Some(net) = Net::new() else { return };
    let pid = net.status().pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.expect("the kernel tells").trim().to_owned()
    };
    // CAP_NET_ADMIN 12, CAP_PERFMON 38, CAP_BPF 39.
    let kept = format!("{:016x}", 1u64 << 12 | 1 << 38 | 1 << 39);
    assert_eq!(field("CapEff:"), kept);
    assert_eq!(field("CapPrm:"), kept);
    assert_eq!(field("CapBnd:"), kept);
    assert_eq!(field("CapInh:"), "0000000000000000");
    assert_eq!(field("CapAmb:"), "0000000000000000");
    assert_eq!(field("NoNewPrivs:"), "1");
}

/// The address means somebody else there. AGENT-4.1
#[test]
fn a_socket_of_another_network_namespace_is_no_ports() {
    let Some(net) = Net::new() else { return };
    let socket = net.socket_in(1);
    let error = net.agent().open(&wish(&socket)).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("another network namespace"), "{text}");
    let (_opened, _socket) = net.open();
}
