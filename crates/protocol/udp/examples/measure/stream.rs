//! Throughput of messages of 1 MiB in datagrams as large as the MTU permits, with an answer for each message.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use bcl_udp::mtu::largest_datagram_bytes;
use bcl_udp::{Buffers, Datagram, HEADER_BYTES, SendError, Socket};

use crate::{Place, pin};

const MESSAGE_BYTES: usize = 1 << 20;
const MESSAGES: usize = 2000;

/// How far the sender may be ahead: what the receiver's buffer holds at least.
const AHEAD: usize = 2;

/// GB/s of payload.
pub fn run(here: &Place, there: &Place, mtu: u32, segments: bool) -> f64 {
    let (mut near, mut far) = (here.bind(), there.bind());
    let to = far.local_address();
    if !segments {
        near.send_without_segments();
    }
    let fragment = largest_datagram_bytes(mtu, to.ip()) - HEADER_BYTES;
    let receiver = thread::spawn(move || {
        pin(1);
        receive(&mut far);
    });
    pin(0);
    let start = Instant::now();
    send(&mut near, to, fragment);
    let time = start.elapsed();
    receiver.join().unwrap();
    (MESSAGES * MESSAGE_BYTES) as f64 / time.as_secs_f64() / 1e9
}

fn send(socket: &mut Socket, to: SocketAddr, fragment: usize) {
    let message = vec![7; MESSAGE_BYTES];
    let mut buffers = Buffers::new();
    let mut answered = 0;
    for number in 0..MESSAGES {
        let batch: Vec<Datagram<'_>> = message
            .chunks(fragment)
            .map(|payload| part(number, payload))
            .collect();
        while number - answered >= AHEAD {
            answered += taken(socket, &mut buffers);
        }
        let mut sent = 0;
        while sent < batch.len() {
            match socket.send(to, &batch[sent..]) {
                Ok(gone) => sent += gone,
                Err(SendError::Full { .. }) => answered += taken(socket, &mut buffers),
                Err(error) => panic!("{error}"),
            }
        }
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while answered < MESSAGES {
        answered += taken(socket, &mut buffers);
        assert!(
            Instant::now() < deadline,
            "{} messages lost",
            MESSAGES - answered
        );
    }
}

fn part(number: usize, payload: &[u8]) -> Datagram<'_> {
    Datagram {
        header: [number as u8; HEADER_BYTES],
        payload: [payload, &[]],
    }
}

/// How many answers have come.
fn taken(socket: &mut Socket, buffers: &mut Buffers) -> usize {
    socket
        .receive(buffers)
        .unwrap()
        .map_or(0, |received| received.len())
}

fn receive(socket: &mut Socket) {
    let mut buffers = Buffers::new();
    let mut answered = 0;
    let mut bytes = 0;
    while answered < MESSAGES {
        let Some(received) = socket.receive(&mut buffers).unwrap() else {
            continue;
        };
        let from = received.from();
        bytes += received
            .map(|datagram| datagram.len() - HEADER_BYTES)
            .sum::<usize>();
        while bytes >= (answered + 1) * MESSAGE_BYTES {
            answered += 1;
            socket.send(from, &[part(answered, &[])]).unwrap();
        }
    }
}
