//! Messages arrive once, in order and intact, whatever the network does.

use bcl_proto::Span;
use bcl_sim::net::Faults;
use bcl_sim::port::{Heard, address};
use bcl_types::{Cause, LONG_SYSTEM_MAX, OpError, SYSTEM_MAX};

use crate::world::{KEY, World, faults};

/// The k-th system message from a host.
fn content(host: usize, k: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (host * 31 + k * 7 + i * 13) as u8)
        .collect()
}

fn len_of(k: usize) -> usize {
    [8, 0, 100, 1_408, 1_409, 5_000, 8_192][k % 7]
}

fn system_both_ways(seed: u64, faults: Faults, count: usize) -> World {
    let mut world = World::new(2, seed);
    world.set_faults(faults);
    let mut received = [0, 0];
    for k in 0..count {
        for (from, to) in [(0, 1), (1, 0)] {
            world.send_system(from, to, &content(from, k, len_of(k)));
        }
        world.run(Span::from_us(seed % 50));
    }
    world.run_until(Span::from_ms(60_000), |world| {
        for host in [0, 1] {
            for bytes in world.take_system(host) {
                let k = received[host];
                assert_eq!(bytes, content(1 - host, k, len_of(k)), "message {k}");
                received[host] += 1;
            }
        }
        received == [count, count]
    });
    world.run(Span::from_ms(5_000));
    for host in [0, 1] {
        assert!(world.take_system(host).is_empty());
        let depths = world.hosts[host].endpoint.depths();
        assert_eq!((depths.pending, depths.unreleased), (0, 0));
        assert_eq!((depths.pool_bytes, depths.stash_bytes), (0, 0));
    }
    world
}

#[test]
fn system_messages_on_a_good_network() {
    let world = system_both_ways(1, Faults::default(), 500);
    let traffic = world.hosts[0].endpoint.traffic();
    assert_eq!(
        (traffic.retransmits, traffic.duplicates),
        (0, 0),
        "{traffic:?}"
    );
}

#[test]
fn system_messages_on_bad_networks() {
    for seed in 0..100 {
        system_both_ways(seed, faults([10, 100, 300][seed as usize % 3]), 60);
    }
}

/// Normal messages of all lengths on several channels, posted early and late.
fn normal_messages(seed: u64, faults: Faults, count: usize) {
    let mut world = World::new(2, seed);
    world.set_faults(faults);
    let lens = [8, 0, 1_500, 8_192, 8_193, 40_000, 300_000];
    let channel_of = |k: usize| 1 + (k % 3) as u16;
    let mut posts = Vec::new();
    let mut post = |world: &mut World, k: usize| {
        let op = world.post(1, channel_of(k), 300_000);
        posts.push((op, k));
    };
    for k in 0..count / 2 {
        post(&mut world, k);
    }
    for k in 0..count {
        let bytes = content(0, k, lens[k % lens.len()]);
        world.send_normal(0, 1, channel_of(k), bytes);
    }
    world.run(Span::from_ms(seed % 20));
    for k in count / 2..count {
        post(&mut world, k);
        world.run(Span::from_us(seed * 10));
    }
    let is_end = |news: &Heard| matches!(news, Heard::Received { .. });
    let is_sent = |news: &Heard| matches!(news, Heard::Sent(..));
    world.run_until(Span::from_ms(120_000), |world| {
        world.hosts[1].memory.count(is_end) == count
            && world.hosts[0].memory.count(is_sent) == count
    });
    for news in world.hosts[1].memory.take() {
        if let Heard::Received {
            op,
            channel,
            len_bytes,
            result,
            ..
        } = news
        {
            assert_eq!(result, Ok(()));
            let k = posts.iter().find(|(post, _)| *post == op).unwrap().1;
            assert_eq!(channel, channel_of(k));
            let expected = content(0, k, lens[k % lens.len()]);
            assert_eq!(len_bytes, expected.len() as u64, "message {k}");
            assert!(world.hosts[1].memory.back[&op].starts_with(&expected));
        }
    }
    for news in world.hosts[0].memory.take() {
        if let Heard::Sent(_, _, result) = news {
            assert_eq!(result, Ok(()));
        }
    }
    world.run(Span::from_ms(300));
    let depths = world.hosts[1].endpoint.depths();
    assert_eq!(
        (depths.unexpected, depths.pool_bytes, depths.stash_bytes),
        (0, 0, 0)
    );
    assert_eq!(world.hosts[0].endpoint.depths().pending, 0);
}

