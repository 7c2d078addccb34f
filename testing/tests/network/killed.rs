//! kill -9 in each phase: the others learn of it, what was pending fails, and whoever comes next is not taken for the
//! dead.

use bcl_testing::peer::Peer;

use crate::lab::{Lab, assert_last, in_the_middle_of_a_long_message, meet};

/// Kills the second peer after `phase`, and sees that the first learns of it and can talk to a third.
fn killed_after(phase: impl FnOnce(&mut Peer, &mut Peer)) -> Option<String> {
    let lab = Lab::new(2)?;
    let (mut one, mut other) = lab.pair();
    phase(&mut one, &mut other);
    other.kill();
    let mut events = one.ask("until gone 60000");
    assert_last(&events, "gone");
    events = events + " " + &one.ask("serve 300");
    assert_eq!(events.matches("gone").count(), 1, "{events}");
    // The same port again: a new incarnation.
    let mut next = lab.start(1, &["obey"]);
    meet(&mut one, &mut next);
    meet(&mut next, &mut one);
    Some(events)
}

#[test]
fn before_it_was_met() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let mut one = lab.start(0, &["obey"]);
    let mut other = lab.start(1, &["obey"]);
    other.kill();
    one.tell(&format!("system {} 100 1", other.address));
    let events = one.ask("until sent 60000");
    assert_last(&events, "sent:");
}

#[test]
fn while_it_is_met() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let mut one = lab.start(0, &["obey"]);
    let mut other = lab.start(1, &["obey"]);
    other.stop();
    one.tell(&format!("system {} 100 1", other.address));
    one.ask("serve 50");
    other.kill();
    let events = one.ask("until sent 60000");
    assert_last(&events, "sent:");
}

/// Nothing is pending: only a probe can tell, or the first message.
#[test]
fn after_it_was_met() {
    let events = killed_after(|one, other| {
        other.kill();
        one.tell(&format!("system {} 100 1", other.address));
    });
    // Its kernel says so, and returns the question whether that is true ([WIRE-12.5]).
    assert!(events.is_none_or(|events| events.contains("gone:Vanished")));
}

#[test]
fn with_system_messages_on_their_way() {
    killed_after(|one, other| {
        other.stop();
        one.tell(&format!("system {} 1000 100", other.address));
        one.ask("serve 20");
    });
}

#[test]
fn with_a_message_that_waits_for_a_post() {
    let events = killed_after(|one, other| {
        one.tell(&format!("send {} 1 1000000 heap", other.address));
        one.ask("serve 20");
    });
    assert!(events.is_none_or(|events| events.contains("sent:")));
}

#[test]
fn in_the_middle_of_a_message() {
    let events = killed_after(in_the_middle_of_a_long_message);
    assert!(events.is_none_or(|events| events.contains("sent:")));
}

#[test]
fn with_a_message_coming_from_it() {
    let events = killed_after(|one, other| {
        one.tell("post 1 100000000");
        other.tell(&format!("send {} 1 100000000 heap", one.address));
        other.order("serve 60000");
        one.ask("serve 10");
    });
    // In part, which is an error, or just in time.
    assert!(events.is_none_or(|events| events.contains("received")));
}

#[test]
fn with_a_put_on_its_way() {
    let events = killed_after(|one, other| {
        other.tell("bind 0 100000000 heap");
        other.order("serve 60000");
        one.tell(&format!("put {} 0 100000000", other.address));
        one.ask("serve 5");
    });
    assert!(events.is_none_or(|events| events.contains("rma:")));
}
