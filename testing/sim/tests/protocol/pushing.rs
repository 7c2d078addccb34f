//! Messages that leave before the receiver has asked for them.

use bcl_proto::Span;
use bcl_sim::port::Heard;

use crate::world::{World, faults};

const CHANNEL: u16 = 4;
const RTS: u8 = 5;
const BODY: u8 = 7;

fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number * 7 + at * 13) as u8).collect()
}

/// Two hosts, of which the second keeps nothing that it has no buffer for.
fn without_room(seed: u64) -> World {
    World::with(2, seed, |_, config| config.pool_bytes = 200)
}

/// Gives a buffer to a message that has begun to arrive, and waits for it.
fn receive(world: &mut World, len: usize) -> Vec<u8> {
    let patience = Span::from_ms(60_000);
    world.run_until(patience, |world| {
        world.hosts[1].memory.first_waiting(CHANNEL).is_some()
    });
    let op = world.post(1, CHANNEL, len);
    let is_end = |news: &Heard| matches!(news, Heard::Received { .. });
    world.run_until(patience, |world| world.hosts[1].memory.count(is_end) == 1);
    world.hosts[1].memory.take();
    world.hosts[1].memory.back.remove(&op).expect("a buffer")
}

fn kinds(world: &mut World, kind: u8) -> usize {
    let sent = world.recorded();
    world.record();
    sent.iter().filter(|sent| sent.bytes[3] == kind).count()
}

#[test]
fn what_finds_a_buffer_is_not_asked_for() {
    let mut world = World::new(2, 1);
    world.record();
    for (number, len) in [8_192, 8_193, 20_000, 65_536].into_iter().enumerate() {
        let op = world.post(1, CHANNEL, len);
        world.send_normal(0, 1, CHANNEL, content(number, len));
        world.run(Span::from_ms(5));
        assert_eq!(world.hosts[1].memory.back[&op], content(number, len));
        assert_eq!(kinds(&mut world, RTS), 0, "{len} bytes");
    }
    world.post(1, CHANNEL, 65_537);
    world.send_normal(0, 1, CHANNEL, content(9, 65_537));
    world.run(Span::from_ms(5));
    assert_eq!(kinds(&mut world, RTS), 1);
}

#[test]
fn what_finds_none_is_kept_and_not_sent_again() {
    let mut world = World::new(2, 2);
    world.record();
    world.send_normal(0, 1, CHANNEL, content(1, 50_000));
    world.run(Span::from_ms(5));
    assert_eq!(receive(&mut world, 50_000), content(1, 50_000));
    world.run(Span::from_ms(300));
    assert_eq!(kinds(&mut world, BODY), 0);
    let depths = world.hosts[1].endpoint.depths();
    assert_eq!((depths.unexpected, depths.pool_bytes), (0, 0));
}

#[test]
fn where_nothing_is_kept_messages_are_announced() {
    let mut world = without_room(3);
    world.record();
    for number in 0..12 {
        world.send_normal(0, 1, CHANNEL, content(number, 30_000));
        world.run(Span::from_ms(1));
        assert_eq!(receive(&mut world, 30_000), content(number, 30_000));
        let announced = kinds(&mut world, RTS);
        assert_eq!(
            announced,
            usize::from(number > 0),
            "after the first in vain"
        );
    }
}

/// It is asked for while its first packets are still under way: these must not count for it a second time.
#[test]
fn what_is_pushed_in_vain_comes_whole_on_bad_networks() {
    for seed in 0..300 {
        let mut world = without_room(seed);
        world.set_faults(faults(100));
        for (number, len) in [8_192, 50_000].into_iter().enumerate() {
            world.send_normal(0, 1, CHANNEL, content(number, len));
            let found = receive(&mut world, len);
            assert!(found == content(number, len), "seed {seed}, {len} bytes");
        }
    }
}

#[test]
fn a_port_with_an_interface_program_is_pushed_nothing_long() {
    let mut world = World::with_front(4);
    world.record();
    let op = world.post(1, CHANNEL, 20_000);
    world.send_normal(0, 1, CHANNEL, content(1, 20_000));
    world.run(Span::from_ms(20));
    assert_eq!(world.hosts[1].memory.back[&op], content(1, 20_000));
    assert_eq!(kinds(&mut world, RTS), 1);
}
