//! Unreliable messages between hosts on a bad network: some are lost, none comes twice, and none comes damaged.
//! SEM-4.7

use bcl_observe::Counter;
use bcl_testing::netns::Faults;

use crate::lab::Lab;

const MESSAGES: u64 = 20_000;

#[test]
fn some_are_lost_none_doubled_and_none_spoilt() {
    let Some(mut lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    for (host, seed) in [(0, 21), (1, 22)] {
        let faults = Faults::all(10, seed);
        lab.cluster
            .inject(host, &faults)
            .expect("the injector works");
    }
    other.order("gather");
    one.tell(&format!("scatter {} {MESSAGES}", other.address));
    one.order("until sent 60000");
    let answer = other.line();
    let arrived: u64 = answer.parse().unwrap_or_else(|_| panic!("{answer}"));
    assert!((1..MESSAGES).contains(&arrived), "{arrived}");
    // The network did what it was told, and the port saw it.
    let tally = lab.cluster.tally(1).expect("it counts");
    assert!(tally.corrupted > 0 && tally.duplicated > 0 && tally.lost > 0);
    other.ask("serve 50");
    let stat = lab.stat(1, &other);
    assert!(stat.read(Counter::NetDropCheck) > 0);
    assert!(stat.read(Counter::NetDropDuplicate) > 0);
}
