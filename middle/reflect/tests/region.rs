//! Members of one process, which find each other as those of several do.

use std::os::fd::AsFd;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use bcl_node::{Folder, JobKey, Seat, fdpass};
use bcl_os::ready::wait_for;
use bcl_reflect::{Error, Life, News, Options, Region, Waited, reports};
use bcl_types::Cause;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));
const SOON: Option<Duration> = Some(Duration::from_millis(20));

struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room"))
    }

    fn options(&self, member: u16) -> Options {
        Options::new("test", 4096)
            .members(8)
            .member(member)
            .folder(self.0.path())
    }

    fn join(&self, member: u16) -> Region {
        self.options(member).join().expect("it can be joined")
    }

    fn refused(&self, options: Options) -> Error {
        options.folder(self.0.path()).join().map(drop).unwrap_err()
    }

    fn names(&self) -> usize {
        std::fs::read_dir(self.0.path()).unwrap().count()
    }
}

#[test]
fn what_one_writes_all_read() {
    let world = World::new();
    let (a, b) = (world.join(0), world.join(5));
    // REFLECT-1.4
    assert_eq!(b.load(8).unwrap(), 0);
    a.write(13, b"hello").unwrap();
    let mut found = [0; 7];
    b.read(12, &mut found).unwrap();
    assert_eq!(&found, b"\0hello\0");
    b.write_word(4088, 7).unwrap();
    assert_eq!(a.load(4088).unwrap(), 7);
    // SAFETY: within the region, and nobody writes.
    let seen = unsafe { a.memory().add(4088).cast::<u64>().read_volatile() };
    assert_eq!(seen, 7);
}

#[test]
fn several_writes_are_as_one_by_one_or_not_at_all() {
    let world = World::new();
    let (a, b) = (world.join(0), world.join(1));
    a.write_each(&[(0, &[1; 100]), (50, &[2; 3]), (200, &[])])
        .unwrap();
    let mut found = [0; 102];
    b.read(0, &mut found).unwrap();
    let expected = [&[1; 50][..], &[2; 3], &[1; 47], &[0; 2]].concat();
    assert_eq!(&found[..], expected);
    let beyond = a.write_each(&[(0, &[3; 8]), (4090, &[3; 8])]);
    assert!(matches!(beyond, Err(Error::InvalidArgument(_))));
    assert_eq!(b.load(0).unwrap(), u64::from_ne_bytes([1; 8]));
}

#[test]
fn a_wait_for_several_words_ends_with_any_of_them() {
    let world = World::new();
    let (a, b) = (world.join(0), world.join(1));
    let words = [(0, 0), (512, 0), (1024, 5)];
    assert_eq!(a.wait_any(&words, SOON).unwrap(), Waited::Changed(0));
    assert_eq!(a.wait_any(&words[..2], SOON).unwrap(), Waited::TimedOut);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| a.wait_any(&words[..2], PATIENCE).unwrap());
        // Long enough to sleep.
        thread::sleep(Duration::from_millis(50));
        b.write_word(2048, 1).unwrap();
        thread::sleep(Duration::from_millis(10));
        assert!(!waiting.is_finished());
        b.write_word(512, 9).unwrap();
        assert_eq!(waiting.join().unwrap(), Waited::Changed(9));
    });
    let between = a.wait_any(&[(0, 0), (3, 0)], SOON);
    assert!(matches!(between, Err(Error::InvalidArgument(_))));
}

#[test]
fn a_region_ends_with_its_last_member_and_leaves_nothing() {
    let world = World::new();
    let a = world.join(0);
    a.write_word(0, 7).unwrap();
    let b = world.join(1);
    a.leave().unwrap();
    assert_eq!(b.load(0).unwrap(), 7);
    let a = world.join(0);
    assert_eq!(a.load(0).unwrap(), 7);
    drop((a, b));
    assert_eq!(world.names(), 0);
    assert_eq!(world.join(2).load(0).unwrap(), 0);
}

#[test]
fn who_says_something_else_than_the_others_is_told_what_they_say() {
    let world = World::new();
    let _a = world.join(0);
    let taken = world.refused(world.options(0)).to_string();
    assert!(
        taken.contains("member 0 of region test is there already"),
        "{taken}"
    );
    let other = Options::new("test", 8).members(9).member(1);
    let error = world.refused(other).to_string();
    assert!(
        error.contains("has 8 members and 4096 bytes, and you say 9 and 8"),
        "{error}"
    );
    // It has left nothing, and nobody believes that it is there.
    assert_eq!(world.names(), 1);
    let key = JobKey::random().unwrap();
    let own = world.options(0).key(key).join().unwrap();
    assert_eq!(own.life(1).unwrap(), Life::Never);
}

