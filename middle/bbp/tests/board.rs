//! Members of one process, which find each other as those of several do.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use bcl_bbp::{Billboard, Error, Event, Options, Received};
use bcl_reflect::Life;
use bcl_types::Cause;
use proptest::collection::vec;
use proptest::prelude::*;

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);
const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));
const MEMBERS: u16 = 4;
const DATA_BYTES: u64 = 8192;
/// As many as a member can have on the board.
const SLOTS: usize = 64;

struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    fn join_of(&self, member: u16, members: u16) -> Billboard {
        let options = Options::new("test").data_bytes(DATA_BYTES);
        let options = options.members(members).member(member);
        options
            .folder(self.0.path())
            .join()
            .expect("it can be joined")
    }

    fn join(&self, member: u16) -> Billboard {
        self.join_of(member, MEMBERS)
    }

    fn all(&self) -> Vec<Billboard> {
        (0..MEMBERS).map(|member| self.join(member)).collect()
    }
}

fn take(board: &Billboard, from: Option<u16>) -> Result<Option<(u16, Vec<u8>)>, Error> {
    let mut buffer = vec![0; DATA_BYTES as usize];
    let received = board.receive(from, &mut buffer, AT_ONCE)?;
    Ok(received.map(|Received { from, len_bytes }| (from, buffer[..len_bytes].to_vec())))
}

fn got(board: &Billboard) -> Option<(u16, Vec<u8>)> {
    take(board, None).unwrap()
}

fn events(board: &Billboard) -> Vec<Event> {
    std::iter::from_fn(|| board.event().unwrap()).collect()
}

#[test]
fn messages_of_all_lengths_arrive_in_order() {
    let world = World::new();
    let all = world.all();
    let lengths = [0, 1, 8, 39, 40, 41, 64, 1000, 4096, 0];
    for len in lengths {
        all[0].send(2, &vec![len as u8; len], AT_ONCE).unwrap();
    }
    for len in lengths {
        let peeked = all[2].available(Some(0), AT_ONCE).unwrap();
        let (from, len_bytes) = (0, len);
        assert_eq!(peeked, Some(Received { from, len_bytes }));
        assert_eq!(got(&all[2]), Some((0, vec![len as u8; len])));
    }
    assert_eq!(got(&all[2]), None);
    assert!(all[0].wait_until_read(AT_ONCE).unwrap());
    // To itself too.
    all[1].send(1, b"me", AT_ONCE).unwrap();
    assert_eq!(got(&all[1]), Some((1, b"me".to_vec())));
}

#[test]
fn one_post_is_read_by_all_it_is_for() {
    let world = World::new();
    let all = world.all();
    let long = [7; 3000];
    all[1].multicast(&[3, 0], &long, AT_ONCE).unwrap();
    all[1].broadcast(b"all", AT_ONCE).unwrap();
    for member in [0, 3] {
        assert_eq!(got(&all[member]), Some((1, long.to_vec())));
        assert!(!all[1].wait_until_read(AT_ONCE).unwrap());
    }
    for member in [0, 2, 3] {
        assert_eq!(got(&all[member]), Some((1, b"all".to_vec())));
        assert_eq!(got(&all[member]), None);
    }
    assert!(all[1].wait_until_read(AT_ONCE).unwrap());
    assert_eq!(got(&all[1]), None);
}

#[test]
fn who_receives_of_any_gets_of_each_in_turn() {
    let world = World::new();
    let all = world.all();
    for sender in [1, 3, 2] {
        all[sender].send(0, b"one", AT_ONCE).unwrap();
        all[sender].send(0, b"two", AT_ONCE).unwrap();
    }
    assert_eq!(take(&all[0], Some(3)).unwrap().unwrap().1, b"one");
    let order = [(1, "one"), (2, "one"), (3, "two"), (1, "two"), (2, "two")];
    let of = |from: u16, text: &str| Some((from, text.as_bytes().to_vec()));
    for (from, text) in order {
        assert_eq!(got(&all[0]), of(from, text));
    }
}

