//! Peers that fall silent: for a while, which is no death, or for good, which is.

use std::thread::sleep;
use std::time::{Duration, Instant};

use bcl_testing::peer::Peer;

use crate::lab::{Lab, assert_last, meet};

/// Shorter than the silence after which a peer counts as dead (3 s), and longer.
const A_WHILE: Duration = Duration::from_secs(2);
const TOO_LONG: Duration = Duration::from_secs(5);
/// After which nothing is due any more.
const IDLE: Duration = Duration::from_millis(200);

/// Waits until a peer is gone to which a message was on its way.
fn miss(one: &mut Peer) {
    let events = one.ask("until gone 60000");
    assert_last(&events, "gone");
    let events = events + " " + &one.ask("serve 300");
    assert!(events.contains("sent:"), "{events}");
    assert_eq!(events.matches("gone").count(), 1, "{events}");
}

#[test]
fn what_is_sent_while_the_cable_is_pulled_arrives_when_it_is_back() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    other.tell("post 1 100000");
    lab.cluster.cut(1).expect("a cable can be pulled");
    one.tell(&format!("system {} 1000 10", other.address));
    one.tell(&format!("send {} 1 100000 heap", other.address));
    one.order("until sent 60000");
    other.order("until received 60000");
    sleep(A_WHILE);
    lab.cluster.mend(1).expect("it can be plugged in");
    let events = other.line();
    assert_eq!(events.matches("message").count(), 10, "{events}");
    assert!(events.ends_with("received"), "{events}");
    assert!(!one.line().contains("gone"));
}

/// The sender computes, after it was idle: its thread had nothing to do for the next seconds.
#[test]
fn what_was_lost_is_sent_again_though_its_sender_computes() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    sleep(IDLE);
    lab.cluster.cut(1).expect("a cable can be pulled");
    one.tell(&format!("system {} 1000 1", other.address));
    sleep(Duration::from_millis(50));
    lab.cluster.mend(1).expect("it can be plugged in");
    let events = other.ask("until message 1500");
    assert_last(&events, "message");
}

/// SEM-7.4: the message arrives before its sender is gone, who has not waited for that.
#[test]
fn who_leaves_a_peer_that_computes_need_not_wait_for_it() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    other.tell("post 1 1000");
    sleep(IDLE);
    one.tell(&format!("send {} 1 1000 heap", other.address));
    let began = Instant::now();
    assert_eq!(one.end(), 0);
    let took = began.elapsed();
    // A peer that does not answer is waited for 3 s.
    assert!(took < Duration::from_secs(2), "{took:?}");
    sleep(IDLE);
    let events = other.ask("until gone 5000");
    assert!(events.contains("received"), "{events}");
    assert_last(&events, "gone");
}

#[test]
fn a_stopped_peer_goes_on_where_it_was() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    other.tell("post 1 100000");
    other.stop();
    one.tell(&format!("system {} 1000 10", other.address));
    one.tell(&format!("send {} 1 100000 heap", other.address));
    let events = one.ask(&format!("serve {}", A_WHILE.as_millis()));
    assert!(!events.contains("gone"), "{events}");
    other.signal(libc::SIGCONT);
    one.order("serve 1000");
    let events = other.ask("until received 60000");
    assert_eq!(events.matches("message").count(), 10, "{events}");
    assert!(events.ends_with("received"), "{events}");
    assert!(!one.line().contains("gone"));
}

/// Dead is who is silent too long; who comes back can be talked to again.
#[test]
fn a_peer_that_was_stopped_too_long_comes_back() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    other.stop();
    one.tell(&format!("send {} 1 100000 heap", other.address));
    miss(&mut one);
    sleep(TOO_LONG);
    other.signal(libc::SIGCONT);
    other.ask("serve 1000");
    meet(&mut one, &mut other);
    meet(&mut other, &mut one);
}

#[test]
fn a_host_that_vanishes_is_missed() {
    for hosts in [2, 3] {
        let Some(mut lab) = Lab::new(hosts) else {
            return;
        };
        let (mut one, other) = lab.pair();
        one.tell(&format!("send {} 1 100000 heap", other.address));
        lab.cluster.delete(1).expect("a host can be deleted");
        miss(&mut one);
    }
}

#[test]
fn a_host_that_moves_is_missed_and_found_at_its_new_address() {
    let Some(mut lab) = Lab::new(3) else {
        return;
    };
    let (mut one, other) = lab.pair();
    one.tell(&format!("send {} 1 100000 heap", other.address));
    let new = lab.cluster.spare_address();
    lab.cluster
        .change_address(1, new)
        .expect("an address changes");
    miss(&mut one);
    let mut other = lab.start(1, &["obey"]);
    assert_eq!(other.address.node.0, new);
    meet(&mut one, &mut other);
    meet(&mut other, &mut one);
}
