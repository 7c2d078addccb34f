//! Worlds whose programs exchange tagged messages (`spec/adi.md`).

use bcl_sim::{KINDS, Plan, TaggedPort, Tally, World};

/// Seeds of each kind that `make test` runs; `make soak` goes on where it ends.
const SEEDS: u64 = 25;

/// Seeds that found something, with how their worlds were made and what it was.
type Found = (&'static str, u64, fn(Plan) -> Plan, &'static str);

const ONCE_WRONG: &[Found] = &[
    (
        "mixed",
        287,
        with_interfaces,
        "a receive got the body of another process, which had the sender's address and the same name for it",
    ),
    (
        "lossy",
        77135,
        with_interfaces,
        "packets that had been acknowledged beside a gap were refused, what said so was lost, and nobody said it again",
    ),
    (
        "regrets",
        78744,
        Plan::with_tagged,
        "the end of a connection was told of after what the next had brought, for a send had failed with it",
    ),
    (
        "lengths",
        700034,
        Plan::with_tagged,
        "a long system message was announced after a normal one was pushed in vain, and sent again for ever",
    ),
    (
        "shared",
        811162,
        with_interfaces,
        "round trips were longer than the time between probes, and answers that were not to the latest did not count",
    ),
];

fn with_interfaces(plan: Plan) -> Plan {
    plan.with_tagged().with_interfaces()
}

fn plan(kind: &str, seed: u64) -> Plan {
    Plan::new(kind, seed).expect("a kind of world")
}

/// What is wrong with a world, if anything is.
fn wrong(plan: Plan) -> Option<String> {
    let wrong = World::<TaggedPort>::new(plan).run().err()?;
    Some(wrong.to_string())
}

fn run(with: impl Fn(Plan) -> Plan) {
    let seeds = (0..SEEDS).flat_map(|seed| KINDS.iter().map(move |(kind, _)| (*kind, seed)));
    let found: Vec<String> = seeds
        .filter_map(|(kind, seed)| wrong(with(plan(kind, seed))))
        .collect();
    let shown = found.iter().take(5).map(|text| format!("\n  {text}"));
    let count = found.len();
    assert_eq!(count, 0, "worlds are wrong:{}", shown.collect::<String>());
}

// ADI-1.1, 1.4, 3.2, 4.1, 5.4, 6.1: each message arrives once or somebody is told why not, each operation ends once, who meets
// whom is what lists give, nobody is taken for a cheat, and in the end nothing is left.
#[test]
fn all_kinds_of_worlds() {
    run(Plan::with_tagged);
}

// ADI-8.1, 8.2, 8.3, 8.4, 8.6: what one-sided operations do is done once, where it belongs, and each ends once.
#[test]
fn all_kinds_of_worlds_with_one_sided_operations() {
    run(|plan| plan.with_one_sided());
}

#[test]
fn all_kinds_of_worlds_with_interfaces() {
    run(with_interfaces);
}

#[test]
fn all_kinds_of_worlds_with_own_keys() {
    run(|plan| with_interfaces(plan).with_own_keys());
}

#[test]
fn what_was_once_wrong_is_right() {
    for (kind, seed, with, what) in ONCE_WRONG {
        if let Some(found) = wrong(with(plan(kind, *seed))) {
            panic!("again ({what}): {found}");
        }
    }
}

/// A world in which little happens shows little.
#[test]
fn all_that_can_come_of_a_message_does() {
    let mut sum = Tally::default();
    for kind in ["calm", "deaths", "full"] {
        for seed in 0..10 {
            let world = World::<TaggedPort>::new(plan(kind, seed).with_tagged());
            let common = world.common().clone();
            world.run().unwrap_or_else(|wrong| panic!("{wrong}"));
            sum.add(&common.borrow().tally);
        }
    }
    let Tally {
        whole,
        announced,
        pushed,
        received,
        truncated,
        failed,
        canceled,
        discarded,
        refused,
        lost,
    } = sum;
    let often = [whole, announced, pushed, received, truncated, canceled];
    let seldom = [failed, discarded, refused, lost];
    assert!(often.iter().all(|times| *times > 200), "{sum:?}");
    assert!(seldom.iter().all(|times| *times > 10), "{sum:?}");
}

/// As of messages.
#[test]
fn one_sided_operations_are_done_and_fail() {
    let mut operations = (0, 0);
    for kind in ["calm", "deaths", "windows"] {
        for seed in 0..10 {
            let world = World::<TaggedPort>::new(plan(kind, seed).with_one_sided());
            let report = world.run().unwrap_or_else(|wrong| panic!("{wrong}"));
            operations.0 += report.operations.0;
            operations.1 += report.operations.1;
        }
    }
    let (done, failed) = operations;
    assert!(done > 2000 && failed > 20, "{operations:?}");
}

#[test]
fn the_same_seed_is_the_same_run() {
    for (kind, _) in KINDS {
        let run = || {
            let world = World::<TaggedPort>::new(plan(kind, 3).with_tagged());
            let common = world.common().clone();
            let report = world.run().unwrap_or_else(|wrong| panic!("{wrong}"));
            let tally = common.borrow().tally;
            (report, tally)
        };
        assert_eq!(run(), run(), "{kind}");
    }
}
