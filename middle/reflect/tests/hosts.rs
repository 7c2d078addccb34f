//! A region between hosts: loopback addresses, each with a rendezvous folder of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use bcl_node::{Folder, JobKey};
use bcl_reflect::{Error, Life, Options, Region, Waited, reports};
use tempfile::TempDir;

/// Loopback addresses with folders.
struct Hosts {
    folders: Vec<TempDir>,
    key: JobKey,
}

impl Hosts {
    fn new(number: usize) -> Self {
        let folders = (0..number).map(|_| tempfile::tempdir().unwrap());
        Self {
            folders: folders.collect(),
            key: JobKey::random().unwrap(),
        }
    }

    fn address(host: usize) -> IpAddr {
        Ipv4Addr::new(127, 0, 7, host as u8 + 1).into()
    }

    fn options(&self, name: &str, len_bytes: u64, host: usize) -> Options {
        Options::new(name, len_bytes)
            .folder(self.folders[host].path())
            .key(self.key.clone())
            .hosts((0..self.folders.len()).map(Self::address))
            .address(Self::address(host))
    }

    fn join(&self, host: usize, member: u16, members: u16) -> Region {
        let options = self.options("shared", 1 << 16, host);
        options.member(member).members(members).join().unwrap()
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within 20 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_one_writes_appears_on_the_other_host() {
    let hosts = Hosts::new(2);
    let one = hosts.join(0, 0, 2);
    one.write_word(0, 7).unwrap();
    let other = hosts.join(1, 1, 2);
    assert_eq!(other.load(0).unwrap(), 7);
    one.write(8, &[1; 20_000]).unwrap();
    one.write_word(24, 9).unwrap();
    let reached = one
        .wait_until_reached(one.written(), Some(2), Some(Duration::from_secs(10)))
        .unwrap();
    assert!(reached.is_enough && reached.members == 2, "{reached:?}");
    assert_eq!(other.load(24).unwrap(), 9);
    other.write_word(40_000, 3).unwrap();
    one.wait(40_000, 0, Some(Duration::from_secs(10))).unwrap();
    assert_eq!(one.load(40_000).unwrap(), 3);
    drop(other);
    until("the end is known", || one.life(1).unwrap() != Life::There);
    assert!(matches!(
        one.life(1).unwrap(),
        Life::Gone(bcl_types::Cause::Closed)
    ));
}

#[test]
fn what_need_not_be_seen_soon_is_seen_in_order_and_by_itself() {
    let hosts = Hosts::new(2);
    let one = hosts.join(0, 0, 2);
    let other = hosts.join(1, 1, 2);
    let soon = Some(Duration::from_secs(10));
    // Nothing follows, and nobody here does anything.
    one.write_word_later(0, 1).unwrap();
    let seen = other.wait(0, 0, soon).unwrap();
    assert_eq!(seen, Waited::Changed(1));
    // Each with what follows, and before it.
    for turn in 2..1000 {
        one.write_word_later(0, turn).unwrap();
        one.write_word(8, turn).unwrap();
        assert_eq!(one.load(0).unwrap(), turn);
        while other.load(8).unwrap() < turn {
            other.wait(8, turn - 1, soon).unwrap();
        }
        assert!(other.load(0).unwrap() >= turn);
    }
    // Who waits for others to have it does not wait for what is held back.
    one.write_word_later(0, 5000).unwrap();
    let reached = one.wait_until_reached(one.written(), None, soon).unwrap();
    assert!(reached.is_enough && other.load(0).unwrap() == 5000);
    // The last before the end.
    one.write_word_later(0, 6000).unwrap();
    drop(one);
    until("the end is known", || other.life(0).unwrap() != Life::There);
    assert_eq!(other.load(0).unwrap(), 6000);
}

#[test]
fn where_the_network_has_multicast_one_packet_is_for_all() {
    let hosts = Hosts::new(4);
    let all: Vec<Region> = (0..4)
        .map(|host| hosts.join(host.into(), host, 4))
        .collect();
    let network = || {
        let folder = Folder::open(hosts.folders[0].path()).unwrap();
        reports(&folder).unwrap().remove(0).network.unwrap()
    };
    until("all hear", || network().hearers == 3);
    assert_eq!(network().way, "IP multicast brings a packet to all 3");
    for word in 1..3000 {
        all[0].write_word(8 * (word % 64), word).unwrap();
    }
    let patience = Some(Duration::from_secs(10));
    let reached = all[0]
        .wait_until_reached(all[0].written(), None, patience)
        .unwrap();
    assert!(reached.is_enough && reached.members == 4, "{reached:?}");
    for region in &all[1..] {
        assert_eq!(region.load(8 * (2999 % 64)).unwrap(), 2999);
    }
}

#[test]
fn a_member_is_one_process_on_all_hosts() {
    let hosts = Hosts::new(2);
    let _one = hosts.join(0, 0, 2);
    let options = hosts.options("shared", 1 << 16, 1);
    let error = options.member(0).members(2).join().unwrap_err();
    assert!(matches!(error, Error::Taken { .. }), "{error}");
    assert!(error.to_string().contains("on 127.0.7.1"), "{error}");
}

#[test]
fn hosts_must_mean_the_same_region() {
    let hosts = Hosts::new(2);
    let _one = hosts.join(0, 0, 2);
    let options = hosts.options("shared", 1 << 12, 1);
    let error = options.member(1).members(2).join().unwrap_err();
    assert!(
        matches!(
            error,
            Error::Geometry {
                len_bytes: 65_536,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn another_process_goes_on_when_the_one_that_kept_the_region_leaves() {
    let hosts = Hosts::new(2);
    let (keeper, stays) = (hosts.join(0, 0, 3), hosts.join(0, 1, 3));
    let far = hosts.join(1, 2, 3);
    keeper.write_word(0, 1).unwrap();
    drop(keeper);
    for word in 1..2000 {
        stays.write_word(8 * (word % 4), word).unwrap();
    }
    let reached = stays
        .wait_until_reached(stays.written(), Some(2), Some(Duration::from_secs(10)))
        .unwrap();
    assert_eq!(reached.members, 2);
    assert_eq!(far.load(24).unwrap(), 1999);
    assert!(matches!(far.life(0).unwrap(), Life::Gone(_)));
    assert_eq!(far.life(1).unwrap(), Life::There);
    far.write_word(64, 5).unwrap();
    until("what the other writes is here", || {
        stays.load(64).unwrap() == 5
    });
}

#[test]
fn after_a_storm_all_have_the_same() {
    const WRITES: u64 = 3000;
    let hosts = Hosts::new(3);
    let regions: Vec<Region> = (0..6)
        .map(|member| hosts.join(member / 2, member as u16, 6))
        .collect();
    let know = |region: &Region| (0..6).all(|member| region.life(member).unwrap() == Life::There);
    until("all know each other", || regions.iter().all(know));
    std::thread::scope(|scope| {
        for region in &regions {
            scope.spawn(move || {
                let start = u64::from(region.member()) * 10_000;
                for turn in 0..WRITES {
                    let at = start + turn * 131 % 9000;
                    let len_bytes = 1 + (turn * 37 % 900) as usize;
                    region.write(at, &vec![turn as u8; len_bytes]).unwrap();
                }
                let patience = Some(Duration::from_secs(20));
                let reached = region.wait_until_reached(region.written(), None, patience);
                assert!(reached.unwrap().is_enough);
            });
        }
    });
    let contents: Vec<Vec<u8>> = regions
        .iter()
        .map(|region| {
            let mut all = vec![0; 1 << 16];
            region.read(0, &mut all).unwrap();
            all
        })
        .collect();
    for content in &contents[1..] {
        assert!(contents[0] == *content, "regions differ");
    }
}
