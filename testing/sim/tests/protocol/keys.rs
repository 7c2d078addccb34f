//! Ports that have keys of their own: whoever begins a connection uses the key of the port that it wants to reach
//! ([WIRE-3.5]).

use bcl_proto::{Span, Time};
use bcl_sim::net::Datagram;
use bcl_sim::port::{Heard, address};
use bcl_types::{Cause, OpError};
use bcl_wire::body::Setup;
use bcl_wire::{HEADER_LEN, Header, JobKeys, Kind, parse, seal};

use crate::world::{World, faults, path};

/// Of the port of a host, the first that it has.
fn key(host: usize) -> [u8; 32] {
    [host as u8 + 1; 32]
}

/// Which no port has that is told here.
const OTHER: [u8; 32] = [99; 32];

/// Two ports, of which none is told the other's key.
fn strangers(seed: u64) -> World {
    let mut world = World::new(2, seed);
    for host in [0, 1] {
        world.restart_with(host, 100 + seed, &key(host));
    }
    world
}

/// A host is told the key of another's port.
fn tell(world: &mut World, host: usize, of: usize, key: [u8; 32]) {
    world.hosts[host].memory.keys.borrow_mut().insert(of, key);
}

/// Two ports that are told each other's.
fn acquainted(seed: u64) -> World {
    let mut world = strangers(seed);
    tell(&mut world, 0, 1, key(1));
    tell(&mut world, 1, 0, key(0));
    world
}

fn hellos(record: &[Datagram], from: usize) -> Vec<(Header, Setup)> {
    let said = record.iter().filter(|sent| sent.from == path(from).to);
    let parsed = said.filter_map(|sent| parse(&sent.bytes).ok());
    parsed
        .filter(|(header, _)| header.kind == Kind::Hello)
        .filter_map(|(header, payload)| Some((header, Setup::from_bytes(payload)?)))
        .collect()
}

fn has_lost(world: &World, host: usize, peer: usize, of: impl Fn(&Cause) -> bool) -> bool {
    let is_gone = |heard: &Heard| matches!(heard, Heard::Gone(who, cause) if *who == address(peer) && of(cause));
    world.hosts[host].memory.heard.iter().any(is_gone)
}

fn is_silent(cause: &Cause) -> bool {
    matches!(cause, Cause::Silent(_))
}

/// The one side is told the other's key, and that is enough for all that both want.
#[test]
fn one_of_them_has_to_know_the_others_key() {
    for first in [0, 1] {
        let other = 1 - first;
        let mut world = strangers(3);
        tell(&mut world, first, other, key(other));
        world.record();
        assert!(!world.send_system(first, other, b"hello"));
        world.run(Span::from_ms(10));
        assert_eq!(world.take_system(other), [b"hello"]);
        // The key that the other has for the first does not matter: there is a connection.
        tell(&mut world, other, first, OTHER);
        for (from, to) in [(other, first), (first, other)] {
            world.post(to, 1, 30_000);
            world.send_normal(from, to, 1, vec![from as u8; 30_000]);
            assert!(world.send_system(from, to, &[9; 5_000]));
            world.run(Span::from_ms(10));
            assert_eq!(world.take_system(to), [[9; 5_000]]);
        }
        let record = world.recorded();
        let id = JobKeys::derive(&key(other)).id();
        let said = hellos(&record, first);
        assert!(!said.is_empty() && said.iter().all(|(_, body)| body.job_id == id));
        assert!(hellos(&record, other).is_empty());
        assert_eq!(world.hosts[other].endpoint.drops().check, 0);
        for host in [0, 1] {
            world.close(host);
        }
        world.run(Span::from_ms(100));
        assert!(world.hosts.iter().all(|port| port.endpoint.is_drained()));
    }
}

