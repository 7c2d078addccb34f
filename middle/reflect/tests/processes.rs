//! Members that are processes, and die.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bcl_reflect::{Error, Life, News, Options, Region, Waited};
use bcl_types::Cause;

const PATIENCE: Duration = Duration::from_secs(10);
/// Set in a child: the folder, and which member it is.
const ROLE: &str = "BCL_REFLECT_TEST_ROLE";

fn options(folder: &str, member: u16) -> Options {
    Options::new("test", 1 << 16)
        .members(8)
        .member(member)
        .folder(folder)
}

/// A child that has joined, and does what it is told, line by line.
struct Member {
    child: Child,
    orders: ChildStdin,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Member {
    fn start(folder: &str, member: u16) -> Self {
        let program = env::current_exe().expect("a test program knows its path");
        let mut child = Command::new(program)
            .args(["--exact", "a_child", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{member} {folder}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let orders = child.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
        Self {
            child,
            orders,
            answers,
        }
    }

    /// Starts it, and waits until it has joined.
    fn join(folder: &str, member: u16) -> Self {
        let mut started = Self::start(folder, member);
        started.ask("load 0");
        started
    }

    fn tell(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it listens");
    }

    fn ask(&mut self, order: &str) -> u64 {
        self.tell(order);
        self.answer().expect("it answers")
    }

    /// `None` once it has ended.
    fn answer(&mut self) -> Option<u64> {
        let lines = self.answers.by_ref().map_while(Result::ok);
        let mut values = lines.filter_map(|line| line.split_once("= ")?.1.parse().ok());
        values.next()
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

/// Not a test, unless it is a child.
#[test]
fn a_child() {
    let Ok(role) = env::var(ROLE) else { return };
    let (member, folder) = role.split_once(' ').unwrap();
    let region = options(folder, member.parse().unwrap()).join().unwrap();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0] {
            "load" => println!("= {}", region.load(number(1)).unwrap()),
            "store" => {
                region.write_word(number(1), number(2)).unwrap();
                println!("= 0");
            }
            "wait" => match region.wait(number(1), number(2), Some(PATIENCE)).unwrap() {
                Waited::Changed(value) => println!("= {value}"),
                other => panic!("{other:?}"),
            },
            "exit" => std::process::exit(number(1) as i32),
            other => panic!("{other}"),
        }
    }
}

fn await_news(region: &Region) -> News {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(news) = region.news() {
            return news;
        }
        assert!(Instant::now() < deadline, "no news in {PATIENCE:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn temporary() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap().to_owned();
    (dir, path)
}

/// REFLECT-5.1, REFLECT-5.2
#[test]
fn deaths_are_told_with_their_cause_and_the_place_is_free_again() {
    let (dir, folder) = temporary();
    let region = options(&folder, 3).join().unwrap();
    let news = |life| News { member: 1, life };
    for (order, cause) in [
        (Some("exit 7"), Cause::Exited(7)),
        (None, Cause::Killed(9)),
        (Some("exit 0"), Cause::Exited(0)),
    ] {
        let mut member = Member::join(&folder, 1);
        assert_eq!(await_news(&region), news(Life::There));
        // It sleeps, or is about to, and wakes nobody for that.
        member.tell("wait 8 0");
        thread::sleep(Duration::from_millis(20));
        region.write_word(8, 1).unwrap();
        assert_eq!(member.answer(), Some(1));
        region.write_word(8, 0).unwrap();
        match order {
            Some(order) => {
                member.tell(order);
                member.child.wait().unwrap();
            }
            None => member.kill(),
        }
        let waited = region.wait(0, 0, Some(PATIENCE)).unwrap();
        assert_eq!(waited, Waited::MemberGone);
        assert_eq!(await_news(&region), news(Life::Gone(cause)));
    }
    drop(region);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// REFLECT-1.4, REFLECT-2.3: whoever makes the region, and whoever dies, those who are there have the same.
#[test]
fn there_is_one_region_whoever_dies() {
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let (_dir, folder) = temporary();
    let mut members: Vec<Option<Member>> = (0..6).map(|_| None).collect();
    let mut id = 0;
    for step in 1..=40u64 {
        // Some end, in the midst of joining perhaps, and some begin.
        for (number, place) in members.iter_mut().enumerate() {
            match (random(3), place.take()) {
                (0, Some(member)) => member.kill(),
                (0, None) => {
                    *place = Some(Member::start(&folder, number as u16));
                    if random(2) == 0 {
                        thread::sleep(Duration::from_millis(random(12)));
                    }
                }
                (_, member) => *place = member,
            }
        }
        let mut there: Vec<_> = members.iter_mut().flatten().collect();
        let found: Vec<u64> = there
            .iter_mut()
            .map(|member| member.ask("load 0"))
            .collect();
        let Some(first) = there.first_mut() else {
            continue;
        };
        // The same for all: that of the region before, or a new one's.
        assert!(
            found.iter().all(|one| *one == found[0]),
            "step {step}: {found:?}"
        );
        assert!(
            [0, id].contains(&found[0]),
            "step {step}: {found:?}, not {id}"
        );
        id = step;
        first.ask(&format!("store 0 {id}"));
        for member in &mut there {
            assert_eq!(member.ask("load 0"), id, "step {step}");
        }
    }
}

/// REFLECT-2.4
#[test]
fn members_that_are_stopped_are_named_to_who_wants_to_join() {
    let (_dir, folder) = temporary();
    let member = Member::join(&folder, 4);
    let pid = rustix::process::Pid::from_child(&member.child);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let error = options(&folder, 2).join().map(drop).unwrap_err();
    assert!(matches!(error, Error::NoAnswer { .. }), "{error}");
    assert!(error.to_string().contains("member 4"), "{error}");
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let region = options(&folder, 2).join().unwrap();
    assert_eq!(region.life(4).unwrap(), Life::There);
    member.kill();
}

#[test]
fn a_forked_child_can_do_nothing_and_harms_nothing() {
    let (_dir, folder) = temporary();
    let region = options(&folder, 0).join().unwrap();
    let neighbour = options(&folder, 1).join().unwrap();
    // SAFETY: the child calls nothing but what is to be tried, and ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let refused = matches!(region.write_word(0, 1), Err(Error::Forked))
            && matches!(region.wait(0, 0, None), Err(Error::Forked));
        drop(region);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!refused)) };
    }
    let mut status = 0;
    // SAFETY: writes the status only.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    let status = std::process::ExitStatus::from_raw(status);
    assert!(status.success(), "{status}");
    assert_eq!(neighbour.load(0).unwrap(), 0);
    assert_eq!(neighbour.life(0).unwrap(), Life::There);
    region.write_word(0, 2).unwrap();
    assert_eq!(neighbour.load(0).unwrap(), 2);
}
