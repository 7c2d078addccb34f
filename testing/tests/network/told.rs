//! The agent of a node tells of a process that has ended, and how, whether anybody waits for it or not ([WIRE-12.7]). Its
//! peers are as patient here as no test is: only that word can end the wait.

use bcl_testing::peer::Peer;

use crate::lab::{Lab, Tiers, assert_last, in_the_middle_of_a_long_message, meet};

/// Two that have met; what the first hears after `phase` has ended the second.
fn heard_after(tiers: Tiers, phase: impl Fn(&mut Peer, &mut Peer)) -> Option<String> {
    let lab = Lab::of_two(tiers)?;
    let mut patient = lab.command(1, &["obey"]);
    patient.env("BCL_DEAD_AFTER_MS", "600000");
    let mut one = Peer::spawn(patient);
    let mut other = lab.start(0, &["obey"]);
    meet(&mut one, &mut other);
    phase(&mut one, &mut other);
    let events = one.ask("until gone 60000");
    assert_last(&events, "gone");
    Some(events)
}

/// Of a peer at a host with an agent, native and behind the driver; and if there is none where its peer is. Where this test is late
/// to take the status of what it has ended, nobody is told it, so it has a few tries.
fn always(phase: impl Fn(&mut Peer, &mut Peer), cause: &str) {
    for tiers in [Tiers::Xdp, Tiers::Generic, Tiers::Both] {
        let is_told = (0..5).any(|_| {
            let events = heard_after(tiers, &phase);
            events.is_none_or(|events| events.contains(cause))
        });
        assert!(is_told, "{tiers:?}");
    }
}

#[test]
fn who_waits_for_nothing_is_told() {
    always(|_, other| other.kill(), "gone:Killed(9)");
}

#[test]
fn that_it_has_ended_itself() {
    always(
        |_, other| {
            other.order("abort");
            assert_eq!(other.end(), -6);
        },
        "gone:Killed(6)",
    );
}

#[test]
fn who_is_in_the_middle_of_a_message_is_told() {
    always(
        |one, other| {
            in_the_middle_of_a_long_message(one, other);
            other.kill();
        },
        "gone:Killed(9)",
    );
}

/// After a stream neither interface program has the connection.
#[test]
fn who_has_had_a_stream_is_told() {
    always(
        |one, other| {
            one.tell("post 1 30000000");
            other.tell(&format!("send {} 1 30000000 heap", one.address));
            other.order("serve 60000");
            let events = one.ask("until received 60000");
            assert_last(&events, "received");
            other.kill();
        },
        "gone:Killed(9)",
    );
}

/// What it sent last arrives before the news, whoever took it.
#[test]
fn what_it_sent_before_arrives() {
    for tiers in [Tiers::Xdp, Tiers::Generic, Tiers::Both] {
        let events = heard_after(tiers, |one, other| {
            other.tell(&format!("system {} 100 50", one.address));
            other.ask("serve 50");
            other.kill();
        });
        let messages = events.map(|events| events.matches("message").count());
        assert!(
            messages.is_none_or(|messages| messages == 50),
            "{tiers:?}: {messages:?}"
        );
    }
}
