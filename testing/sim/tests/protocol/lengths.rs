//! Datagrams are as long as the path takes, which nobody tells, and which changes.

use bcl_proto::{Action, Span};
use bcl_sim::net::{Faults, Rate};
use bcl_sim::port::Heard;
use bcl_types::Atomic;

use crate::world::{World, faults, path};

const JUMBO: u16 = 8960;

/// Two hosts whose routes take so much.
fn world(seed: u64, routes: [u16; 2]) -> World {
    let mut world = World::new(2, seed);
    for (host, bytes) in routes.into_iter().enumerate() {
        world.hosts[host].memory.route_bytes = Some(bytes);
        world.hosts[host].memory.windows.insert(3, vec![0; 200_000]);
    }
    world
}

fn contents(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (seed * 7 + at * 13) as u8).collect()
}

/// Sends so many bytes from a host to the other, which has a buffer for it.
fn send(world: &mut World, from: usize, seed: usize, len: usize) {
    world.post(1 - from, 1, len);
    world.send_normal(from, 1 - from, 1, contents(seed, len));
}

/// Waits until these messages have come to a host, all of them intact.
fn receive(world: &mut World, host: usize, seeds: impl IntoIterator<Item = usize>, len: usize) {
    let mut expected: Vec<Vec<u8>> = seeds.into_iter().map(|seed| contents(seed, len)).collect();
    let is_message = |news: &Heard| matches!(news, Heard::Received { .. });
    world.run_until(Span::from_ms(120_000), |world| {
        world.hosts[host].memory.count(is_message) == expected.len()
    });
    for news in world.hosts[host].memory.take() {
        if let Heard::Received { op, result, .. } = news {
            assert_eq!(result, Ok(()));
            let found = world.hosts[host].memory.back.remove(&op).expect("a buffer");
            let place = expected.iter().position(|expected| *expected == found);
            expected.swap_remove(place.expect("a message that was sent"));
        }
    }
}

fn datagram_bytes(world: &World, host: usize) -> u16 {
    let info = world.hosts[host].endpoint.peers().next();
    info.expect("a connection").datagram_bytes
}

fn gone(world: &World) -> usize {
    let is_gone = |news: &Heard| matches!(news, Heard::Gone(..));
    world
        .hosts
        .iter()
        .map(|host| host.memory.count(is_gone))
        .sum()
}

#[test]
fn a_path_that_takes_what_the_route_takes_is_used_in_full() {
    let mut world = world(1, [JUMBO; 2]);
    world.record();
    send(&mut world, 0, 1, 1_000_000);
    receive(&mut world, 1, [1], 1_000_000);
    let sent = world.recorded();
    assert!(sent.iter().filter(|sent| sent.bytes.len() == 8960).count() > 100);
    let probes = sent.iter().filter(|sent| sent.bytes[3] == 16).count();
    assert_eq!(probes, 2, "a small one and a padded one, once");
    assert_eq!(world.hosts[0].endpoint.traffic().retransmits, 0);
}

/// Not by timeouts: within a few round trips.
#[test]
fn a_path_that_never_took_what_the_route_takes_is_found_at_once() {
    let mut world = world(2, [JUMBO; 2]);
    world.set_paths([1400; 2]);
    send(&mut world, 0, 1, 100_000);
    let begun = world.now;
    receive(&mut world, 1, [1], 100_000);
    assert!(
        world.now.since(begun) < Span::from_ms(8),
        "{}",
        world.now.since(begun)
    );
    world.run(Span::from_ms(200));
    let found = datagram_bytes(&world, 0);
    assert!((1385..=1400).contains(&found), "{found}");
}

#[test]
fn a_path_that_becomes_narrow_under_way_loses_nothing() {
    for (seed, narrow) in [(3, 1372), (4, 1200), (5, 600), (6, 8000)] {
        let mut world = world(seed, [JUMBO; 2]);
        for message in 0..20 {
            send(&mut world, 0, message, 300_000);
            send(&mut world, 1, message, 300_000);
        }
        world.run_until(Span::from_ms(100), |world| {
            world.hosts[1].endpoint.traffic().bytes_in > 1_000_000
        });
        assert_eq!(datagram_bytes(&world, 0), JUMBO);
        world.set_paths([narrow; 2]);
        for host in [0, 1] {
            receive(&mut world, host, 0..20, 300_000);
            let found = usize::from(datagram_bytes(&world, host));
            assert!(found <= narrow, "{found} of {narrow}");
        }
        assert_eq!(gone(&world), 0);
        world.run(Span::from_ms(2_000));
        for host in [0, 1] {
            let found = usize::from(datagram_bytes(&world, host));
            assert!(found + 16 > narrow, "{found} of {narrow}");
        }
    }
}

/// Less than what every path takes: routers cut what may be cut, and an interface that is told nothing drops it.
#[test]
fn a_path_that_takes_less_than_every_path_should_is_no_end() {
    for (seed, narrow, is_cut) in [
        (21, 272, true),
        (22, 472, true),
        (23, 472, false),
        (24, 272, false),
    ] {
        for falls in [false, true] {
            let mut world = world(seed, [1472; 2]);
            world.set_cutting(is_cut);
            if !falls {
                world.set_paths([narrow; 2]);
            }
            for message in 0..10 {
                send(&mut world, 0, message, 70_000);
                send(&mut world, 1, message, 70_000);
            }
            if falls {
                world.run_until(Span::from_ms(100), |world| {
                    world.hosts[1].endpoint.traffic().bytes_in > 50_000
                });
                world.set_paths([narrow; 2]);
            }
            for host in [0, 1] {
                receive(&mut world, host, 0..10, 70_000);
                let found = usize::from(datagram_bytes(&world, host));
                assert!(found <= if is_cut { 508 } else { narrow }, "{found}");
            }
            assert_eq!(gone(&world), 0);
        }
    }
}

