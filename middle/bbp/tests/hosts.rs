//! A billboard between hosts: loopback addresses, each with a rendezvous folder of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use bcl_bbp::{Billboard, Error, Options};
use bcl_reflect::{JobKey, Life};
use bcl_types::Random;
use tempfile::TempDir;

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));
const MEMBERS: u16 = 6;

/// Loopback addresses with folders, and two members on each.
struct Hosts {
    folders: Vec<TempDir>,
    key: JobKey,
}

impl Hosts {
    fn new() -> Self {
        let folders = (0..MEMBERS / 2).map(|_| tempfile::tempdir().unwrap());
        Self {
            folders: folders.collect(),
            key: JobKey::random().unwrap(),
        }
    }

    fn address(host: usize) -> IpAddr {
        Ipv4Addr::new(127, 0, 6, host as u8 + 1).into()
    }

    fn join(&self, member: u16) -> Billboard {
        let host = usize::from(member / 2);
        let options = Options::new("shared").members(MEMBERS).member(member);
        let options = options
            .data_bytes(64 << 10)
            .folder(self.folders[host].path())
            .key(self.key.clone())
            .hosts((0..self.folders.len()).map(Self::address))
            .address(Self::address(host));
        options.join().unwrap()
    }

    fn all(&self) -> Vec<Billboard> {
        // At the same time: who is first on a host waits for the others.
        thread::scope(|scope| {
            let joining: Vec<_> = (0..MEMBERS)
                .map(|member| scope.spawn(move || self.join(member)))
                .collect();
            let boards = joining.into_iter().map(|board| board.join().unwrap());
            boards.collect()
        })
    }
}

fn receive(board: &Billboard, from: Option<u16>) -> (u16, Vec<u8>) {
    let mut buffer = vec![0; 64 << 10];
    let received = board.receive(from, &mut buffer, PATIENCE).unwrap();
    let received = received.expect("it comes in time");
    (received.from, buffer[..received.len_bytes].to_vec())
}

/// The message of that number of a sender, which says which it is, and its length.
fn message(from: u16, number: u64) -> Vec<u8> {
    let mut random = Random::new(u64::from(from) << 32 | number);
    let len = match random.one_in(8) {
        true => random.index(20_000),
        false => random.index(100),
    };
    random.bytes(len)
}

#[test]
fn all_get_all_messages_of_all_in_order() {
    const MESSAGES: u64 = 200;
    let hosts = Hosts::new();
    let boards = hosts.all();
    thread::scope(|scope| {
        for board in &boards {
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    let message = message(board.member(), number);
                    board.broadcast(&message, PATIENCE).unwrap();
                }
                assert!(board.wait_until_read(PATIENCE).unwrap());
            });
            scope.spawn(move || {
                let mut next = [0; MEMBERS as usize];
                for _ in 0..MESSAGES * u64::from(MEMBERS - 1) {
                    let (from, got) = receive(board, None);
                    let number = &mut next[usize::from(from)];
                    let (member, expected) = (board.member(), message(from, *number));
                    assert!(got == expected, "{member} got message {number} of {from}");
                    *number += 1;
                }
            });
        }
    });
}

#[test]
fn a_member_of_another_host_ends_and_comes_again() {
    let hosts = Hosts::new();
    let mut boards = hosts.all();
    let last = boards.pop().unwrap();
    boards[0].send(5, b"before", PATIENCE).unwrap();
    assert_eq!(receive(&last, Some(0)), (0, b"before".to_vec()));
    last.broadcast(b"posted", PATIENCE).unwrap();
    drop(last);
    let deadline = Instant::now() + Duration::from_secs(20);
    // A few: all slots would be in use until it comes again, and takes note of them.
    let mut lost = 0;
    while !matches!(boards[0].life(5).unwrap(), Life::Gone(_)) {
        assert!(Instant::now() < deadline, "it is not known");
        if lost < 10 {
            lost += 1;
            boards[0].send(5, b"lost", PATIENCE).unwrap_or_default();
        }
    }
    let gone = boards[0].send(5, b"lost", PATIENCE);
    assert!(matches!(gone, Err(Error::Gone { member: 5, .. })));
    // What it had posted is there.
    for board in &boards {
        assert_eq!(receive(board, Some(5)), (5, b"posted".to_vec()));
        while board.event().unwrap().is_some() {}
    }
    let again = hosts.join(5);
    let deadline = Instant::now() + Duration::from_secs(20);
    while !matches!(boards[0].life(5).unwrap(), Life::There) {
        assert!(Instant::now() < deadline, "it is not known");
    }
    boards[0].send(5, b"again", PATIENCE).unwrap();
    again.send(0, b"me too", PATIENCE).unwrap();
    assert_eq!(receive(&boards[0], Some(5)), (5, b"me too".to_vec()));
    assert_eq!(receive(&again, Some(0)), (0, b"again".to_vec()));
}
