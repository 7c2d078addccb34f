//! What broadcasts and barriers of many hosts take and send, as a text that a reviewer sees change: virtual time makes it exact.

mod snapshot;

use bcl_sim::collective::{Way, What, cost, table};

/// `bcl-sim --collectives 1024` shows more.
const MOST_HOSTS: usize = 64;

#[test]
fn the_table_is_as_it_was() {
    let table = "After a change that is meant: UPDATE_SNAPSHOT=1 cargo test -p bcl-sim --test collectives\n\n".to_owned()
        + &table(MOST_HOSTS).unwrap();
    snapshot::compare("collectives.txt", &table);
}

#[test]
fn a_broadcast_by_multicast_takes_as_long_for_many_as_for_few() {
    let ns = |hosts| cost(What::Broadcast(8), Way::Multicast, hosts).unwrap().ns;
    assert_eq!(ns(64), ns(4));
}

/// Of those three steps away the sender has to hear too, or it takes them for deaf.
#[test]
fn a_multicast_to_more_hosts_than_two_steps_reach_stays_one() {
    let cost = cost(What::Broadcast(8), Way::Multicast, 280).unwrap();
    assert!(cost.packets < 1 + 279 + 2 * 17, "{cost:?}");
}

#[test]
fn the_sender_of_a_multicast_hears_from_few() {
    let cost = cost(What::Broadcast(8), Way::Multicast, 64).unwrap();
    // One packet to all; then each tells one, and those who are told by others tell that the sender.
    assert!(cost.packets <= 1 + 63 + 4, "{cost:?}");
}