#[test]
fn beyond_the_end_and_beside_words_nothing_is_touched() {
    let world = World::new();
    let a = world.join(0);
    for (offset, len_bytes) in [(4096, 1), (4090, 8), (u64::MAX, 2)] {
        let refused = a.write(offset, &vec![1; len_bytes]);
        assert!(matches!(refused, Err(Error::InvalidArgument(_))));
        assert!(a.read(offset, &mut vec![0; len_bytes]).is_err());
    }
    assert!(a.load(4).is_err() && a.write_word(4, 1).is_err());
    assert!(a.load(4096).is_err() && a.wait(4092, 0, None).is_err());
    assert!(a.life(8).is_err());
    a.write(4096, &[]).unwrap();
    let mut all = [0; 4096];
    a.read(0, &mut all).unwrap();
    assert_eq!(all, [0; 4096]);
}

/// REFLECT-4.1
#[test]
fn a_wait_ends_when_the_word_changes_and_sleeps_until_then() {
    let world = World::new();
    let (a, b) = (world.join(0), world.join(1));
    assert_eq!(a.wait(8, 0, SOON).unwrap(), Waited::TimedOut);
    b.write_word(8, 5).unwrap();
    assert_eq!(a.wait(8, 0, None).unwrap(), Waited::Changed(5));
    thread::scope(|scope| {
        // Two threads of a member and one of another.
        for (region, offset) in [(&a, 16), (&a, 24), (&b, 32)] {
            scope.spawn(move || {
                assert_eq!(
                    region.wait(offset, 0, PATIENCE).unwrap(),
                    Waited::Changed(1)
                );
            });
        }
        thread::sleep(Duration::from_millis(30));
        // What changes nothing wakes and ends nothing.
        b.write(17, &[0; 20]).unwrap();
        thread::sleep(Duration::from_millis(30));
        let mut both = [0u8; 16];
        both[0] = 1;
        both[8] = 1;
        a.write(16, &both).unwrap();
        b.write(32, &1u64.to_ne_bytes()).unwrap();
    });
}

/// REFLECT-5.2
#[test]
fn members_that_come_and_leave_are_news_once_and_end_waits() {
    let world = World::new();
    let a = world.join(0);
    assert_eq!(a.news(), None);
    let b = world.join(3);
    assert_eq!(b.life(0).unwrap(), Life::There);
    let news = |life| Some(News { member: 3, life });
    assert_eq!(a.news(), news(Life::There));
    assert_eq!((a.news(), b.news()), (None, None));
    let waited = thread::scope(|scope| {
        let waiting = scope.spawn(|| a.wait(0, 0, PATIENCE).unwrap());
        thread::sleep(Duration::from_millis(30));
        b.leave().unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(waited, Waited::MemberGone);
    // Until it has been asked.
    assert_eq!(a.wait(0, 0, None).unwrap(), Waited::MemberGone);
    assert_eq!(a.news(), news(Life::Gone(Cause::Closed)));
    assert_eq!(a.news(), None);
    assert_eq!(a.wait(0, 0, SOON).unwrap(), Waited::TimedOut);
    assert_eq!(a.life(3).unwrap(), Life::Gone(Cause::Closed));
}

/// REFLECT-2.3
#[test]
fn those_who_come_at_the_same_time_have_one_region() {
    const MEMBERS: u16 = 8;
    for round in 0..30 {
        let world = World::new();
        let begin = Barrier::new(MEMBERS.into());
        let regions: Vec<Region> = thread::scope(|scope| {
            let join = |member| {
                let (world, begin) = (&world, &begin);
                move || {
                    begin.wait();
                    let region = world.join(member);
                    region.write_word(u64::from(member) * 8, 1 + round).unwrap();
                    region
                }
            };
            let threads: Vec<_> = (0..MEMBERS)
                .map(|member| scope.spawn(join(member)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for region in &regions {
            for member in 0..u64::from(MEMBERS) {
                assert_eq!(region.load(member * 8).unwrap(), 1 + round);
            }
        }
    }
}

/// REFLECT-3.3
#[test]
fn who_sees_a_write_sees_those_before_it() {
    const ROUNDS: u64 = 100_000;
    let world = World::new();
    let (a, b) = (world.join(0), world.join(1));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                let block: Vec<u8> = [round; 9]
                    .iter()
                    .flat_map(|word| word.to_ne_bytes())
                    .collect();
                a.write(64, &block).unwrap();
                a.write_word(8, round).unwrap();
            }
        });
        let mut flag = 0;
        while flag < ROUNDS {
            flag = b.load(8).unwrap();
            let mut block = [0; 72];
            b.read(64, &mut block).unwrap();
            let words = block
                .chunks(8)
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
            assert!(words.into_iter().all(|word| word >= flag));
        }
    });
}

#[test]
fn what_was_left_is_of_no_use_and_ends_waits() {
    let world = World::new();
    let a = world.join(0);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| a.wait(0, 0, None));
        thread::sleep(Duration::from_millis(30));
        a.leave().unwrap();
        assert!(matches!(waiting.join().unwrap(), Err(Error::Left)));
    });
    assert!(matches!(a.write_word(0, 1), Err(Error::Left)));
    assert!(matches!(a.leave(), Err(Error::Left)));
    let again = world.join(0);
    assert_eq!(again.load(0).unwrap(), 0);
}

