//! Something is full: what is sent waits for room, in order, and nothing of it is lost.

use bcl_tier::Tier;
use bcl_types::EAGER_MAX;

use super::{ShmPort, Single};
use crate::DEFERRED_MAX;
use crate::engine::inbox::SYSTEM_CREDITS;
use crate::testing::{End, Told, pair, wait_until};

/// So often that what can move has moved.
const OFTEN: usize = 1000;

fn system(told: &Told) -> Option<u64> {
    match told {
        Told::System(number) => Some(*number),
        _ => None,
    }
}

fn normal(told: &Told) -> Option<u64> {
    match told {
        Told::Arrived(number) => Some(*number),
        _ => None,
    }
}

/// The program takes what it can, and gives nothing back.
fn hold(me: &mut End<ShmPort>, peer: &mut End<ShmPort>) {
    for _ in 0..OFTEN {
        me.tier.poll(&mut me.program);
        peer.poll();
    }
}

fn expect(
    me: &mut End<ShmPort>,
    peer: &mut End<ShmPort>,
    count: u64,
    kind: fn(&Told) -> Option<u64>,
) {
    wait_until(|| {
        me.poll();
        peer.poll();
        me.program.numbers(kind).len() as u64 >= count
    });
    let numbers = me.program.numbers(kind);
    let misplaced = (0..).zip(&numbers).find(|(place, number)| place != *number);
    assert_eq!((numbers.len() as u64, misplaced), (count, None));
}

#[test]
fn a_full_program_is_told_nothing_more() {
    let (mut me, mut peer) = pair::<Single>();
    let count = 300;
    for number in 0..count {
        peer.send_system(me.address(), 10, number);
        peer.send(me.address(), 10, number);
    }
    for told_max in 0..2 * count as usize {
        me.program.told_max = told_max;
        me.poll();
        peer.poll();
        assert!(me.program.told.len() <= told_max);
    }
    me.program.told_max = usize::MAX;
    expect(&mut me, &mut peer, count, system);
    expect(&mut me, &mut peer, count, normal);
}

/// Whatever the order in which messages are given back.
#[test]
fn credits_of_the_system_channel() {
    let (mut me, mut peer) = pair::<Single>();
    let count = 2 * SYSTEM_CREDITS + 10;
    for number in 0..count {
        peer.send_system(me.address(), 10, number);
    }
    hold(&mut me, &mut peer);
    assert_eq!(me.program.told.len() as u64, SYSTEM_CREDITS);
    let oldest = me.program.held.remove(0);
    for message in std::mem::take(&mut me.program.held) {
        me.release(&message);
    }
    hold(&mut me, &mut peer);
    assert_eq!(
        me.program.told.len() as u64,
        SYSTEM_CREDITS,
        "room comes back in order"
    );
    me.release(&oldest);
    // There is room now, but not for one that comes after those that wait.
    peer.send_system(me.address(), 10, count);
    expect(&mut me, &mut peer, count + 1, system);
    assert_eq!(peer.program.under_way(), 0);
}

/// What is given back makes room, be it ever so little.
#[test]
fn the_pool() {
    let (mut me, mut peer) = pair::<Single>();
    let count = 60;
    for number in 0..count {
        peer.send_system(me.address(), 2000, number);
    }
    hold(&mut me, &mut peer);
    let held = me.program.held.len();
    assert!(held as u64 <= 28 * 1024 / 2000);
    for message in me.program.held.drain(..2).collect::<Vec<_>>() {
        me.release(&message);
    }
    hold(&mut me, &mut peer);
    assert_eq!(me.program.held.len(), held, "two for two");
    expect(&mut me, &mut peer, count, system);
    assert_eq!(peer.program.under_way(), 0);
}

/// The ring is full, and then the memory for what the receiver keeps.
#[test]
fn the_stream_ring() {
    let (mut me, mut peer) = pair::<Single>();
    let count = 30;
    for number in 0..count {
        peer.send(me.address(), EAGER_MAX, number);
    }
    expect(&mut me, &mut peer, count, normal);
    for _ in 0..count {
        let op = me.accept(EAGER_MAX);
        wait_until(|| {
            me.poll();
            peer.poll();
            me.program.heard(Told::Received(op, Ok(())))
        });
        assert!(me.lent_last().iter().all(|byte| *byte == 1));
    }
    wait_until(|| {
        peer.poll();
        peer.program.under_way() == 0
    });
}

#[test]
fn messages_that_wait_for_a_buffer() {
    let (mut me, mut peer) = pair::<Single>();
    let count = DEFERRED_MAX as u64 + 100;
    let sends: Vec<_> = (0..count)
        .map(|number| peer.send(me.address(), 10, number))
        .collect();
    wait_until(|| {
        me.poll();
        peer.poll();
        me.program.waiting.len() >= DEFERRED_MAX
    });
    hold(&mut me, &mut peer);
    assert_eq!(me.program.waiting.len(), DEFERRED_MAX);
    let (&last, left) = sends.split_last().expect("there are some");
    assert!(peer.take_back(me.address(), last), "it has not left");
    assert!(!peer.take_back(me.address(), left[0]), "it has");
    let count = left.len() as u64;
    peer.send_system(me.address(), 10, 0);
    expect(&mut me, &mut peer, 1, system);
    for _ in 0..100 {
        me.accept(10);
    }
    expect(&mut me, &mut peer, count, normal);
    while !me.program.waiting.is_empty() {
        me.accept(10);
    }
    wait_until(|| {
        me.poll();
        peer.poll();
        peer.program.under_way() == 0
    });
    assert_eq!(me.program.under_way(), 0);
}
