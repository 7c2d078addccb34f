//! SEM-4.7: messages that may be lost.

use std::collections::BTreeSet;
use std::time::Instant;

use bcl::{Address, Error, Event, QUIET};
use bcl_testing::{Fixture, PATIENCE, PortLike, Seat, conformance, contents};

/// The next message, if there is one already. It is released.
fn taken<F: Fixture>(seat: &Seat<F>) -> Option<Vec<u8>> {
    let is_message = |event: &Event| matches!(event, Event::Message(_));
    let Some(Event::Message(message)) = seat.find(is_message) else {
        return None;
    };
    let mut port = seat.port();
    let copy = port.copy_of(&message);
    port.release(message).expect("a message can be released");
    Some(copy)
}

/// Sends until one has arrived: any of them may be lost, and others may come late.
fn send_until_one_arrives<F: Fixture>(from: &Seat<F>, to: &Seat<F>, bytes: &[u8]) {
    let end = Instant::now() + PATIENCE;
    let mut has_come = false;
    while !has_come {
        from.port().send_unreliable(to.address, bytes).unwrap();
        to.serve();
        has_come = std::iter::from_fn(|| taken(to)).any(|copy| copy == bytes);
        let len = bytes.len();
        assert!(Instant::now() < end, "none of {len} bytes has come");
    }
}

conformance! {
    /// SEM-4.7
    fn unreliable_messages_of_all_lengths_arrive(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        let longest = a.port().unreliable_max(b.address).unwrap();
        assert!((1024..=bcl::SYSTEM_MAX).contains(&longest), "{longest}");
        for len in [0, 1, 48, 49, 1024, longest - 1, longest] {
            send_until_one_arrives(&a, &b, &contents::bytes(len as u64, len));
        }
    }

    /// SEM-4.7
    fn none_arrives_twice_and_none_is_told_of(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        let count = 2000;
        let mut seen = BTreeSet::new();
        for seed in 0..count {
            a.port().send_unreliable(b.address, &contents::bytes(seed, 64)).unwrap();
            b.serve();
            while let Some(copy) = taken(&b) {
                assert!(seen.insert(copy), "message {seed} at the latest came twice");
            }
        }
        let sent: BTreeSet<_> = (0..count).map(|seed| contents::bytes(seed, 64)).collect();
        assert!(!seen.is_empty() && seen.is_subset(&sent));
        assert!(a.find(|event| matches!(event, Event::Sent { .. })).is_none());
    }

    /// SEM-4.7
    fn a_longer_unreliable_message_is_refused(world) {
        let (a, b) = world.pair();
        // Before they have met, and then.
        for _ in 0..2 {
            let longest = a.port().unreliable_max(b.address).unwrap();
            let refused = a.port().send_unreliable(b.address, &vec![0; longest + 1]).unwrap_err();
            assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
            assert!(refused.to_string().contains(&longest.to_string()), "{refused}");
            a.meet(&b);
        }
    }

    /// SEM-4.7
    fn a_receiver_without_room_loses_unreliable_messages_and_no_others(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        // More than 4,096: as operations they would fill the queue.
        let count = 8000;
        for seed in 0..count {
            a.port().send_unreliable(b.address, &contents::bytes(seed, 700)).unwrap();
        }
        a.port().send_system(b.address, b"reliable", QUIET).unwrap();
        let mut arrived = 0;
        let is_last = |copy: &[u8]| copy == b"reliable";
        while !is_last(&b.message().1) {
            arrived += 1;
        }
        // Maybe none: those that wait for their turn are overtaken.
        assert!(arrived < count, "{arrived}");
        // There is room again.
        send_until_one_arrives(&a, &b, b"unreliable");
    }

    /// SEM-4.7
    fn the_first_unreliable_message_connects(world) {
        let (a, b) = world.pair();
        a.port().send_unreliable(b.address, b"who is there?").unwrap();
        a.peer_up(b.address);
        b.peer_up(a.address);
        send_until_one_arrives(&a, &b, b"it is me");
    }

    /// SEM-4.7
    fn to_nobody_nothing_happens(world) {
        let (a, b) = world.pair();
        let nobody = world.open().address;
        for _ in 0..100 {
            a.port().send_unreliable(nobody, b"anybody?").unwrap();
            a.serve();
        }
        assert!(a.find(|_| true).is_none());
        a.meet(&b);
    }

    /// SEM-4.7
    fn port_0_is_refused_for_unreliable_messages(world) {
        let a = world.open();
        let nowhere = Address { port: 0, ..a.address };
        let refused = a.port().send_unreliable(nowhere, b"").unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
        let refused = a.port().unreliable_max(nowhere).unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    }
}
