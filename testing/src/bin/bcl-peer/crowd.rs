//! One of many: everybody sends to everybody, system messages and normal ones, each checked.

use std::collections::{HashMap, HashSet};
use std::io::stdin;

use bcl::{Address, Event, NodeId, Port, Which};
use bcl_testing::{PATIENCE, contents};

/// The bits of a seed that hold the round.
const ROUND: u64 = (1 << 20) - 1;
/// Longest normal message.
const LONG: usize = 40_000;
/// Well-known number of the first.
const FIRST: u16 = 100;

/// Member `index` of `count`, which sends `rounds` messages of each kind to each.
pub fn run(index: u16, count: u16, rounds: u64) {
    let mut port = Port::options()
        .number(FIRST + index)
        .open()
        .expect("a port opens");
    println!("{}", port.address());
    let mut line = String::new();
    stdin().read_line(&mut line).expect("the test says go");

    let others: Vec<Address> = (0..count)
        .filter(|other| *other != index)
        .map(|other| Address {
            node: NodeId([127, 0, 0, 1].into()),
            port: FIRST + other,
        })
        .collect();
    let expected = rounds * others.len() as u64;
    for cookie in 0..expected {
        port.post(1, vec![0; LONG], cookie).expect("a post starts");
    }
    for round in 0..rounds {
        for to in &others {
            let seed = seed(index, to.port - FIRST, round);
            port.send_system(*to, &contents::bytes(seed, 64 + (seed % 900) as usize), 1)
                .expect("a send starts");
            let len = if round % 4 == 0 { LONG } else { 100 };
            let body = contents::bytes(seed, len - 8);
            port.send(*to, 1, [&seed.to_le_bytes(), &body[..]].concat(), 2)
                .expect("a send starts");
        }
    }

    let (mut systems, mut normals, mut sent) = (0, 0, 0);
    let mut next: HashMap<Address, u64> = HashMap::new();
    let mut seen = HashSet::new();
    while systems < expected || normals < expected || sent < 2 * expected {
        let event = port
            .wait(Which::Any, Some(PATIENCE))
            .expect("the port is open");
        match event {
            Some(Event::Message(message)) => {
                let round = next.entry(message.from()).or_default();
                let seed = seed(message.from().port - FIRST, index, *round);
                contents::check(seed, port.data(&message));
                *round += 1;
                port.release(message).expect("a message can be released");
                systems += 1;
            }
            Some(Event::Received {
                from,
                result,
                len_bytes,
                buffer,
                ..
            }) => {
                assert_eq!(result, Ok(()), "from {from}");
                let bytes = buffer.expect("posts bring their buffer back").into_vec();
                let (head, body) = bytes[..len_bytes as usize].split_at(8);
                let named = u64::from_le_bytes(head.try_into().expect("it is 8 bytes"));
                assert_eq!(named & !ROUND, seed(from.port - FIRST, index, 0));
                assert!(seen.insert(named), "message {named} came twice");
                contents::check(named, body);
                normals += 1;
            }
            Some(Event::Sent { to, result, .. }) => {
                assert_eq!(result, Ok(()), "to {to}");
                sent += 1;
            }
            Some(Event::PeerGone { peer, cause }) => panic!("{peer} is gone: {cause}"),
            Some(_) => {}
            None => panic!(
                "{}: stuck with {systems} and {normals} of {expected} messages, {sent} sends ended, {} peers",
                port.address(),
                port.peers().len()
            ),
        }
    }
    println!("done");
    // Whoever leaves while others still expect something from it would be a death to them.
    line.clear();
    stdin().read_line(&mut line).expect("the test says go");
}

fn seed(from: u16, to: u16, round: u64) -> u64 {
    u64::from(from) << 40 | u64::from(to) << 20 | round
}
