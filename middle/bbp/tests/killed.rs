//! Members that are processes, and are killed.

use std::env;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use bcl_bbp::{Billboard, Error, Options};
use bcl_reflect::Life;
use bcl_types::{Cause, Random};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));
/// Set in a child: the folder, and which member it is.
const ROLE: &str = "BCL_BBP_TEST_ROLE";
const MEMBERS: u16 = 4;

fn join(folder: &str, member: u16) -> Billboard {
    let options = Options::new("test").members(MEMBERS).member(member);
    options.folder(folder).join().expect("it can be joined")
}

/// Posts and reads until it is killed: messages that count, of lengths that follow from the count.
#[test]
fn a_child() {
    let Ok(role) = env::var(ROLE) else {
        return;
    };
    let (member, folder) = role.split_once(' ').expect("there are two words");
    let board = join(folder, member.parse().expect("it is a number"));
    let mut buffer = vec![0; 1 << 16];
    for number in 0.. {
        match board.broadcast(&message(number), Some(Duration::from_millis(1))) {
            Ok(()) | Err(Error::Full(_)) => {}
            Err(error) => panic!("{error}"),
        }
        while let Ok(Some(_)) = board.receive(None, &mut buffer, Some(Duration::ZERO)) {}
        while board.event().expect("it can be asked").is_some() {}
    }
}

fn message(number: u64) -> Vec<u8> {
    let len = 8 + number as usize * 37 % 3000;
    let mut bytes = number.to_ne_bytes().to_vec();
    bytes.resize(len, number as u8);
    bytes
}

fn start(folder: &str, member: u16) -> Child {
    let program = env::current_exe().expect("a test program knows its path");
    Command::new(program)
        .args(["--exact", "a_child", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{member} {folder}"))
        .spawn()
        .expect("it starts")
}

#[test]
fn whoever_is_killed_whenever_the_others_go_on() {
    let folder = tempfile::tempdir().expect("there is room");
    let folder = folder.path().to_str().expect("it has a usual name");
    let board = join(folder, 0);
    let mut random = Random::new(7);
    let mut children = [1, 2, 3].map(|member| start(folder, member));
    let mut buffer = vec![0; 1 << 16];
    let (mut received, mut ends) = (0, 0);
    for round in 0..60 {
        for number in 0..40 {
            // As long as children live that read.
            board
                .broadcast(&message(round * 40 + number), PATIENCE)
                .expect("somebody reads");
            sleep(Duration::from_micros(random.below(300)));
            let from = None;
            match board.receive(from, &mut buffer, Some(Duration::from_millis(1))) {
                Ok(Some(got)) => {
                    let number = u64::from_ne_bytes(buffer[..8].try_into().expect("8 bytes"));
                    assert_eq!(buffer[..got.len_bytes], message(number));
                    received += 1;
                }
                Ok(None) | Err(Error::MemberGone) => {}
                Err(error) => panic!("{error}"),
            }
            while let Some(event) = board.event().expect("it can be asked") {
                ends += u32::from(event.life == Life::Gone(Cause::Killed(9)));
            }
        }
        let victim = random.index(3);
        children[victim].kill().expect("it can be killed");
        children[victim].wait().expect("it ends");
        children[victim] = start(folder, victim as u16 + 1);
    }
    for mut child in children {
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    assert!(
        received > 500 && ends > 10,
        "{received} messages, {ends} ends"
    );
    assert!(board.wait_until_read(PATIENCE).expect("they have ended"));
}
