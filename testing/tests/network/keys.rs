//! Jobs are separated by their keys, on the same hosts and the same ports.

use bcl_testing::peer::Peer;

use crate::lab::{Lab, assert_last, meet};

const OTHER_KEY: &str = "0808080808080808080808080808080808080808080808080808080808080808";

#[test]
fn two_jobs_never_meet() {
    let Some(lab) = Lab::new(2) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    let mut command = lab.command(1, &["obey"]);
    command.env("BCL_JOB_KEY", OTHER_KEY);
    let mut stranger = Peer::spawn(command);

    one.tell(&format!("system {} 100 1", stranger.address));
    stranger.order("serve 4000");
    let events = one.ask("until sent 60000");
    assert_last(&events, "sent:");
    assert_eq!(stranger.line(), "");

    stranger.tell(&format!("system {} 100 1", one.address));
    one.order("serve 4000");
    let events = stranger.ask("until sent 60000");
    assert_last(&events, "sent:");
    assert_eq!(one.line(), "");

    meet(&mut one, &mut other);
    meet(&mut other, &mut one);
}