/// [WIRE-4.6], with loss, copies, damage and overtaking.
#[test]
fn both_at_once_make_one_connection() {
    for seed in 0..400 {
        let mut world = acquainted(seed);
        world.set_faults(faults([0, 0, 100, 300][seed as usize % 4]));
        let (first, second) = ((seed % 2) as usize, (1 - seed % 2) as usize);
        world.send_system(first, second, b"a");
        world.run(Span::from_us(seed % 35));
        world.send_system(second, first, b"b");
        world.run(Span::from_ms(8_000));
        for host in [0, 1] {
            let port = &world.hosts[host];
            let count = |wanted: fn(&Heard) -> bool| port.memory.count(wanted);
            let told = [
                count(|heard| matches!(heard, Heard::Up(_))),
                count(|heard| matches!(heard, Heard::System { .. })),
                count(|heard| matches!(heard, Heard::Gone(..))),
            ];
            assert_eq!(told, [1, 1, 0], "seed {seed}: {:?}", port.memory.heard);
            assert_eq!(port.endpoint.depths().peers, 1);
        }
    }
}

/// [WIRE-10.1]. Whoever is refused may still be reached, and then reaches the other as well.
#[test]
fn a_wrong_key_is_refused_and_counted() {
    let mut world = acquainted(4);
    tell(&mut world, 0, 1, OTHER);
    world.send_system(0, 1, b"hello");
    world.run(Span::from_ms(100));
    let refused = Heard::Sent(1, 5, Err(OpError::KeyMismatch));
    assert_eq!(world.hosts[0].memory.take(), [refused]);
    assert!(world.hosts[1].memory.heard.is_empty());
    assert!(world.hosts[1].endpoint.drops().job > 0);
    assert_eq!(world.hosts[1].endpoint.depths().peers, 0);
    world.send_system(1, 0, b"here");
    world.run(Span::from_ms(10));
    assert_eq!(world.take_system(0), [b"here"]);
    world.send_system(0, 1, b"there");
    world.run(Span::from_ms(10));
    assert_eq!(world.take_system(1), [b"there"]);
}

/// A refusal that names another job than the HELLO did answers something else.
#[test]
fn a_refusal_of_another_key_is_not_believed() {
    let mut world = acquainted(5);
    world.record();
    world.cut(1);
    world.send_system(0, 1, b"hello");
    let (hello, _) = hellos(&world.recorded(), 0).remove(0);
    let mut refusal = Header::new(Kind::Refuse);
    refusal.to_connection = hello.from_connection;
    (refusal.from_port, refusal.to_port) = (hello.to_port, hello.from_port);
    refusal.length = 2;
    let ids = [key(0), key(1)].map(|key| JobKeys::derive(&key).id());
    for (id, is_believed) in ids.into_iter().zip([false, true]) {
        refusal.offset = id;
        for _ in 0..2 {
            world.hosts[0].receive(world.now.0, path(1).to, &refusal.to_bytes());
        }
        assert_eq!(world.hosts[0].memory.heard.is_empty(), !is_believed);
    }
}

/// The peer's process is another, with another key. Whoever has not been told ends with the old one by its silence, and
/// does not reach the new one.
#[test]
fn a_stale_key_leads_nowhere() {
    for first in [0, 1] {
        let mut world = acquainted(6);
        world.send_system(first, 1 - first, b"old");
        world.run(Span::from_ms(10));
        world.hosts[0].memory.take();
        world.restart_with(1, 200, &OTHER);
        world.record();
        let start = world.now;
        world.send_system(0, 1, b"lost");
        world.run_until(Span::from_ms(10_000), |world| {
            has_lost(world, 0, 1, is_silent)
        });
        assert!(world.now.since(start) < Span::from_ms(3_300));
        // Nobody was asked by a key that is not the new one's.
        assert!(hellos(&world.recorded(), 0).is_empty());
        world.hosts[0].memory.take();
        world.send_system(0, 1, b"again");
        world.run(Span::from_ms(100));
        let refused = |heard: &Heard| matches!(heard, Heard::Sent(_, 5, Err(OpError::KeyMismatch)));
        assert_eq!(world.hosts[0].memory.count(refused), 1);
        assert!(world.hosts[1].memory.heard.is_empty());
    }
}