/// What the region's members say to somebody who knows where they sit, of the same user, but not the key.
fn ask(folder: &Folder, seat: Seat, words: &[&str]) -> usize {
    let sock = folder.connect_to_seat(seat).unwrap().unwrap();
    for word in words {
        // It may have hung up.
        let _ = fdpass::send(&sock, word.as_bytes(), &[]);
    }
    let mut descriptors = 0;
    loop {
        assert!(
            wait_for([sock.as_fd()], PATIENCE).unwrap(),
            "no end in {PATIENCE:?}"
        );
        match fdpass::recv(&sock, &mut [0; 4096]) {
            Ok(received) if received.len_bytes > 0 => descriptors += received.fds.len(),
            _ => return descriptors,
        }
    }
}

/// REFLECT-2.5
#[test]
fn who_does_not_know_the_key_gets_nothing_and_can_give_nothing() {
    let world = World::new();
    let key = JobKey::random().unwrap();
    let a = world.options(0).key(key.clone()).join().unwrap();
    let folder = Folder::open(world.0.path()).unwrap();
    let [seat] = folder.seats().unwrap()[..] else {
        panic!("there is one");
    };
    let region = r#"{"want":"region","nonce":"00"}"#;
    let guess = r#"{"want":"proved","proof":"00"}"#;
    for words in [[region, guess], [guess, region], ["{}", region]] {
        assert_eq!(ask(&folder, seat, &words), 0);
    }
    drop(a);
    // One that has taken a member's seat is not believed, and named in the end.
    let impostor = folder.bind_seat(seat).unwrap().unwrap();
    let mark = |_| impostor.mark();
    folder
        .with_marked_seats(seat.region, mark)
        .unwrap()
        .unwrap();
    let error = thread::scope(|scope| {
        let joining = scope.spawn(|| world.options(1).key(key).join().map(drop).unwrap_err());
        while !joining.is_finished() {
            if !wait_for([impostor.listener()], SOON).unwrap() {
                continue;
            }
            let sock = rustix::net::accept(impostor.listener()).unwrap();
            let challenge = r#"{"is":"challenge","nonce":"00","proof":"00"}"#;
            let _ = fdpass::send(&sock, challenge.as_bytes(), &[]);
        }
        joining.join().unwrap()
    });
    assert!(error.to_string().contains("member 0"), "{error}");
}

#[test]
fn people_see_regions_and_members() {
    let world = World::new();
    let a = world.join(0);
    world.join(3).leave().unwrap();
    let folder = Folder::open(world.0.path()).unwrap();
    let reports = reports(&folder).unwrap();
    let [report] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!(
        (report.name.as_str(), report.members, report.len_bytes),
        ("test", 8, 4096)
    );
    let known: Vec<_> = report
        .known
        .iter()
        .map(|one| (one.member, one.is_there))
        .collect();
    assert_eq!(known, [(0, true), (3, false)]);
    assert_eq!(report.known[0].pid, std::process::id());
    assert_eq!(report.known[1].ended.as_deref(), Some("it has left"));
    drop(a);
    assert!(bcl_reflect::reports(&folder).unwrap().is_empty());
}
