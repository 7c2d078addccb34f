//! Many ports of one process that all send to one port, and the one.

use std::collections::HashMap;
use std::io::stdin;

use bcl::{Address, Event, Port, Which};
use bcl_testing::{PATIENCE, contents};

const LEN: usize = 500;

/// Opens `count` ports; each sends `rounds` messages to the port at `to`, and waits until they have been sent.
pub fn run(count: u64, to: &str, rounds: u64) {
    let to: Address = to.parse().expect("the receiver is an address");
    let mut flock: Vec<Port> = (0..count)
        .map(|_| Port::open().expect("a port opens"))
        .collect();
    println!("{}", flock[0].address());
    for round in 0..rounds {
        for port in &mut flock {
            let message = contents::bytes(round, LEN);
            port.send_system(to, &message, round)
                .expect("a send starts");
        }
    }
    for port in &mut flock {
        let mut sent = 0;
        while sent < rounds {
            match port.wait(Which::Any, Some(PATIENCE)).expect("it is open") {
                Some(Event::Sent { result, .. }) => {
                    assert_eq!(result, Ok(()), "from {}", port.address());
                    sent += 1;
                }
                Some(Event::PeerUp { .. }) => {}
                other => panic!("{} of {rounds} sent, then {other:?}", sent),
            }
        }
    }
    println!("done");
    stay();
}

/// Receives `rounds` messages of each of `count` ports, in order.
pub fn gather(count: u64, rounds: u64) {
    let mut port = Port::open().expect("a port opens");
    println!("{}", port.address());
    let mut next: HashMap<Address, u64> = HashMap::new();
    let mut arrived = 0;
    while arrived < count * rounds {
        match port.wait(Which::Any, Some(PATIENCE)).expect("it is open") {
            Some(Event::Message(message)) => {
                let round = next.entry(message.from()).or_default();
                contents::check(*round, port.data(&message));
                *round += 1;
                arrived += 1;
                port.release(message).expect("a message can be released");
            }
            Some(Event::PeerUp { .. }) => {}
            other => panic!("{arrived} messages of {} ports, then {other:?}", next.len()),
        }
    }
    assert_eq!(next.len() as u64, count);
    println!("done");
    stay();
}

/// Whoever leaves while others still expect something from it would be a death to them.
fn stay() {
    stdin()
        .read_line(&mut String::new())
        .expect("the test says leave");
}
