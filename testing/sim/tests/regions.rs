//! Worlds of reflective memory of every kind, and those that were once wrong.

use bcl_sim::region::{Kind, Plan, World};

/// Seeds that found something, with what it was. They stay, so that it stays mended.
const ONCE_WRONG: &[(Kind, u64, &str)] = &[
    (
        Kind::Rough,
        28,
        "what a program here wrote while a partition was fetched was overwritten by what came",
    ),
    (
        Kind::Rough,
        49,
        "a partition that nobody ever wrote was taken for lacking for ever",
    ),
    (
        Kind::Rough,
        9,
        "a host that had still to fetch the region was counted among those who have all",
    ),
    (
        Kind::Crashes,
        10,
        "a log went on behind what its host had not sent yet, as it waited for a dead one",
    ),
    (
        Kind::Crashes,
        8,
        "a partition was fetched with writes that its member never got out, and kept; and who got a log from another than its \
         own host never heard how far that had come",
    ),
    (
        Kind::Cuts,
        12,
        "a host that had skipped a log took its old copy of the partition for the latest",
    ),
    (
        Kind::Cuts,
        20,
        "the same, before it had met the host that had the latest",
    ),
    (
        Kind::Crashes,
        37,
        "two hosts that fetched from each other waited for logs that they held back",
    ),
    (
        Kind::All,
        18,
        "a process waited for ever for what only a dead host had of the log before",
    ),
    (
        Kind::Rough,
        16,
        "a new member wrote more than a log before others followed, who then had to skip it",
    ),
    (
        Kind::All,
        209,
        "what nobody has of a dead member's log was waited for",
    ),
    (
        Kind::All,
        421,
        "a process became a member where nobody knew of an earlier one, whose log had the later epoch by chance",
    ),
    (
        Kind::All,
        92,
        "a process lost its place to one that had ended, on a host that had not been heard, and had the later epoch by chance",
    ),
];

/// What is wrong with a world, if anything is.
fn wrong(kind: Kind, seed: u64) -> Option<String> {
    World::new(Plan::new(kind, seed)).run().err()
}

fn all_right(kind: Kind, seeds: u64) {
    let wrong: Vec<_> = (0..seeds)
        .filter_map(|seed| Some(format!("seed {seed}: {}", wrong(kind, seed)?)))
        .collect();
    assert!(wrong.is_empty(), "{kind:?}, {}", wrong.join("\n"));
}

#[test]
fn what_was_once_wrong_is_right() {
    for (kind, seed, what) in ONCE_WRONG {
        assert_eq!(wrong(*kind, *seed), None, "{kind:?}, seed {seed}: {what}");
    }
}

#[test]
fn nothing_goes_wrong_where_nothing_is() {
    all_right(Kind::Calm, 6);
}

#[test]
fn one_packet_of_twenty_is_lost() {
    all_right(Kind::Lossy, 6);
}

#[test]
fn everything_happens_to_one_packet_of_ten() {
    all_right(Kind::Rough, 30);
}

#[test]
fn hosts_come_late() {
    all_right(Kind::Late, 4);
}

#[test]
fn members_end_and_come_again() {
    all_right(Kind::Deaths, 4);
}

#[test]
fn hosts_end_and_come_again() {
    all_right(Kind::Crashes, 4);
}

#[test]
fn hosts_cannot_hear_each_other() {
    all_right(Kind::Cuts, 4);
}

#[test]
fn hosts_stop_and_go_on() {
    all_right(Kind::Pauses, 4);
}

#[test]
fn another_process_goes_on_and_nobody_misses_anything() {
    for seed in 0..4 {
        let went = World::new(Plan::new(Kind::Takeovers, seed)).run();
        let skips = went.map(|outcome| outcome.skips);
        assert_eq!(skips, Ok(0), "seed {seed}");
    }
}

#[test]
fn forty_hosts_pass_packets_on() {
    all_right(Kind::Crowd, 1);
}

#[test]
fn two_hundred_and_fifty_six_hosts() {
    all_right(Kind::Multitude, 1);
}
