//! A program that takes nothing, or does not look: what comes stays with its sender, and comes once there is room.

use std::time::Duration;

use super::{Net, found};
use crate::testing::{End, Told, pair, wait_until};
use crate::{NetPort, deferred::NEWS_MAX};

/// More than is kept for a program.
const COUNT: u64 = 3 * NEWS_MAX as u64;

/// The peer sends, and more than may be kept has come as far as the port.
fn flood() -> (End<NetPort>, End<NetPort>) {
    let (me, mut peer) = pair::<Net>();
    for number in 0..COUNT {
        peer.send_system(me.address(), 100, number);
        peer.poll();
    }
    (me, peer)
}

fn numbers(me: &End<NetPort>) -> Vec<u64> {
    me.program.numbers(|told| match told {
        Told::System(number) => Some(*number),
        _ => None,
    })
}

fn expect_all(me: &mut End<NetPort>, peer: &mut End<NetPort>) {
    wait_until(|| {
        me.poll();
        peer.poll();
        numbers(me).len() as u64 >= COUNT && peer.program.under_way() == 0
    });
    assert_eq!(numbers(me), (0..COUNT).collect::<Vec<_>>());
}

#[test]
fn so_much_is_kept_for_a_silent_program_and_no_more() {
    let (mut me, mut peer) = flood();
    wait_until(|| {
        peer.poll();
        found(&me) >= NEWS_MAX as u64
    });
    // If more were kept, it would come now.
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
        peer.poll();
    }
    assert_eq!(found(&me), NEWS_MAX as u64);
    assert!(numbers(&me).is_empty());
    expect_all(&mut me, &mut peer);
}

/// The background thread may have looked for it, if it was not given a processor for long.
#[test]
fn a_full_program_is_told_no_more_than_what_is_kept_for_it() {
    let (mut me, mut peer) = pair::<Net>();
    me.program.told_max = 10;
    for number in 0..COUNT {
        peer.send_system(me.address(), 100, number);
        peer.poll();
        me.poll();
    }
    for _ in 0..1000 {
        peer.poll();
        me.poll();
    }
    assert!(found(&me) <= (10 + NEWS_MAX) as u64, "{}", found(&me));
    for told_max in (0..COUNT as usize).step_by(100) {
        me.program.told_max = told_max;
        me.poll();
        peer.poll();
    }
    me.program.told_max = usize::MAX;
    expect_all(&mut me, &mut peer);
}
