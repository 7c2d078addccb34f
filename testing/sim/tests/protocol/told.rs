//! The node of a peer says that the peer's process has been killed ([WIRE-12.7]).

use bcl_proto::Span;
use bcl_sim::port::{Heard, PORT, address, first_address};
use bcl_types::{Cause, OpError};

use crate::world::{KEY, World};

const GONE: Cause = Cause::Killed(9);

/// Two that know each other and have interface programs; the second is killed.
fn world(seed: u64) -> World {
    let mut world = World::with_front(seed);
    world.put_front(0, &KEY);
    for (from, to) in [(0, 1), (1, 0)] {
        world.send_system(from, to, b"hello");
        world.run(Span::from_ms(5));
        assert_eq!(world.take_system(to), [b"hello"]);
    }
    world
}

/// What its agent says then.
fn last_words(world: &mut World) -> Vec<u8> {
    world.cut(1);
    let mut words = world.front().last_words(PORT);
    let (to, bytes) = words.pop().expect("the agent knows the connection");
    assert_eq!((to, words.len()), (first_address(0), 0));
    bytes
}

fn is_gone(world: &World) -> bool {
    let gone = Heard::Gone(address(1), GONE);
    world.hosts[0].memory.heard.contains(&gone)
}

#[test]
fn who_is_told_has_lost_the_peer_a_millisecond_later() {
    let mut world = world(1);
    world.hosts[0].memory.take();
    let bytes = last_words(&mut world);
    world.send_normal(0, 1, 1, vec![9; 10]);
    world.run(Span::from_us(100));
    world.inject(1, 0, bytes.clone());
    world.run(Span::from_us(900));
    assert!(!is_gone(&world), "something may be on its way");
    world.run(Span::from_us(200));
    assert!(is_gone(&world));
    let heard = world.hosts[0].memory.take();
    let failed = |heard: &Heard| matches!(heard, Heard::Sent(_, _, Err(OpError::PeerGone(GONE))));
    assert_eq!(heard.iter().filter(|heard| failed(heard)).count(), 1);
    // It is said again, and again.
    world.record();
    world.inject(1, 0, bytes);
    world.run(Span::from_ms(50));
    assert_eq!(world.hosts[0].memory.take(), []);
    assert_eq!(world.recorded().len(), 0, "nobody is answered");
}

#[test]
fn what_the_key_has_not_sealed_says_nothing() {
    let mut world = world(2);
    let bytes = last_words(&mut world);
    for byte in 0..bytes.len() {
        for bit in [1, 128] {
            let mut forged = bytes.clone();
            forged[byte] ^= bit;
            world.inject(1, 0, forged);
        }
    }
    world.run(Span::from_ms(20));
    assert!(!is_gone(&world));
    world.inject(1, 0, bytes);
    world.run(Span::from_ms(2));
    assert!(is_gone(&world));
}

/// The interface program has acknowledged it, and the process computes.
#[test]
fn what_was_acknowledged_before_arrives() {
    let mut world = world(3);
    world.hosts[0].memory.take();
    world.looks = false;
    for number in 0..20 {
        world.send_system(1, 0, &[number]);
    }
    world.run(Span::from_ms(5));
    let bytes = last_words(&mut world);
    world.inject(1, 0, bytes);
    world.run(Span::from_ms(20));
    assert!(!is_gone(&world), "there is something to read before");
    world.looks = true;
    world.flush(0);
    world.run(Span::from_ms(2));
    assert!(is_gone(&world));
    let messages = world.take_system(0);
    assert_eq!(messages.len(), 20);
}
