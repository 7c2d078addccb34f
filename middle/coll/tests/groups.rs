//! Members of one process, each a thread: what they do together is compared with what it should be.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use bcl_bbp::Options;
use bcl_coll::{Atomic, BarrierWay, CONTEXT_MAX, Datum, Error, Function, Group, Team};
use bcl_types::Random;

struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    fn join(&self, member: u16, members: u16) -> Team {
        let options = Options::new("test").members(members).member(member);
        Team::join(options.folder(self.0.path())).expect("it can be joined")
    }

    /// Each member does something, all at the same time.
    fn all_do(members: u16, what: impl Fn(Team) + Sync) {
        let world = Self::new();
        let come = Barrier::new(usize::from(members));
        thread::scope(|scope| {
            for member in 0..members {
                let (world, what, come) = (&world, &what, &come);
                scope.spawn(move || {
                    let team = world.join(member, members);
                    come.wait();
                    what(team);
                });
            }
        });
    }
}

fn bytes_of(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).bytes(len)
}

const LENGTHS: [usize; 8] = [0, 1, 8, 33, 1000, 16 << 10, (16 << 10) + 1, 200_000];

#[test]
fn a_broadcast_of_any_root_and_length_comes_to_all() {
    World::all_do(5, |team| {
        let all = team.everybody().unwrap();
        for (turn, len) in LENGTHS.into_iter().cycle().take(40).enumerate() {
            let root = turn % 5;
            let sent = bytes_of(turn as u64, len);
            let mut data = match all.rank() == root {
                true => sent.clone(),
                false => vec![0; len],
            };
            all.broadcast(root, &mut data).unwrap();
            assert!(data == sent, "broadcast {turn}");
        }
    });
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for members in [1, 2, 3, 4, 7, 18] {
        let come = Mutex::new(0);
        World::all_do(members, |team| {
            let all = team.everybody().unwrap();
            let size = all.size();
            for turn in 1..=30 {
                *come.lock().unwrap() += 1;
                match turn % 3 {
                    0 => all.barrier().unwrap(),
                    1 => all.barrier_by(BarrierWay::Coordinator).unwrap(),
                    _ => all.barrier_by(BarrierWay::Dissemination).unwrap(),
                }
                let seen = *come.lock().unwrap();
                assert!(seen >= turn * size, "{seen} of {members} in barrier {turn}");
                all.barrier().unwrap();
            }
        });
    }
}

#[test]
fn all_get_what_each_has() {
    World::all_do(4, |team| {
        let all = team.everybody().unwrap();
        for (turn, len) in LENGTHS.into_iter().enumerate() {
            let of = |rank: usize| bytes_of((turn * 10 + rank) as u64, len);
            let mut gathered = vec![0; 4 * len];
            all.allgather(&of(all.rank()), &mut gathered).unwrap();
            let expected: Vec<u8> = (0..4).flat_map(of).collect();
            assert!(gathered == expected, "allgather {turn}");
        }
        let wrong = all.allgather(&[1, 2], &mut [0; 7]);
        assert!(matches!(wrong, Err(Error::InvalidArgument(_))));
    });
}

/// What becomes of two.
type With = fn(f64, f64) -> f64;

fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| random.below(1 << 20) as f64 / 7.0 - 1e4)
        .collect()
}

fn to_bytes(numbers: &[f64]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect()
}

/// In the order of ranks, so that rounding is the same everywhere and each time.
fn combined(size: usize, of: impl Fn(usize) -> Vec<f64>, with: With) -> Vec<f64> {
    let first = of(0);
    (1..size).fold(first, |result, rank| {
        let pairs = result.into_iter().zip(of(rank));
        pairs.map(|(a, b)| with(a, b)).collect()
    })
}

