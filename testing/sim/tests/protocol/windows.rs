//! One-sided operations take effect once and in order, whatever the network does.

use bcl_proto::{Action, Span};
use bcl_sim::net::{Faults, Rate};
use bcl_sim::port::Heard;
use bcl_types::{Atomic, OpError, OpId};

use crate::world::{World, faults};

fn put(world: &mut World, offset: u64, bytes: Vec<u8>) -> OpId {
    let len_bytes = bytes.len() as u64;
    world.rma(bytes, 3, offset, Action::Put { len_bytes })
}

fn get(world: &mut World, offset: u64, len_bytes: u64) -> OpId {
    world.rma(
        vec![0; len_bytes as usize],
        3,
        offset,
        Action::Get { len_bytes },
    )
}

fn add(world: &mut World, offset: u64, value: u64) -> OpId {
    let action = Action::Atomic(Atomic::FetchAdd(value));
    world.rma(Vec::new(), 3, offset, action)
}

/// Waits for so many operations to end; how, in the order of their ends.
fn ends(world: &mut World, count: usize) -> Vec<(OpId, u64, Result<(), OpError>)> {
    let is_end = |news: &Heard| matches!(news, Heard::Rma(..));
    world.run_until(Span::from_ms(120_000), |world| {
        world.hosts[0].memory.count(is_end) >= count
    });
    let news = world.hosts[0].memory.take();
    news.into_iter()
        .filter_map(|news| match news {
            Heard::Rma(op, value, result) => Some((op, value, result)),
            _ => None,
        })
        .collect()
}

fn world(seed: u64, faults: Faults, window_bytes: usize) -> World {
    let mut world = World::new(2, seed);
    world.set_faults(faults);
    world.hosts[1]
        .memory
        .windows
        .insert(3, vec![0; window_bytes]);
    world
}

/// Random operations against a model; each sees what those before it have done.
fn operations(seed: u64, faults: Faults, count: usize) {
    const WINDOW: u64 = 20_000;
    let mut world = world(seed, faults, WINDOW as usize);
    let mut model = vec![0u8; WINDOW as usize];
    let mut expected = Vec::new();
    for k in 0..count {
        let len = [1, 8, 1_400, 1_500, 9_000][world.random.index(5)];
        let offset = (world.random.below(WINDOW - len)) & !7;
        let range = offset as usize..(offset + len) as usize;
        match world.random.below(3) {
            0 => {
                let bytes: Vec<u8> = (0..len).map(|i| (k as u64 + i * 3) as u8).collect();
                model[range].copy_from_slice(&bytes);
                expected.push((put(&mut world, offset, bytes), 0, None));
            }
            1 => {
                let seen = model[range].to_vec();
                expected.push((get(&mut world, offset, len), 0, Some(seen)));
            }
            _ => {
                let word = &mut model[offset as usize..offset as usize + 8];
                let old = u64::from_le_bytes(word.try_into().unwrap());
                word.copy_from_slice(&old.wrapping_add(k as u64).to_le_bytes());
                expected.push((add(&mut world, offset, k as u64), old, None));
            }
        }
        world.run(Span::from_us(seed % 40));
    }
    let ends = ends(&mut world, count);
    for (op, value, seen) in expected {
        let end = ends.iter().find(|end| end.0 == op).expect("an end");
        assert_eq!(end.2, Ok(()));
        if let Some(seen) = seen {
            assert!(world.hosts[0].memory.back[&op] == seen, "get {op}");
        } else {
            assert_eq!(end.1, value);
        }
    }
    assert!(world.hosts[1].memory.windows[&3] == model);
    world.run(Span::from_ms(3_000));
    assert_eq!(world.hosts[0].endpoint.depths().pending, 0);
}

#[test]
fn on_a_good_network() {
    operations(1, Faults::default(), 300);
}

#[test]
fn on_bad_networks() {
    for seed in 0..100 {
        operations(seed, faults([10, 100, 300][seed as usize % 3]), 60);
    }
}

