//! Operations on windows that interface programs serve while all goes wrong: a process that is stopped for long, a network that spoils
//! most packets, an owner that is killed.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bcl_testing::PATIENCE;
use bcl_testing::netns::{Faults, switched};

use crate::lab::{ALL, Lab, Tiers};

/// Three times as long as a silence after which a peer counts as dead.
const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_process_that_is_stopped_for_ten_seconds_misses_none_of_100_000_puts() {
    for tiers in [Tiers::Xdp, Tiers::Generic] {
        let Some(lab) = Lab::of_two(tiers) else {
            return;
        };
        let (mut one, mut other) = lab.pair_with_window(100_000, ALL);
        let to = other.address;
        other.stop();
        let begun = Instant::now();
        assert_eq!(one.ask(&format!("write {to} 1 50000")), "50000");
        sleep(LONG / 2);
        assert_eq!(one.ask(&format!("add {to} 1 10")), "10");
        sleep((LONG / 2).saturating_sub(begun.elapsed()));
        assert_eq!(one.ask(&format!("write {to} 1 100000")), "100000");
        sleep(LONG.saturating_sub(begun.elapsed()));
        other.signal(libc::SIGCONT);
        assert_eq!(other.ask("word 1 0"), "1 0 100000");
    }
}

/// Each put is there once, and each addition was made once, though its answers are lost and its packets come twice.
#[test]
fn where_most_packets_meet_a_fault_each_operation_is_done_once() {
    let Some(mut lab) = switched().and_then(|cluster| Lab::with(Tiers::Generic, cluster)) else {
        return;
    };
    let (mut one, mut other) = lab.pair_with_window(1001, ALL);
    let to = other.address;
    let mut inject = |percent| {
        for (host, seed) in [(0, 31), (1, 32)] {
            let faults = Faults::all(percent, seed);
            lab.cluster
                .inject(host, &faults)
                .expect("the injector works");
        }
    };
    inject(30);
    other.stop();
    assert_eq!(one.ask(&format!("write {to} 1 1000")), "1000");
    assert_eq!(one.ask(&format!("add {to} 1 200")), "200");
    assert_eq!(one.ask(&format!("read {to} 1 1000")), "2998");
    inject(0);
    other.signal(libc::SIGCONT);
    assert_eq!(other.ask("word 1 0"), "201 1 999");
}

#[test]
fn an_owner_that_is_killed_leaves_nobody_waiting_and_nothing_with_the_agent() {
    for tiers in [Tiers::Xdp, Tiers::Generic] {
        let Some(lab) = Lab::of_two(tiers) else {
            return;
        };
        let (mut one, mut other) = lab.pair_with_window(1_000_000, ALL);
        one.order(&format!("write {} 1 1000000", other.address));
        sleep(Duration::from_millis(50));
        other.kill();
        let ended = one.line();
        assert!(ended.contains("PeerGone(Killed(9))"), "{ended}");
        let deadline = Instant::now() + PATIENCE;
        while !lab.agents[&1].status().ports.is_empty() {
            assert!(Instant::now() < deadline, "the port is still there");
            sleep(Duration::from_millis(10));
        }
    }
}