/// The same when it has been told, whichever of the two had set up the connection, and if the key is the old one:
/// [WIRE-4.10].
#[test]
fn a_peer_that_restarts_with_a_known_key_is_a_new_peer() {
    for (first, new) in [(0, OTHER), (1, OTHER), (0, key(1)), (1, key(1))] {
        let mut world = acquainted(7);
        world.send_system(first, 1 - first, b"old");
        world.run(Span::from_ms(10));
        world.hosts[0].memory.take();
        world.restart_with(1, 200, &new);
        tell(&mut world, 0, 1, new);
        world.send_system(0, 1, b"lost");
        world.run(Span::from_ms(20));
        assert!(has_lost(&world, 0, 1, |cause| *cause == Cause::Restarted));
        world.send_system(0, 1, b"again");
        world.run(Span::from_ms(20));
        assert_eq!(world.take_system(1), [b"again"]);
    }
}

/// Whoever knows the key of our port cannot speak for a peer that has another: what it answers to our question is sealed
/// with the peer's.
#[test]
fn a_question_is_answered_with_the_key_of_whom_it_was_asked() {
    let mut world = acquainted(8);
    world.send_system(1, 0, b"old");
    world.run(Span::from_ms(10));
    world.hosts[0].memory.take();
    world.restart_with(1, 200, &key(1));
    world.record();
    world.send_system(0, 1, b"lost");
    // The datagram is there, and so is the refusal; the answer to the question is lost.
    world.run(Span::from_us(25));
    let (hello, body) = hellos(&world.recorded(), 0).remove(0);
    world.cut(1);
    let mut welcome = Header::new(Kind::Welcome);
    welcome.to_connection = hello.from_connection;
    (welcome.from_port, welcome.to_port) = (hello.to_port, hello.from_port);
    welcome.from_connection = 0x0001_0001;
    welcome.payload_len_bytes = Setup::LEN as u16;
    for (sealed_by, is_believed) in [(key(0), false), (OTHER, false), (key(1), true)] {
        let job = JobKeys::derive(&sealed_by);
        let body = Setup {
            job_id: job.id(),
            responder_incarnation: 200,
            token: 7,
            token_time: 7,
            ..body
        };
        let mut header: [u8; HEADER_LEN] = welcome.to_bytes();
        seal(&mut header, &body.to_bytes(), &job, job.setup());
        let datagram = [&header[..], &body.to_bytes()].concat();
        let now: Time = world.now;
        world.hosts[0].receive(now.0, path(1).to, &datagram);
        let was_restarted = has_lost(&world, 0, 1, |cause| *cause == Cause::Restarted);
        assert_eq!(was_restarted, is_believed);
    }
}

/// [MCP-1.4]: the interface program knows the key of NH of its port only.
#[test]
fn connections_by_anothers_key_are_not_entered() {
    for first in [0, 1] {
        let mut world = strangers(9);
        world.put_front(1, &key(1));
        tell(&mut world, first, 1 - first, key(1 - first));
        world.send_system(first, 1 - first, b"hello");
        world.run(Span::from_ms(5));
        for number in 0..50 {
            world.send_system(0, 1, &[number; 1_000]);
            world.send_system(1, 0, &[number; 1_000]);
            world.run(Span::from_ms(1));
        }
        let is_of_its_own_key = first == 0;
        assert_eq!(world.front().entered.len(), usize::from(is_of_its_own_key));
        for host in [0, 1] {
            let hello = usize::from(host != first);
            assert_eq!(world.take_system(host).len(), 50 + hello, "first {first}");
        }
        // And what comes by the socket is not taken for what came past the interface program.
        assert_eq!(world.hosts[1].endpoint.drops().bypass, 0);
    }
}