#[test]
fn a_message_that_is_too_long_stays_and_one_that_cannot_be_is_refused() {
    let world = World::new();
    let all = world.all();
    all[0].send(1, &[5; 100], AT_ONCE).unwrap();
    let error = all[1].receive(None, &mut [0; 99], AT_ONCE).unwrap_err();
    let (from, len_bytes, room_bytes) = (0, 100, 99);
    assert!(
        matches!(error, Error::Truncated { from: f, len_bytes: l, room_bytes: r } if (f, l, r) == (from, len_bytes, room_bytes)),
        "{error}"
    );
    assert_eq!(got(&all[1]), Some((0, vec![5; 100])));
    let longest = all[0].message_max_bytes();
    assert_eq!(longest as u64, DATA_BYTES);
    all[0].send(1, &vec![6; longest], AT_ONCE).unwrap();
    assert_eq!(got(&all[1]), Some((0, vec![6; longest])));
    let error = all[0].send(1, &vec![0; longest + 1], AT_ONCE).unwrap_err();
    assert!(error.to_string().contains("8193 bytes"), "{error}");
    let error = all[0].send(4, b"", AT_ONCE).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}

#[test]
fn a_full_board_says_who_has_not_read() {
    let world = World::new();
    let all = [0, 1, 2].map(|member| world.join(member));
    for _ in 0..SLOTS {
        all[0].send(1, b"x", AT_ONCE).unwrap();
    }
    let full = all[0].send(2, b"y", AT_ONCE).unwrap_err();
    assert_eq!(
        full.to_string(),
        "the billboard is full: member 1 has not read what was posted for it"
    );
    assert!(got(&all[1]).is_some());
    all[0].send(3, b"z", AT_ONCE).unwrap();
    let full = all[0].send(2, b"y", AT_ONCE).unwrap_err();
    assert!(
        full.to_string().ends_with("member 3 has not come"),
        "{full}"
    );
    while got(&all[1]).is_some() {}
    // Room runs out too.
    all[0].send(2, &[1; 5000], AT_ONCE).unwrap();
    let full = all[0].send(1, &[2; 5000], AT_ONCE).unwrap_err();
    assert!(matches!(full, Error::Full(_)), "{full}");
    assert!(got(&all[2]).is_some());
    all[0].send(1, &[2; 5000], AT_ONCE).unwrap();
    // Who comes late finds what was posted for it.
    assert_eq!(got(&world.join(3)), Some((0, b"z".to_vec())));
}

#[test]
fn who_waits_for_room_or_for_a_message_gets_it() {
    let world = World::new();
    let all = [world.join(0), world.join(1)];
    const ROUNDS: u32 = 3000;
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                let data = round.to_ne_bytes().repeat(1 + round as usize % 500);
                all[0].send(1, &data, PATIENCE).unwrap();
            }
            assert!(all[0].wait_until_read(PATIENCE).unwrap());
        });
        let mut buffer = [0; 2000];
        for round in 0..ROUNDS {
            let received = all[1].receive(Some(0), &mut buffer, PATIENCE).unwrap();
            let len = 4 * (1 + round as usize % 500);
            assert_eq!(received.unwrap().len_bytes, len);
            assert!(
                buffer[..len]
                    .chunks(4)
                    .all(|word| word == round.to_ne_bytes())
            );
        }
    });
}