#[test]
fn a_reduction_is_the_same_everywhere_to_the_last_bit() {
    for members in [1, 2, 5, 9] {
        World::all_do(members, |team| {
            let all = team.everybody().unwrap();
            let size = all.size();
            let functions: [(Function, With); 3] = [
                (Function::Sum, |a, b| a + b),
                (Function::Max, f64::max),
                (Function::Product, |a, b| a * b),
            ];
            for (turn, count) in [1, 4, 256, 300, 5000].into_iter().enumerate() {
                for (function, with) in functions {
                    let of = |rank: usize| numbers((turn * 100 + rank) as u64, count);
                    let expected = to_bytes(&combined(size, of, with));
                    let atomic = Atomic::new(function, Datum::F64).unwrap();
                    let mut data = to_bytes(&of(all.rank()));
                    all.allreduce(atomic, &mut data).unwrap();
                    assert!(data == expected, "{function:?} of {count}");
                    let root = turn % size;
                    let own = to_bytes(&of(all.rank()));
                    let mut data = own.clone();
                    all.reduce(root, atomic, &mut data).unwrap();
                    let is_root = all.rank() == root;
                    assert!(data == if is_root { expected } else { own });
                }
            }
        });
    }
}

#[test]
fn groups_of_all_sorts_do_things_at_the_same_time() {
    const MEMBERS: u16 = 6;
    World::all_do(MEMBERS, |team| {
        // The same for all: members in any order, each group with a context.
        let mut random = Random::new(4);
        let groups: Vec<Vec<u16>> = (0..8)
            .map(|_| {
                let mut members: Vec<u16> = (0..MEMBERS).collect();
                (1..members.len())
                    .rev()
                    .for_each(|last| members.swap(last, random.index(last + 1)));
                members.truncate(random.between(1, MEMBERS.into()) as usize);
                members
            })
            .collect();
        let own = team.member();
        thread::scope(|scope| {
            for (number, members) in groups.iter().enumerate() {
                if !members.contains(&own) {
                    continue;
                }
                let group = team.group(members, number as u32 + 1).unwrap();
                scope.spawn(move || do_some(&group, number as u64));
            }
        });
    });
}