/// The window is full of packets that are too long: all of them go in pieces, some of which are lost.
#[test]
fn what_was_cut_before_goes_in_pieces_whatever_the_network_does() {
    for (seed, chance) in [(7, 0), (8, 10), (9, 100), (10, 300)] {
        let mut world = world(seed, [JUMBO; 2]);
        let adapt = |config: &mut bcl_proto::Config| config.dead_after = Span::from_ms(30_000);
        let mut patient = World::with(2, seed, |_, config| adapt(config));
        std::mem::swap(&mut world.hosts[0].endpoint, &mut patient.hosts[0].endpoint);
        std::mem::swap(&mut world.hosts[1].endpoint, &mut patient.hosts[1].endpoint);
        world.record();
        let messages = if chance < 300 { 8 } else { 2 };
        for message in 0..messages {
            send(&mut world, 0, message, 100_000);
        }
        world.run_until(Span::from_ms(100), |world| {
            world.hosts[1].endpoint.traffic().bytes_in > 50_000
        });
        world.set_faults(faults(chance));
        world.set_paths([1372; 2]);
        receive(&mut world, 1, 0..messages, 100_000);
        let sent = world.recorded();
        let pieces = sent.iter().filter(|sent| sent.bytes[3] == 19).count();
        assert!(pieces >= 8, "{pieces} pieces");
        assert_eq!(gone(&world), 0);
    }
}

/// The router says nothing, but our own kernel does.
#[test]
fn a_route_that_becomes_narrow_is_heeded_at_once() {
    let mut world = world(11, [JUMBO; 2]);
    send(&mut world, 0, 1, 1_000_000);
    world.run(Span::from_us(200));
    world.set_paths([1472; 2]);
    world.hosts[0].memory.route_bytes = Some(1472);
    world.act(0, |endpoint, now, memory| {
        endpoint.on_route(now, path(1).to.ip(), memory);
    });
    assert_eq!(datagram_bytes(&world, 0), 1472);
    receive(&mut world, 1, [1], 1_000_000);
    assert_eq!(datagram_bytes(&world, 0), 1472);
    assert_eq!(world.hosts[0].endpoint.traffic().timeouts, 0);
}

#[test]
fn a_path_that_becomes_wide_again_is_noticed_within_ten_minutes() {
    let mut world = world(12, [JUMBO; 2]);
    world.set_paths([1472; 2]);
    send(&mut world, 0, 1, 100_000);
    receive(&mut world, 1, [1], 100_000);
    world.run(Span::from_ms(1_000));
    assert!(datagram_bytes(&world, 0) <= 1472);
    world.set_paths([usize::MAX; 2]);
    world.run(Span::from_ms(601_000));
    assert_eq!(datagram_bytes(&world, 0), JUMBO);
}

/// Random loss takes long packets and short ones: the path is as wide as before, or nearly.
#[test]
fn loss_is_not_taken_for_narrowness() {
    for seed in 20..30 {
        let mut world = world(seed, [JUMBO; 2]);
        world.set_faults(Faults::loss(Rate::percent(5)));
        for message in 0..20 {
            send(&mut world, 0, message, 300_000);
        }
        receive(&mut world, 1, 0..20, 300_000);
        assert!(
            datagram_bytes(&world, 0) > 8900,
            "seed {seed}: {}",
            datagram_bytes(&world, 0)
        );
    }
}

/// What is read comes in parts if the owner cannot answer at such length; the way there takes more.
#[test]
fn windows_are_read_and_written_on_a_path_that_is_narrow_one_way() {
    for (seed, chance) in [(13, 0), (14, 100)] {
        let mut world = world(seed, [JUMBO; 2]);
        world.set_faults(faults(chance));
        let window = contents(3, 200_000);
        world.hosts[1].memory.windows.insert(3, window.clone());
        let len_bytes = 200_000;
        let before = world.rma(vec![0; 200_000], 3, 0, Action::Get { len_bytes });
        world.run(Span::from_us(100));
        world.set_paths([usize::MAX, 1400]);
        let after = world.rma(vec![0; 200_000], 3, 0, Action::Get { len_bytes });
        world.rma(contents(4, 200_000), 3, 0, Action::Put { len_bytes });
        world.rma(Vec::new(), 3, 0, Action::Atomic(Atomic::FetchAdd(1)));
        world.run_until(Span::from_ms(120_000), |world| {
            let is_end = |news: &Heard| matches!(news, Heard::Rma(_, _, Ok(())));
            world.hosts[0].memory.count(is_end) == 4
        });
        for op in [before, after] {
            assert!(world.hosts[0].memory.back[&op] == window);
        }
        assert!(world.hosts[1].memory.windows[&3][8..] == contents(4, 200_000)[8..]);
        assert_eq!(gone(&world), 0);
    }
}

/// Nothing of what was put together, or half so, stays behind.
#[test]
fn pieces_leave_no_memory_behind() {
    let mut world = world(15, [JUMBO; 2]);
    let memory = |world: &World| world.hosts[1].endpoint.depths().memory_bytes;
    for round in 0..50 {
        world.set_paths([usize::MAX; 2]);
        world.run(Span::from_ms(601_000));
        send(&mut world, 0, round, 300_000);
        world.run(Span::from_us(120));
        world.set_paths([1372; 2]);
        world.set_faults(Faults::loss(Rate::percent(5)));
        receive(&mut world, 1, [round], 300_000);
        world.set_faults(Faults::default());
        if round == 0 {
            println!("{} bytes", memory(&world));
        }
    }
    assert!(memory(&world) < 1 << 20, "{} bytes", memory(&world));
}