#[test]
fn what_a_dead_member_has_not_read_is_taken_back_and_the_others_go_on() {
    let world = World::new();
    let all = world.all();
    for _ in 0..SLOTS - 1 {
        all[0].send(3, b"for the dead", AT_ONCE).unwrap();
    }
    all[0].multicast(&[1, 3], &[9; 100], AT_ONCE).unwrap();
    assert!(got(&all[3]).is_some());
    all[3].send(0, b"last words", AT_ONCE).unwrap();
    all[3].leave().unwrap();
    let gone = all[0].send(3, b"", AT_ONCE).unwrap_err();
    assert!(
        matches!(
            gone,
            Error::Gone {
                member: 3,
                cause: Cause::Closed
            }
        ),
        "{gone}"
    );
    let gone = all[0].multicast(&[1, 3], b"", AT_ONCE);
    assert!(matches!(gone, Err(Error::Gone { member: 3, .. })));
    // It has room again, though nobody asked for events; the last words come first.
    assert_eq!(got(&all[0]), Some((3, b"last words".to_vec())));
    all[0].broadcast(b"on", PATIENCE).unwrap();
    assert!(matches!(take(&all[0], None), Err(Error::MemberGone)));
    let told = events(&all[0]);
    let (member, life, taken_back) = (3, Life::Gone(Cause::Closed), SLOTS as u32 - 1);
    assert_eq!(
        told.last(),
        Some(&Event {
            member,
            life,
            taken_back
        })
    );
    assert_eq!(got(&all[0]), None);
    assert!(matches!(take(&all[0], Some(3)), Err(Error::Gone { .. })));
    assert_eq!(got(&all[1]), Some((0, vec![9; 100])));
    assert_eq!(got(&all[1]), Some((0, b"on".to_vec())));
    assert_eq!(got(&all[2]), Some((0, b"on".to_vec())));
    // Who comes in its place gets nothing of that, but what is posted from then on.
    let again = world.join(3);
    for round in 0..2 * SLOTS {
        all[0].send(3, &[round as u8], PATIENCE).unwrap();
        assert_eq!(got(&again), Some((0, vec![round as u8])));
    }
    assert_eq!(got(&again), None);
}

#[test]
fn what_a_dead_member_has_posted_is_there_and_goes_on_in_order() {
    let world = World::new();
    let all = [world.join(0), world.join(1)];
    all[0].send(1, b"first", AT_ONCE).unwrap();
    all[0].send(1, &[2; 6000], AT_ONCE).unwrap();
    all[0].leave().unwrap();
    let again = world.join(0);
    // What is there has its room still.
    let full = again.send(1, &[3; 6000], AT_ONCE);
    assert!(matches!(full, Err(Error::Full(_))));
    again.send(1, b"third", AT_ONCE).unwrap();
    assert_eq!(got(&all[1]), Some((0, b"first".to_vec())));
    assert_eq!(got(&all[1]), Some((0, vec![2; 6000])));
    assert_eq!(got(&all[1]), Some((0, b"third".to_vec())));
    again.send(1, &[3; 6000], AT_ONCE).unwrap();
    assert_eq!(got(&all[1]), Some((0, vec![3; 6000])));
}

#[test]
fn many_members_have_all_of_it() {
    let world = World::new();
    let first = world.join_of(0, 256);
    let others = [1, 63, 64, 200, 255].map(|member| world.join_of(member, 256));
    for len in [0, 80, 81, 500] {
        first.broadcast(&vec![1; len], AT_ONCE).unwrap();
        first.multicast(&[64, 255], b"two", AT_ONCE).unwrap();
        for other in &others {
            assert_eq!(got(other), Some((0, vec![1; len])));
            let is_for_it = [64, 255].contains(&other.member());
            assert_eq!(got(other).is_some(), is_for_it);
        }
    }
}