// WIRE-11.5
#[test]
fn what_a_long_read_has_lost_is_asked_for_again_without_a_timeout() {
    const LEN: usize = 512 << 10;
    let mut world = world(5, Faults::default(), LEN);
    let read = |world: &mut World| {
        let begin = world.now;
        get(world, 0, LEN as u64);
        assert_eq!(ends(world, 1)[0].2, Ok(()));
        world.now.since(begin)
    };
    // Connected, and with a round trip.
    let quick = (0..10).map(|_| read(&mut world)).min();
    world.set_faults(Faults::loss(Rate::percent(1)));
    let mut times: Vec<Span> = (0..21).map(|_| read(&mut world)).collect();
    times.sort_unstable();
    assert!(times[10] < quick.unwrap().times(4), "{times:?}");
}

#[test]
fn long_ones() {
    for chance in [0, 50] {
        let mut world = world(1, faults(chance), 3_000_000);
        let bytes: Vec<u8> = (0..3_000_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        put(&mut world, 0, bytes.clone());
        let read = get(&mut world, 0, 3_000_000);
        let ends = ends(&mut world, 2);
        assert!(ends.iter().all(|end| end.2 == Ok(())));
        assert!(world.hosts[0].memory.back[&read] == bytes);
    }
}

#[test]
fn refused_accesses_touch_nothing() {
    let mut world = world(1, Faults::default(), 10_000);
    put(&mut world, 9_000, vec![1; 5_000]);
    get(&mut world, 9_999, 2);
    world.rma(vec![1; 8], 4, 0, Action::Put { len_bytes: 8 });
    add(&mut world, 9_996, 1);
    put(&mut world, u64::MAX, vec![1; 2]);
    get(&mut world, 0, 5_000);
    let mut ended = ends(&mut world, 6);
    ended.sort_by_key(|end| end.0);
    let results: Vec<_> = ended.iter().map(|end| end.2).collect();
    let range = Err(OpError::RmaRange);
    assert_eq!(
        results,
        [range, range, Err(OpError::NoWindow), range, range, Ok(())]
    );
    assert!(
        world.hosts[1].memory.windows[&3]
            .iter()
            .all(|byte| *byte == 0)
    );
    world.hosts[1].memory.read_only = true;
    put(&mut world, 0, vec![1; 8]);
    assert_eq!(ends(&mut world, 1)[0].2, Err(OpError::RmaDenied));
}

/// WIRE-11.3
#[test]
fn a_put_to_a_window_that_was_unbound_meanwhile_fails() {
    let mut world = world(1, Faults::default(), 1 << 20);
    put(&mut world, 0, vec![1; 1 << 20]);
    world.run(Span::from_us(300));
    let written = |world: &World| {
        let bytes = world.hosts[1].memory.windows[&3].iter();
        bytes.filter(|byte| **byte == 1).count()
    };
    let before = written(&world);
    assert!(before > 0 && before < 1 << 20, "{before}");
    // Bound anew at once, to the same memory.
    world.act(1, |endpoint, _, _| endpoint.on_unbound(3));
    assert_eq!(ends(&mut world, 1)[0].2, Err(OpError::NoWindow));
    assert_eq!(written(&world), before);
    put(&mut world, 0, vec![1; 1 << 20]);
    assert_eq!(ends(&mut world, 1)[0].2, Ok(()));
}

#[test]
fn nothing_at_all_is_an_operation_too() {
    let mut world = world(1, Faults::default(), 16);
    put(&mut world, 16, Vec::new());
    get(&mut world, 16, 0);
    let ends = ends(&mut world, 2);
    assert!(ends.iter().all(|end| end.2 == Ok(())));
    let notices = world.hosts[1].memory.take();
    assert!(notices.contains(&Heard::Put(16, 0)));
}

#[test]
fn a_swap_compares() {
    let mut world = world(1, Faults::default(), 8);
    for (expected, new) in [(0, 5), (0, 9), (5, 6)] {
        let action = Action::Atomic(Atomic::CompareSwap { expected, new });
        world.rma(Vec::new(), 3, 0, action);
    }
    let values: Vec<u64> = ends(&mut world, 3).iter().map(|end| end.1).collect();
    assert_eq!(values, [0, 5, 5]);
    assert_eq!(world.hosts[1].memory.windows[&3][0], 6);
}
