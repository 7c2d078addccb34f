//! SEM-4: normal channels.

use std::collections::BTreeSet;
use std::time::Duration;

use bcl::{Address, DmaBuffer, Error, Event, OpError, QUIET};
use bcl_testing::{Fixture, PortLike, Seat, conformance, contents};

use crate::system::hold;

conformance! {
    /// SEM-4.2
    fn messages_meet_posts_in_order(world) {
        let (a, b) = world.pair();
        let lens = [0, 1, 48, 49, 3000, 8192, 8193, 100_000, 3_000_000, 5];
        for round in 0..3 {
            for (index, len) in lens.iter().enumerate() {
                let seed = (round * lens.len() + index) as u64;
                // Some posts come first, some messages do.
                let post = || b.port().post(9, vec![0; 3_000_000], seed).unwrap();
                if index % 2 == 0 {
                    post();
                }
                a.port().send(b.address, 9, contents::bytes(seed, *len), seed).unwrap();
                if index % 3 == 0 {
                    a.serve();
                }
                if index % 2 == 1 {
                    post();
                }
            }
        }
        for seed in 0..3 * lens.len() as u64 {
            let (result, len, bytes) = b.received(seed);
            assert_eq!((result, len), (Ok(()), lens[seed as usize % lens.len()] as u64));
            contents::check(seed, &bytes[..len as usize]);
            assert_eq!(a.sent(seed).0, Ok(()));
        }
    }

    /// SEM-4.8: on all ways that a message can take, whether its buffer is there or not.
    fn immediate_data_come_with_messages(world) {
        let (a, b) = world.pair();
        let lens = [0, 8, 40, 41, 48, 49, 1500, 8192, 8193, 1_000_000];
        for (seed, len) in (1..).zip(lens) {
            let immediate = u64::MAX / seed;
            for (channel, is_posted) in [(1, true), (2, false)] {
                let post = || b.port().post(channel, vec![0; len], seed).unwrap();
                if is_posted {
                    post();
                }
                a.port()
                    .send_immediate(b.address, channel, contents::bytes(seed, len), immediate, seed)
                    .unwrap();
                if !is_posted {
                    b.serve_for(Duration::from_millis(2));
                    post();
                }
                assert_eq!(b.immediate_of_received(seed), immediate, "{len} bytes");
                assert_eq!(a.sent(seed).0, Ok(()));
            }
            let data = contents::bytes(seed, len.min(8192));
            a.port().send_system_immediate(b.address, &data, immediate, seed).unwrap();
            let message = hold(&b);
            assert_eq!(message.immediate(), immediate);
            assert_eq!(b.port().copy_of(&message), data);
            b.port().release(message).unwrap();
        }
        // Without them, nothing is told, whatever lay there before.
        a.port().send_system(b.address, &[1; 48], QUIET).unwrap();
        let message = hold(&b);
        assert_eq!(message.immediate(), 0);
        b.port().release(message).unwrap();
        b.port().post(1, vec![0; 8], 99).unwrap();
        a.port().send(b.address, 1, vec![9; 8], QUIET).unwrap();
        assert_eq!(b.immediate_of_received(99), 0);
    }

    /// SEM-4.2
    fn posts_serve_whoever_comes_first(world) {
        let (a, b) = world.pair();
        let c = world.open();
        for cookie in 0..2 {
            c.port().post(1, vec![0; 4], cookie).unwrap();
        }
        a.port().send(c.address, 1, b"from".to_vec(), 1).unwrap();
        assert_eq!(a.sent(1).0, Ok(()));
        b.port().send(c.address, 1, b"then".to_vec(), 1).unwrap();
        assert_eq!(c.received(0).2, b"from");
        assert_eq!(c.received(1).2, b"then");
        let (low, high) = (c.port().post(0, vec![1], 1), a.port().send(b.address, 0, vec![1], 1));
        assert!(matches!((low, high), (Err(Error::InvalidArgument(_)), Err(Error::InvalidArgument(_)))));
        a.port().send(c.address, 65535, vec![1], 5).unwrap();
        c.port().post(65535, vec![0], 5).unwrap();
        assert_eq!(c.received(5).0, Ok(()));
    }

    /// SEM-4.3: more than any ring, pool or list of the device holds wait on channel 1.
    fn messages_that_wait_hold_up_nothing_else(world) {
        let (a, b) = world.pair();
        for seed in 0..2000 {
            let len = if seed % 20 == 0 { 50_000 } else { 500 };
            a.port().send(b.address, 1, contents::bytes(seed, len), seed).unwrap();
        }
        a.serve_for(Duration::from_millis(5));
        b.port().post(2, vec![0; 100_000], 1).unwrap();
        a.port().send(b.address, 2, vec![2; 100_000], 5000).unwrap();
        assert_eq!(b.received(1), (Ok(()), 100_000, vec![2; 100_000]));
        assert_eq!(a.sent(5000).0, Ok(()));
        let c = world.open();
        a.meet(&c);
        a.meet(&b);
        assert!(a.find(|event| matches!(event, Event::Sent { channel: 1, .. })).is_none());
        for seed in 0..2000 {
            b.port().post(1, vec![0; 50_000], 10_000 + seed).unwrap();
        }
        for seed in 0..2000 {
            let (result, len, bytes) = b.received(10_000 + seed);
            assert_eq!(result, Ok(()));
            contents::check(seed, &bytes[..len as usize]);
            assert_eq!(a.sent(seed).0, Ok(()));
        }
    }

    /// SEM-4.4
    fn a_message_that_does_not_fit_is_an_error_on_both_sides(world) {
        let (a, b) = world.pair();
        let mut cookie = 0;
        for len in [11, 49, 8000, 9000, 1_000_000] {
            for post_first in [true, false] {
                let post = |cookie| b.port().post(3, vec![7; 10], cookie).unwrap();
                if post_first {
                    post(cookie);
                }
                a.port().send(b.address, 3, vec![1; len], cookie).unwrap();
                a.port().send(b.address, 3, vec![2; 10], cookie + 1).unwrap();
                a.serve_for(Duration::from_millis(1));
                if !post_first {
                    post(cookie);
                }
                post(cookie + 1);
                let truncated = OpError::Truncated { len_bytes: len as u64, capacity_bytes: 10 };
                assert_eq!(b.received(cookie), (Err(truncated), len as u64, vec![7; 10]));
                assert_eq!(a.sent(cookie).0, Err(truncated));
                assert_eq!(b.received(cookie + 1), (Ok(()), 10, vec![2; 10]));
                assert_eq!(a.sent(cookie + 1).0, Ok(()));
                cookie += 2;
            }
        }
    }

    /// SEM-4.5
    fn a_long_message_arrives_whole(world) {
        let (a, b) = world.pair();
        let len = 40_000_001;
        b.port().post(1, vec![0; len], 1).unwrap();
        a.port().send(b.address, 1, contents::bytes(5, len), 1).unwrap();
        let (result, found, bytes) = b.received(1);
        assert_eq!((result, found), (Ok(()), len as u64));
        contents::check(5, &bytes);
    }

    /// SEM-4.6
    fn a_post_can_be_canceled_until_a_message_meets_it(world) {
        let (a, b) = world.pair();
        b.port().post(1, vec![1; 4], 1).unwrap();
        b.port().post(1, vec![2; 4], 2).unwrap();
        b.port().cancel_post(1, 1).unwrap();
        assert_eq!(b.received(1), (Err(OpError::Canceled), 0, vec![1; 4]));
        a.port().send(b.address, 1, vec![9; 4], 1).unwrap();
        assert_eq!(b.received(2), (Ok(()), 4, vec![9; 4]));
        assert!(matches!(b.port().cancel_post(1, 2), Err(Error::NotFound(_))));
        assert!(matches!(b.port().cancel_post(5, 5), Err(Error::NotFound(_))));
    }

    /// SEM-4.9: nothing leaves before there is a connection. On the network a background thread may have made it by now,
    /// and the sends have begun: then they go on, and another port is tried.
    fn a_send_can_be_canceled_before_there_is_a_connection(world) {
        let a = world.open();
        let mut was_canceled = false;
        for _ in 0..100 {
            let b = world.open();
            for cookie in 0..3 {
                a.port().send(b.address, 1, vec![cookie as u8; 100], cookie).unwrap();
            }
            was_canceled = a.port().cancel_send(b.address, 1).is_ok();
            let again = a.port().cancel_send(b.address, 1);
            assert!(matches!(again, Err(Error::NotFound(_))));
            if was_canceled {
                assert_canceled(&a, 1, &[1; 100]);
            }
            let others: Vec<u64> = (0..3).filter(|cookie| *cookie != 1 || !was_canceled).collect();
            for cookie in others {
                b.port().post(1, vec![0; 100], cookie).unwrap();
                assert_eq!(b.received(cookie), (Ok(()), 100, vec![cookie as u8; 100]));
                assert_eq!(a.sent(cookie).0, Ok(()));
            }
            assert_no_end_of_a_send(&a);
            if was_canceled {
                break;
            }
        }
        assert!(was_canceled);
    }

    /// SEM-4.9, SEM-3.1: what is canceled does not end again when the attempt at a connection fails.
    fn a_send_to_nobody_ends_once(world) {
        let a = world.open();
        let nobody = Address { port: 1, ..a.address };
        for cookie in 0..2 {
            a.port().send(nobody, 1, vec![cookie as u8; 5], cookie).unwrap();
        }
        let expected = match a.port().cancel_send(nobody, 0) {
            Ok(()) => OpError::Canceled,
            Err(_) => OpError::NoPort,
        };
        assert_eq!(a.sent(0).0, Err(expected));
        assert_eq!(a.sent(1).0, Err(OpError::NoPort));
        assert!(matches!(a.port().cancel_send(nobody, 1), Err(Error::NotFound(_))));
        assert_no_end_of_a_send(&a);
    }

    /// SEM-4.9, SEM-4.2: more than the receiver has room for, which does not look meanwhile.
    fn sends_that_wait_for_room_can_be_canceled(world) {
        const COUNT: u64 = 3000;
        let (a, b) = world.pair();
        a.meet(&b);
        let len_of = |seed: u64| [8000, 100, 20_000][seed as usize % 3];
        let send = |seed, cookie| {
            let data = contents::bytes(seed, len_of(seed));
            a.port().send(b.address, 1, data, cookie).unwrap();
        };
        (0..COUNT).for_each(|seed| send(seed, seed));
        // Of those that are called the same the oldest is taken.
        send(COUNT, COUNT);
        send(COUNT + 1, COUNT);
        a.port().cancel_send(b.address, COUNT).unwrap();
        assert_canceled(&a, COUNT, &contents::bytes(COUNT, len_of(COUNT)));

        let canceled: BTreeSet<u64> = (0..COUNT)
            .step_by(2)
            .filter(|seed| a.port().cancel_send(b.address, *seed).is_ok())
            .collect();
        assert!(!canceled.contains(&0), "the first had all room");
        assert!(canceled.contains(&(COUNT - 2)), "the last had none");
        for seed in &canceled {
            assert_canceled(&a, *seed, &contents::bytes(*seed, len_of(*seed)));
        }
        let arrive = (0..COUNT).filter(|seed| !canceled.contains(seed)).chain([COUNT + 1]);
        let arrive: Vec<u64> = arrive.collect();
        for index in 0..arrive.len() as u64 {
            b.port().post(1, vec![0; 20_000], index).unwrap();
        }
        b.port().post(1, vec![0; 20_000], QUIET).unwrap();
        for (index, seed) in arrive.iter().enumerate() {
            let (result, len, bytes) = b.received(index as u64);
            assert_eq!((result, len), (Ok(()), len_of(*seed) as u64));
            contents::check(*seed, &bytes[..len as usize]);
            assert_eq!(a.sent((*seed).min(COUNT)).0, Ok(()));
        }
        assert_no_end_of_a_send(&a);
        b.port().cancel_post(1, QUIET).expect("nothing else has come");
    }

    /// SEM-4.9: as soon as the peer knows of it, be it only of its length.
    fn a_send_that_has_begun_goes_on(world) {
        let (a, b) = world.pair();
        a.meet(&b);
        for (seed, len) in [(1, 10), (2, 8192), (3, 1_000_000)] {
            a.port().send(b.address, 1, contents::bytes(seed, len), seed).unwrap();
            a.serve_for(Duration::from_millis(5));
            assert!(matches!(a.port().cancel_send(b.address, seed), Err(Error::NotFound(_))));
            b.port().post(1, vec![0; len], seed).unwrap();
            let (result, found, bytes) = b.received(seed);
            assert_eq!((result, found), (Ok(()), len as u64));
            contents::check(seed, &bytes);
            assert_eq!(a.sent(seed).0, Ok(()));
            assert!(matches!(a.port().cancel_send(b.address, seed), Err(Error::NotFound(_))));
        }
        let c = world.open();
        assert!(matches!(a.port().cancel_send(c.address, 1), Err(Error::NotFound(_))));
        let none = Address { port: 0, ..a.address };
        assert!(matches!(a.port().cancel_send(none, 1), Err(Error::InvalidArgument(_))));
    }

    /// SEM-4.2, SEM-6.1
    fn dma_buffers_are_sent_and_received_into(world) {
        let (a, b) = world.pair();
        for (cookie, len) in [1, 100, 70_000, 2_000_000].into_iter().enumerate() {
            let cookie = cookie as u64;
            let mut buffer = DmaBuffer::new(len).unwrap();
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.copy_from_slice(&contents::bytes(cookie, len));
            b.port().post(1, DmaBuffer::new(len).unwrap(), cookie).unwrap();
            a.port().send(b.address, 1, buffer, cookie).unwrap();
            let (result, found, bytes) = b.received(cookie);
            assert_eq!((result, found), (Ok(()), len as u64));
            contents::check(cookie, &bytes);
            assert_eq!(a.sent(cookie).1.unwrap().len(), len);
        }
    }
}

/// The send with this cookie has ended, and brought its memory back as it was.
fn assert_canceled<F: Fixture>(seat: &Seat<F>, cookie: u64, data: &[u8]) {
    let (result, buffer) = seat.sent(cookie);
    assert_eq!(result, Err(OpError::Canceled));
    assert_eq!(
        buffer.expect("sends bring their buffer back").into_vec(),
        data
    );
}

fn assert_no_end_of_a_send<F: Fixture>(seat: &Seat<F>) {
    seat.serve_for(Duration::from_millis(5));
    let end = seat.find(|event| matches!(event, Event::Sent { channel: 1, .. }));
    assert!(end.is_none(), "{end:?}");
}
