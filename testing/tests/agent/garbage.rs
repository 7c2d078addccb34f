//! Whatever is said to the agent, it goes on, and others notice nothing.

use std::fs::File;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;

use bcl_agent_client::Key;
use bcl_agent_client::message::{Answer, Code, Connection, MAX_BYTES, Request, Window, write};
use bcl_node::fdpass;
use bcl_testing::agent::free_socket;
use bcl_types::Random;

use crate::lab::Lab;

/// Of each kind one, right or nearly.
fn samples() -> Vec<Vec<u8>> {
    let requests = [
        Request::Open {
            ring_bytes: Some(65_536),
            secret: Key([7; 32]),
        },
        Request::Resume {
            node: [127, 0, 0, 1].into(),
            number: 1024,
        },
        Request::Enter(Connection {
            connection: 1,
            peer: ([127, 0, 0, 1], 20_001).into(),
            peer_connection: 1,
            key_theirs: Key([0; 16]),
            key_ours: Key([0; 16]),
            expected: 0,
            outcomes: Vec::new(),
        }),
        Request::Remove {
            connection: 1,
            ended: false,
            unheard: false,
        },
        Request::Memory { bytes: 1 },
        Request::Free { memory: 0 },
        Request::Bind(Window {
            window: 0,
            memory: 0,
            offset: 0,
            bytes: 8,
            access: 7,
        }),
        Request::Unbind { window: 0 },
        Request::Close {},
        Request::Status {},
        Request::Metrics {},
    ];
    requests
        .iter()
        .map(|request| write(request).expect("it is short"))
        .collect()
}

/// Bytes that are replaced, left out, doubled or moved, or nothing but chance.
fn spoiled(random: &mut Random, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut datagram = samples[random.below(samples.len() as u64) as usize].clone();
    for _ in 0..random.below(4) {
        let at = random.below(datagram.len() as u64) as usize;
        match random.below(5) {
            0 => datagram[at] = random.next_u64() as u8,
            1 => datagram[at] = b"0123456789{}[],:\"-e."[random.below(20) as usize],
            2 => datagram.truncate(at + 1),
            3 => {
                let other = &samples[random.below(samples.len() as u64) as usize];
                datagram.extend_from_slice(other);
            }
            _ => {
                let len = 1 + random.below(MAX_BYTES as u64 + 100) as usize;
                datagram = (0..len).map(|_| random.next_u64() as u8).collect();
            }
        }
    }
    datagram
}

#[test]
fn ten_thousand_spoiled_requests_disturb_nobody() {
    let lab = Lab::new(&["--limit=memory_bytes=1048576"]);
    let mut innocent = lab.asker();
    innocent.tell("open 127.0.0.1 any");
    innocent.tell("enter 5");
    let socket = free_socket([127, 0, 0, 1].into()).unwrap();
    let samples = samples();
    let mut random = Random::new(0xa9e7);
    let mut line = lab.line();
    let (mut refused, mut done) = (0, 0);
    for _ in 0..10_000 {
        let datagram = spoiled(&mut random, &samples);
        let fds = match datagram.starts_with(br#"{"open""#) {
            true => &[socket.as_fd()][..],
            false => &[],
        };
        let _ = fdpass::send(&line.0, &datagram, fds);
        match line.hear() {
            Some(Answer::Failed(failure)) => {
                refused += 1;
                // AGENT-2.3: nothing is heard after it.
                if failure.code == Code::Invalid && failure.what == "read a request" {
                    assert_eq!(line.hear(), None);
                    line = lab.line();
                }
            }
            Some(_) => done += 1,
            None => panic!("the agent hung up without a word"),
        }
    }
    assert!(
        refused > 1000 && done > 500,
        "{refused} refused, {done} done"
    );
    drop(line);
    lab.await_tables(&["connection-0-5", "job-0", "port-0"]);
    assert_eq!(innocent.tell("remove 5"), "77");
}

// AGENT-2.2
#[test]
fn other_descriptors_than_belong_to_a_request_are_not_taken() {
    let lab = Lab::new(&[]);
    let socket = free_socket([127, 0, 0, 1].into()).unwrap();
    let open = Request::Open {
        ring_bytes: None,
        secret: Key([7; 32]),
    };
    let wrong = [
        (Request::Status {}, 1),
        (Request::Status {}, 8),
        (open.clone(), 0),
        (open, 2),
    ];
    for (request, count) in wrong {
        let line = lab.line();
        let datagram = write(&request).unwrap();
        fdpass::send(&line.0, &datagram, &vec![socket.as_fd(); count]).unwrap();
        let Some(Answer::Failed(failure)) = line.hear() else {
            panic!("{count} descriptors were taken beside {request:?}");
        };
        assert_eq!(failure.code, Code::Invalid);
        assert_eq!(line.hear(), None);
    }
}

// AGENT-4.1
#[test]
fn a_port_has_a_udp_socket_and_nothing_else() {
    let lab = Lab::new(&[]);
    let line = lab.line();
    let [here, any] = ["127.0.0.1:0", "0.0.0.0:0"];
    let others = [
        OwnedFd::from(TcpListener::bind(here).unwrap()),
        UdpSocket::bind(here).unwrap().into(),
        UdpSocket::bind(any).unwrap().into(),
        UdpSocket::bind("[::1]:20007").unwrap().into(),
        UnixDatagram::unbound().unwrap().into(),
        File::open("/dev/null").unwrap().into(),
        line.0.try_clone().unwrap(),
    ];
    for other in others {
        match line.open(&other) {
            Some(Answer::Failed(failure)) => assert_eq!(failure.code, Code::Invalid, "{failure}"),
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!(lab.tables(), [""; 0]);
    let opened = line.open(&free_socket([127, 0, 0, 1].into()).unwrap());
    assert!(matches!(opened, Some(Answer::Opened { .. })), "{opened:?}");
}

// AGENT-1.3
#[test]
fn who_does_not_listen_is_not_waited_for() {
    let lab = Lab::new(&[]);
    let deaf = lab.line();
    let remove = write(&Request::Remove {
        connection: 1,
        ended: false,
        unheard: false,
    })
    .unwrap();
    let start = std::time::Instant::now();
    // Until the socket is full in both directions, and then until it is closed.
    loop {
        match fdpass::send(&deaf.0, &remove, &[]) {
            Err(fdpass::FdPassError::Closed) => break,
            Ok(()) | Err(fdpass::FdPassError::WouldBlock) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(start.elapsed() < bcl_testing::PATIENCE);
    }
    lab.asker().tell("open 127.0.0.1 any");
}

#[test]
fn a_frame_of_the_greatest_length_is_read_and_a_longer_one_is_not() {
    let lab = Lab::new(&[]);
    let mut longest = write(&Request::Close {}).unwrap();
    longest.resize(MAX_BYTES, b' ');
    let line = lab.line();
    line.say(&longest);
    let code = |answer| match answer {
        Some(Answer::Failed(failure)) => failure.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(line.hear()), Code::Unknown);
    longest.push(b' ');
    line.say(&longest);
    assert_eq!(code(line.hear()), Code::Invalid);
    assert_eq!(line.hear(), None);
}