#[test]
fn normal_messages_on_a_good_network() {
    normal_messages(3, Faults::default(), 60);
}

#[test]
fn normal_messages_on_bad_networks() {
    for seed in 0..100 {
        normal_messages(seed, faults([10, 100, 300][seed as usize % 3]), 28);
    }
}

#[test]
fn a_message_too_long_is_an_error_on_both_sides() {
    for len in [100, 8_000, 50_000] {
        let mut world = World::new(2, 5);
        let [first, second] = [(); 2].map(|()| world.post(1, 9, 50));
        for bytes in [vec![1; len], vec![2; 40]] {
            world.send_normal(0, 1, 9, bytes);
        }
        world.run(Span::from_ms(200));
        let error = Err(OpError::Truncated {
            len_bytes: len as u64,
            capacity_bytes: 50,
        });
        let sent: Vec<_> = world.hosts[0]
            .memory
            .take()
            .into_iter()
            .filter_map(|news| match news {
                Heard::Sent(_, len, result) => Some((len, result)),
                _ => None,
            })
            .collect();
        assert_eq!(sent, [(len as u64, error), (40, Ok(()))]);
        assert_eq!(world.hosts[1].memory.back[&first], [0; 50]);
        assert!(world.hosts[1].memory.back[&second].starts_with(&[2; 40]));
    }
}

#[test]
fn a_full_receiver_delays_and_loses_nothing() {
    let mut world = World::with(2, 1, |_, config| config.pool_bytes = 64 << 10);
    world.set_faults(faults(20));
    let mut held = Vec::new();
    for k in 0..200 {
        world.send_system(0, 1, &content(0, k, 3_000));
    }
    let mut next = 0;
    for _ in 0..2_000 {
        world.run(Span::from_us(500));
        for news in world.hosts[1].memory.take() {
            if let Heard::System { handle, .. } = news {
                let bytes = world.hosts[1].endpoint.data(&handle).to_vec();
                assert_eq!(bytes, content(0, next, 3_000));
                next += 1;
                held.push(handle);
            }
        }
        // Most of the pool stays taken; any may be released first.
        if held.len() > 1 {
            let index = world.random.index(held.len());
            let handle = held.swap_remove(index);
            assert!(world.hosts[1].endpoint.release(&handle));
        }
        assert!(world.hosts[1].endpoint.depths().pool_bytes <= 64 << 10);
    }
    assert_eq!(next, 200);
    assert!(world.hosts[1].endpoint.traffic().refusals_out > 0);
}

#[test]
fn a_program_that_takes_no_events_holds_up_its_senders() {
    let mut world = World::new(2, 1);
    world.send_system(0, 1, b"up");
    world.run(Span::from_ms(5));
    world.take_system(1);
    world.hosts[1].memory.most_events = 0;
    for k in 0..50 {
        world.send_system(0, 1, &content(0, k, 500));
    }
    world.run(Span::from_ms(300));
    assert!(world.take_system(1).is_empty());
    world.hosts[1].memory.most_events = usize::MAX;
    world.run(Span::from_ms(100));
    let taken = world.take_system(1);
    assert_eq!(taken.len(), 50);
    for (k, bytes) in taken.iter().enumerate() {
        assert_eq!(*bytes, content(0, k, 500));
    }
}

