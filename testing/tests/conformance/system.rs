//! SEM-4: the system channel.

use bcl::{Error, Event, QUIET, SYSTEM_MAX, SystemMessage};
use bcl_testing::{Fixture, PortLike, Seat, conformance, contents};

pub fn hold<F: Fixture>(seat: &Seat<F>) -> SystemMessage {
    let event = seat.expect("a system message", |event| {
        matches!(event, Event::Message(_))
    });
    let Event::Message(message) = event else {
        unreachable!("it was picked as a message")
    };
    message
}

conformance! {
    /// SEM-4.1
    fn system_messages_of_all_lengths_come_in_order(world) {
        let (a, b) = world.pair();
        let lens = [0, 1, 47, 48, 49, 64, 4096, 5000, SYSTEM_MAX];
        for round in 0..40 {
            for (index, len) in lens.iter().enumerate() {
                let seed = (round * lens.len() + index) as u64;
                a.port().send_system(b.address, &contents::bytes(seed, *len), seed).unwrap();
            }
        }
        for seed in 0..40 * lens.len() as u64 {
            let (from, bytes) = b.message();
            assert_eq!((from, bytes.len()), (a.address, lens[seed as usize % lens.len()]));
            contents::check(seed, &bytes);
            assert_eq!(a.sent(seed).0, Ok(()));
        }
    }

    /// SEM-4.1
    fn a_longer_system_message_is_refused(world) {
        let (a, b) = world.pair();
        let refused = a.port().send_system(b.address, &[0; SYSTEM_MAX + 1], 1).unwrap_err();
        assert!(matches!(refused, Error::InvalidArgument(_)), "{refused}");
    }

    /// SEM-4.1
    fn messages_are_released_in_any_order_while_others_wait(world) {
        let (a, b) = world.pair();
        let third = world.open();
        let count = 600;
        for seed in 0..count {
            a.port().send_system(b.address, &contents::bytes(seed, 700), QUIET).unwrap();
        }
        let mut held: Vec<(u64, SystemMessage)> = (0..20).map(|seed| (seed, hold(&b))).collect();
        // The room of one sender is not that of another.
        third.meet_before_others(&b);
        let mut next = 20;
        let mut random = bcl_types::Random::new(1);
        while next < count || !held.is_empty() {
            b.serve();
            while let Some(Event::Message(message)) = b.find(|event| matches!(event, Event::Message(_))) {
                held.push((next, message));
                next += 1;
            }
            if !held.is_empty() {
                let (seed, message) = held.swap_remove(random.below(held.len() as u64) as usize);
                contents::check(seed, &b.port().copy_of(&message));
                b.port().release(message).unwrap();
            }
        }
    }

    /// SEM-9.1: nor can it be read once its own port is closed.
    fn a_message_of_another_port_is_not_read(world) {
        let (a, b) = world.pair();
        a.port().send_system(b.address, &[1; 3000], QUIET).unwrap();
        let message = hold(&b);
        assert_eq!(b.port().copy_of(&message), [1; 3000]);
        drop(b);
        assert!(a.port().copy_of(&message).is_empty());
        a.port().release(message).unwrap();
    }

    /// SEM-4.1
    fn data_may_be_changed_at_once(world) {
        let (a, b) = world.pair();
        let mut data = [1; 2000];
        for seed in 1..=100u8 {
            data.fill(seed);
            a.port().send_system(b.address, &data, QUIET).unwrap();
            data.fill(0);
        }
        for seed in 1..=100u8 {
            assert_eq!(b.message().1, vec![seed; 2000]);
        }
    }
}
