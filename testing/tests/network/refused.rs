//! A process that is killed while its host lives: the host says that nobody listens there, and its peers need not wait
//! for silence to tell ([WIRE-12.5]). They are as patient here as no test is: only the host's word can end the wait.

use bcl_testing::peer::Peer;

use crate::lab::{Lab, assert_last, in_the_middle_of_a_long_message, meet};

/// Silence after which a peer is given up; much longer than any test lasts.
const PATIENCE_MS: &str = "600000";

/// Two that have met, the second of which has been killed after `phase`; what the first hears of that.
fn heard_after(phase: impl FnOnce(&mut Peer, &mut Peer)) -> Option<String> {
    let lab = Lab::new(2)?;
    let mut patient = lab.command(0, &["obey"]);
    patient.env("BCL_DEAD_AFTER_MS", PATIENCE_MS);
    let mut one = Peer::spawn(patient);
    let mut other = lab.start(1, &["obey"]);
    meet(&mut one, &mut other);
    phase(&mut one, &mut other);
    other.kill();
    let events = one.ask("until gone 60000");
    assert_last(&events, "gone");
    Some(events + " " + &one.ask("serve 100"))
}

#[test]
fn who_sends_to_it_hears_at_once() {
    let events = heard_after(|one, other| {
        other.kill();
        one.tell(&format!("send {} 1 100 heap", other.address));
    });
    assert!(events.is_none_or(|events| events.contains("sent:")));
}

#[test]
fn who_is_in_the_middle_of_a_message_hears_at_once() {
    let events = heard_after(in_the_middle_of_a_long_message);
    assert!(events.is_none_or(|events| events.contains("sent:")));
}

/// Nothing is on its way: the peer is asked now and then, and its host answers.
#[test]
fn who_waits_for_it_to_post_hears_when_it_asks() {
    let events = heard_after(|one, other| {
        one.tell(&format!("send {} 1 1000000 heap", other.address));
        one.ask("serve 100");
    });
    assert!(events.is_none_or(|events| events.contains("sent:")));
}

/// The program computes: the thread hears it, and the program when it comes back.
#[test]
fn who_computes_hears_too() {
    let events = heard_after(|one, other| {
        other.tell("bind 0 1000000 heap");
        other.stop();
        one.tell(&format!("put {} 0 1000000", other.address));
    });
    assert!(events.is_none_or(|events| events.contains("rma:")));
}
