//! What a receiver holds follows from who talks to it, not from who could.

use bcl_sim::net::LinkSpec;
use bcl_sim::party::{Held, Party};
use bcl_sim::{Mix, SimPort, Streams, World};

/// What the receiver of 100 streams holds if it knows `known` peers.
fn held(known: usize) -> Held {
    let streams = Streams {
        senders: 100,
        uplink: LinkSpec::GOOD,
        downlink: LinkSpec::GOOD,
        message_bytes: 4 << 10,
        most_pending: 4,
        mix: Mix::NORMAL,
        interfaces: false,
    };
    let mut plan = streams.plan(1);
    plan.silent_peers = known - 100;
    let mut world = World::<SimPort>::new(plan);
    let run = world.advance(20_000_000);
    run.unwrap_or_else(|wrong| panic!("{wrong}"));
    world.party(0).expect("the receiver is there").held()
}

#[test]
fn ten_thousand_known_peers_cost_as_much_as_a_hundred() {
    let (hundred, ten_thousand) = (held(100), held(10_000));
    assert_eq!(hundred.connections, 100);
    assert_eq!(hundred, ten_thousand);
}
