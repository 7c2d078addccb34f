//! The worlds and their oracle, tried on a protocol that trusts the network.
//!
//! Where the network deserves it, the oracle has nothing to object to; wherever it does not, the oracle must notice.
//! Else it would prove nothing about a protocol that is right.

mod party;

use bcl_sim::{KINDS, Plan, Report, World, Wrong};

use party::Naive;

fn run(kind: &str, seed: u64) -> Result<Report, Box<Wrong>> {
    World::<Naive>::new(Plan::new(kind, seed).expect("a kind of world")).run()
}

fn objections(kind: &str) -> Vec<String> {
    let runs = (0..40).map(|seed| run(kind, seed));
    runs.filter_map(|run| Some(run.err()?.what)).collect()
}

#[test]
fn a_perfect_network_needs_no_protocol() {
    for seed in 0..200 {
        let mut plan = Plan::new("calm", seed).expect("a kind of world");
        plan.host.inbox_bytes = 1 << 30;
        plan.uplink.queue_bytes = 1 << 30;
        plan.downlink.queue_bytes = 1 << 30;
        let report = World::<Naive>::new(plan).run();
        let report = report.unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(report.delivered > 0);
    }
}

#[test]
fn what_a_network_spoils_is_noticed() {
    let all = |kind: &str, word: &str| {
        let found = objections(kind);
        assert!(
            found.iter().any(|what| what.contains(word)),
            "{word} in {kind}: {found:#?}"
        );
    };
    all("lossy", "missing");
    all("lossy", "twice");
    all("lossy", "never sent so");
    all("windows", "ended twice");
    all("strangers", "twice");
    all("deaths", "is dead");
    all("cuts", "missing");
    all("jobs", "different keys");
}

#[test]
fn no_kind_of_fault_goes_unnoticed() {
    for (kind, _) in KINDS.iter().filter(|(kind, _)| *kind != "calm") {
        // A short queue or a slow receiver is a fault only if it overflows.
        let found = objections(kind).len();
        assert!(found > 0, "{kind}");
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for kind in ["calm", "lossy", "mixed"] {
        assert_eq!(run(kind, 5), run(kind, 5), "{kind}");
    }
}