/// Calls that follow from a seed.
fn do_some(group: &Group, seed: u64) {
    let mut random = Random::new(seed);
    let size = group.size();
    let sum = Atomic::new(Function::Sum, Datum::U64).unwrap();
    for turn in 0..60_u64 {
        let (root, len) = (random.index(size), 8 * random.index(300));
        let of = |rank: usize| bytes_of(seed << 32 | turn << 8 | rank as u64, len);
        let mut data = of(group.rank());
        match random.below(4) {
            0 => group.barrier().unwrap(),
            1 => {
                group.broadcast(root, &mut data).unwrap();
                assert!(data == of(root));
            }
            2 => {
                group.allreduce(sum, &mut data).unwrap();
                let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap());
                for at in (0..len).step_by(8) {
                    let words = (0..size).map(|rank| word(&of(rank)[at..at + 8]));
                    assert_eq!(word(&data[at..at + 8]), words.fold(0, u64::wrapping_add));
                }
            }
            _ => {
                let mut all = vec![0; size * len];
                group.allgather(&data, &mut all).unwrap();
                assert!(all == (0..size).flat_map(of).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_root_that_is_far_ahead_waits_for_the_others_and_deadlocks_with_nobody() {
    World::all_do(3, |team| {
        let all = team.everybody().unwrap();
        if all.rank() == 2 {
            thread::sleep(Duration::from_millis(100));
        }
        // Each has more on its way than there is room for, of two roots.
        for turn in 0..300 {
            for root in [0, 1] {
                let mut data = match all.rank() == root {
                    true => bytes_of(turn, 9000),
                    false => vec![0; 9000],
                };
                all.broadcast(root, &mut data).unwrap();
                assert!(data == bytes_of(turn, 9000));
            }
        }
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let world = World::new();
    let team = world.join(1, 3);
    let refused = |members: &[u16], context: u32, word: &str| {
        let error = team.group(members, context).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(&[0, 2], 1, "not in the group");
    refused(&[], 1, "not in the group");
    refused(&[1, 0, 1], 1, "member 1 is in the group twice");
    refused(&[1, 3], 1, "they have the numbers from 0");
    refused(&[1], CONTEXT_MAX + 1, "16777215");
    let alone = team.group(&[1], 7).unwrap();
    assert!(alone.broadcast(1, &mut []).is_err());
    let sum = Atomic::new(Function::Sum, Datum::U32).unwrap();
    assert!(alone.allreduce(sum, &mut [0; 6]).is_err());
    let swap = Atomic::new(Function::SwapIfEqual, Datum::U32).unwrap();
    assert!(alone.reduce(0, swap, &mut [0; 8]).is_err());
    let read = Atomic::new(Function::Read, Datum::U32).unwrap();
    assert!(alone.allreduce(read, &mut [0; 8]).is_err());
    let small = Options::new("small").data_bytes(4096).members(1).member(0);
    assert!(Team::join(small.folder(world.0.path())).is_err());
}

#[test]
fn who_does_something_else_is_told_and_who_has_ended_is_not_waited_for() {
    World::all_do(2, |team| {
        let all = team.everybody().unwrap();
        let error = match all.rank() {
            0 => all.broadcast(1, &mut [0; 5]).unwrap_err(),
            _ => all.barrier().unwrap_err(),
        };
        // Rank 1 posts for a barrier, and waits for rank 0, which has ended by then.
        match all.rank() {
            0 => assert_eq!(
                error.to_string(),
                "member 1 of the group is in a barrier of 0 bytes, and this process in a broadcast of 5 bytes: all of a group call the \
                 same, in the same order, with the same lengths"
            ),
            // Rank 0 has told it before.
            _ => assert_eq!(
                error.to_string(),
                "the group can do nothing more: a call has failed, as member 0 of the team has found"
            ),
        }
        let later = all.barrier().unwrap_err();
        assert!(matches!(later, Error::Broken { by: 0, .. }), "{later}");
        // Another group of the same is whole.
        let anew = team.group(&[0, 1], 1).unwrap();
        drop(all);
        anew.barrier().unwrap();
    });
}

#[test]
fn who_does_not_wait_for_the_one_that_has_ended_is_told() {
    let come = Barrier::new(3);
    World::all_do(4, |team| {
        let all = team.everybody().unwrap();
        if all.rank() == 3 {
            return;
        }
        let sum = Atomic::new(Function::Sum, Datum::U32).unwrap();
        // So long that rank 0 combines, which alone waits for the last.
        let mut data = vec![0; 4000];
        let error = all.allreduce(sum, &mut data).unwrap_err();
        let expected = match all.rank() {
            0 => "member 3 has ended",
            _ => {
                "the group can do nothing more: member 3 of the team has ended, as member 0 of the team has found"
            }
        };
        assert!(error.to_string().starts_with(expected), "{error}");
        // Else it would be found that this one has ended.
        come.wait();
    });
}

#[test]
fn all_are_waited_for() {
    let world = World::new();
    let first = world.join(0, 2);
    let soon = Some(Duration::from_millis(20));
    assert!(!first.wait_for_all(soon).unwrap());
    thread::scope(|scope| {
        let other = scope.spawn(|| world.join(1, 2));
        assert!(first.wait_for_all(None).unwrap());
        drop(other.join().unwrap());
    });
    let gone = first.wait_for_all(soon).unwrap_err();
    assert!(gone.to_string().starts_with("member 1 has ended"), "{gone}");
}

/// Of three members the last never comes.
#[test]
fn who_waits_for_one_that_has_not_come_does_something_else_and_hears_that_a_call_has_failed() {
    let world = World::new();
    let (one, other) = (world.join(0, 3), world.join(1, 3));
    let done = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&done);
    assert!(other.do_while_waiting(move || *counted.lock().unwrap() += 1));
    thread::scope(|scope| {
        scope.spawn(|| {
            let all = other.everybody().unwrap();
            all.broadcast(1, &mut [0; 3]).unwrap();
            let error = all.barrier().unwrap_err();
            assert!(matches!(error, Error::Broken { by: 0, .. }), "{error}");
        });
        while *done.lock().unwrap() < 20 {
            thread::yield_now();
        }
        let all = one.everybody().unwrap();
        let error = all.broadcast(1, &mut [0; 5]).unwrap_err();
        assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    });
}

#[test]
fn who_waits_does_something_else_meanwhile() {
    static DONE: Mutex<u32> = Mutex::new(0);
    World::all_do(2, |team| {
        let all = team.everybody().unwrap();
        if all.rank() == 0 {
            let count = || *DONE.lock().unwrap() += 1;
            assert!(team.do_while_waiting(count));
            assert!(!team.do_while_waiting(count));
        } else {
            while *DONE.lock().unwrap() < 20 {
                thread::yield_now();
            }
        }
        // Rank 1 comes once rank 0 has waited for it so often.
        all.barrier().unwrap();
    });
}