#[test]
fn channels_and_classes_do_not_hold_up_each_other() {
    let mut world = World::new(2, 1);
    for (channel, len) in [(1, 100_000), (2, 100), (3, 20_000)] {
        world.send_normal(0, 1, channel, vec![channel as u8; len]);
    }
    world.send_system(0, 1, b"system");
    world.post(1, 3, 20_000);
    world.run(Span::from_ms(50));
    let news = world.hosts[1].memory.take();
    assert!(news.iter().any(|news| matches!(news, Heard::System { .. })));
    let received = |news: &Heard| matches!(news, Heard::Received { channel: 3, .. });
    assert!(news.iter().any(received));
    assert_eq!(world.hosts[1].endpoint.depths().unexpected, 2);
}

#[test]
fn unreliable_messages_come_at_most_once() {
    let mut world = World::new(2, 9);
    world.send_system(0, 1, b"up");
    world.run(Span::from_ms(5));
    world.take_system(1);
    world.set_faults(faults(200));
    let mut seen = std::collections::BTreeSet::new();
    for k in 0u32..500 {
        world.act(0, |endpoint, now, memory| {
            assert!(endpoint.send_unreliable(now, address(1), &k.to_le_bytes(), memory));
        });
        world.run(Span::from_us(20));
        for (bytes, immediate) in world.take_messages(1) {
            assert_eq!(immediate, 0, "they have none");
            assert!(seen.insert(bytes), "twice");
        }
    }
    assert!((250..500).contains(&seen.len()), "{}", seen.len());
}

fn system_max(world: &mut World, from: usize, to: usize) -> usize {
    world.hosts[from].endpoint.system_max(address(to))
}

#[test]
fn long_system_messages_arrive_as_others_do() {
    const LENS: [usize; 5] = [LONG_SYSTEM_MAX, 10, SYSTEM_MAX + 1, 16_400, 8];
    for seed in 0..60 {
        let mut world = World::with(2, seed, |_, config| config.takes_long = true);
        assert_eq!(system_max(&mut world, 0, 1), SYSTEM_MAX, "no contact yet");
        world.send_system(0, 1, b"up");
        world.run(Span::from_ms(20));
        world.take_system(1);
        assert_eq!(system_max(&mut world, 0, 1), LONG_SYSTEM_MAX);
        world.set_faults(faults([0, 50, 300][seed as usize % 3]));
        for (k, len) in LENS.into_iter().cycle().enumerate().take(40) {
            world.send_system(0, 1, &content(0, k, len));
            world.run(Span::from_us(seed));
        }
        let mut received = 0;
        world.run_until(Span::from_ms(60_000), |world| {
            for bytes in world.take_system(1) {
                let expected = content(0, received, LENS[received % LENS.len()]);
                assert!(bytes == expected, "seed {seed}, message {received}");
                received += 1;
            }
            received == 40
        });
    }
}

/// Who counts on the usual limit gets nothing longer, whatever a peer says of itself.
#[test]
fn a_long_system_message_to_another_port_breaks_the_protocol() {
    let mut world = World::with(2, 4, |host, config| config.takes_long = host == 0);
    world.send_system(0, 1, b"up");
    world.run(Span::from_ms(20));
    assert_eq!(system_max(&mut world, 1, 0), SYSTEM_MAX);
    world.send_system(0, 1, &content(0, 0, SYSTEM_MAX + 1));
    world.run(Span::from_ms(20));
    let gone = Heard::Gone(address(0), Cause::Protocol);
    assert!(world.hosts[1].memory.heard.contains(&gone));
    assert_eq!(world.take_system(1), [b"up"]);
}

#[test]
fn a_port_with_an_interface_program_takes_no_long_ones() {
    let mut world = World::with(2, 4, |_, config| config.takes_long = true);
    world.put_front(1, &KEY);
    world.send_system(0, 1, b"up");
    world.run(Span::from_ms(20));
    assert_eq!(world.take_system(1), [b"up"]);
    assert_eq!(system_max(&mut world, 0, 1), SYSTEM_MAX);
}
