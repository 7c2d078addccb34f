//! What happens is told once and in its order, whoever finds it out and whenever the program looks.

use std::time::Duration;

use bcl_tier::Tier;
use bcl_types::Cause;

use super::{End, Ports, Told, pair, wait_until};

const ROUNDS: u64 = 24;
const PER_ROUND: u64 = 8;

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

/// Messages come while the program looks, while it does not, and just as it begins to again. `let_others_find` waits until
/// threads of the library have found so many system messages, as far as they do.
pub fn nothing_is_lost_or_told_twice<P: Ports>(let_others_find: impl Fn(&End<P::Tier>, u64)) {
    let (mut me, mut peer) = pair::<P>();
    let to = me.address();
    for round in 0..ROUNDS {
        for number in round * PER_ROUND..(round + 1) * PER_ROUND {
            peer.send_system(to, 100, number);
            peer.send(to, 100, number);
            if round % 4 == 2 {
                me.poll();
            }
        }
        match round % 4 {
            0 => let_others_find(&me, (round + 1) * PER_ROUND),
            1 => me.poll(),
            _ => {}
        }
        peer.poll();
    }
    let all: Vec<_> = (0..ROUNDS * PER_ROUND).collect();
    wait_until(|| {
        peer.poll();
        me.poll();
        [system, normal]
            .iter()
            .all(|kind| me.program.numbers(kind).len() >= all.len())
    });
    assert_eq!(me.program.numbers(system), all);
    assert_eq!(me.program.numbers(normal), all);
    // Each meets its own buffer, whoever has told of it.
    for _ in &all {
        let op = me.accept(100);
        wait_until(|| {
            peer.poll();
            me.poll();
            me.program.heard(Told::Received(op, Ok(())))
        });
        assert_eq!(me.lent_last(), [1; 100]);
    }
    wait_until(|| {
        me.poll();
        peer.poll();
        peer.program.under_way() == 0
    });
}

/// What was sent arrives before the news that its sender has closed ([SEM-7.4]), though nobody has looked meanwhile.
pub fn messages_come_before_the_end_of_their_sender<P: Ports>(count: u64) {
    let (mut me, mut peer) = pair::<P>();
    for number in 0..count {
        assert_eq!(
            peer.send_system(me.address(), 10, number),
            None,
            "there is room"
        );
    }
    peer.is_closed = true;
    peer.tier.close(Duration::from_secs(30));
    me.poll_until(|program| program.farewell().is_some());
    let sent = (0..count).map(Told::System);
    let all: Vec<_> = sent.chain([Told::Gone(Cause::Closed)]).collect();
    assert_eq!(me.program.told, all);
}

/// So does one that meets a buffer posted before, and it ends well.
pub fn a_message_meets_its_buffer_before_the_end_of_its_sender<P: Ports>() {
    let (mut me, mut peer) = pair::<P>();
    let post = me.post(100);
    peer.send(me.address(), 100, 5);
    peer.send(me.address(), 100, 6);
    peer.is_closed = true;
    peer.tier.close(Duration::from_secs(30));
    me.poll_until(|program| program.farewell().is_some());
    let told = [
        Told::Arrived(5),
        Told::Arrived(6),
        Told::Received(post, Ok(())),
        Told::Withdrawn(1),
        Told::Gone(Cause::Closed),
    ];
    let mut in_order = me.program.told.clone();
    if in_order[1] == told[2] {
        // Told at once, where the payload comes along.
        in_order.swap(1, 2);
    }
    assert_eq!(in_order, told);
}

/// The same, and nobody has looked since before the connection.
pub fn the_connection_is_the_first_news<P: Ports>() {
    let (mut me, mut peer) = (P::open(), P::open());
    for number in 0..10 {
        peer.send_system(me.address(), 100, number);
    }
    peer.poll_until(|program| program.under_way() == 0);
    peer.is_closed = true;
    peer.tier.close(Duration::from_secs(30));
    me.poll_until(|program| program.farewell().is_some());
    let mut all = vec![Told::Up];
    all.extend((0..10).map(Told::System));
    all.push(Told::Gone(Cause::Closed));
    assert_eq!(me.program.told, all);
}

/// A send that is complete is no longer pending when the receiver closes ([SEM-4.3]), though its program has not looked since.
pub fn what_was_received_was_sent<P: Ports>(len_bytes: usize) {
    let (mut me, mut peer) = pair::<P>();
    let post = peer.post(len_bytes);
    let send = me.send(peer.address(), len_bytes, 0);
    peer.poll_until(|program| program.heard(Told::Received(post, Ok(()))));
    peer.is_closed = true;
    peer.tier.close(Duration::from_secs(30));
    me.poll_until(|program| program.farewell().is_some());
    let told = [Told::Sent(send, Ok(())), Told::Gone(Cause::Closed)];
    assert_eq!(me.program.told, told);
}