#[test]
fn what_a_wild_member_writes_is_passed_over() {
    let world = World::new();
    let good = world.all();
    good[3].leave().unwrap();
    let len_bytes = 4 * (64 + 64 + 64 * 64 + DATA_BYTES);
    let options = bcl_reflect::Options::new("bbp1 test", len_bytes);
    let options = options.members(MEMBERS).member(3).folder(world.0.path());
    let wild = options.join().unwrap();
    let own = 3 * len_bytes / 4;
    let mut random = bcl_types::Random::new(1);
    events(&good[0]);
    let mut senseless = 0;
    for _ in 0..2000 {
        let at = match random.one_in(2) {
            true => random.below(64 + 64),
            false => random.below(len_bytes / 4),
        };
        let written = random.bytes(8);
        wild.write(own + at / 8 * 8, &written).unwrap();
        loop {
            match take(&good[0], None) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(Error::Senseless { from: 3 }) => senseless += 1,
                Err(error) => panic!("{error}"),
            }
        }
        // That its flags are wrong may keep messages for it on the board, and nothing else.
        if !matches!(good[1].send(3, b"x", AT_ONCE), Ok(()) | Err(Error::Full(_))) {
            panic!("it is there");
        }
        good[2].send(0, b"y", AT_ONCE).unwrap();
        assert_eq!(take(&good[0], Some(2)).unwrap(), Some((2, b"y".to_vec())));
    }
    assert!(senseless > 0);
}

/// Something that happens.
#[derive(Debug, Clone)]
enum Step {
    Post { from: u16, to: Vec<u16>, len: usize },
    Take { by: u16, from: Option<u16> },
    Restart(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let member = || 0..MEMBERS;
    let length = prop_oneof![0_usize..100, 0..4000_usize];
    prop_oneof![
        4 => (member(), vec(member(), 1..4), length).prop_map(|(from, to, len)| Step::Post { from, to, len }),
        6 => (member(), prop::option::of(member())).prop_map(|(by, from)| Step::Take { by, from }),
        1 => member().prop_map(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compared with plain queues, whatever is posted and read, and whoever goes and comes.
    #[test]
    fn all_that_is_posted_is_read_once_and_in_order(steps in vec(step(), 1..300)) {
        let world = World::new();
        let mut boards: Vec<Option<Billboard>> = world.all().into_iter().map(Some).collect();
        let pair = |from: u16, to: u16| usize::from(from * MEMBERS + to);
        let mut queues = vec![VecDeque::<Vec<u8>>::new(); usize::from(MEMBERS * MEMBERS)];
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Post { from, to, len } => {
                    let data = vec![number as u8; len];
                    let board = boards[usize::from(from)].as_ref().unwrap();
                    match board.multicast(&to, &data, AT_ONCE) {
                        Ok(()) => {
                            let to: std::collections::BTreeSet<u16> = to.into_iter().collect();
                            to.into_iter().for_each(|to| queues[pair(from, to)].push_back(data.clone()));
                        }
                        Err(Error::Full(_)) => {
                            let waiting = (0..MEMBERS).map(|to| queues[pair(from, to)].len());
                            prop_assert!(waiting.sum::<usize>() > 0);
                        }
                        Err(error) => prop_assert!(false, "{error}"),
                    }
                }
                Step::Take { by, from } => {
                    let board = boards[usize::from(by)].as_ref().unwrap();
                    while board.event().unwrap().is_some() {}
                    match take(board, from).unwrap() {
                        Some((from, data)) => {
                            prop_assert_eq!(Some(data), queues[pair(from, by)].pop_front());
                        }
                        None => {
                            let sources = from.map_or(0..MEMBERS, |from| from..from + 1);
                            for from in sources {
                                prop_assert!(queues[pair(from, by)].is_empty());
                            }
                        }
                    }
                }
                Step::Restart(member) => {
                    boards[usize::from(member)].take();
                    // What it has not read some take back, as they hear of its end.
                    for other in boards.iter().flatten() {
                        let taken_back: u32 = events(other).iter().map(|event| event.taken_back).sum();
                        let queue = &mut queues[pair(other.member(), member)];
                        prop_assert_eq!(taken_back as usize, queue.len());
                        queue.clear();
                    }
                    // What it has posted for itself nobody takes back.
                    boards[usize::from(member)] = Some(world.join(member));
                }
            }
        }
    }
}
