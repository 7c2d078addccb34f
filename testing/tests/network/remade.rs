//! An interface that is deleted and made anew, as when a driver is loaded again or a bond rebuilt: ports go on, the agent
//! follows, and nobody is told that a program is where it is not.

use std::process::Stdio;
use std::time::{Duration, Instant};

use bcl_agent_client::InterfaceStatus;
use bcl_testing::agent::Agent;
use bcl_testing::netns::{INTERFACE, cluster};
use bcl_testing::peer::Peer;

use crate::lab::{Lab, Tiers, meet};

/// After so long a connection that was taken back is with the interface program again, if that is there.
const BACK: Duration = Duration::from_secs(10);

fn interface(agent: &Agent) -> InterfaceStatus {
    let mut interfaces = agent.status().interfaces.into_iter();
    interfaces.next().expect("it has one")
}

/// The agent does so within a second.
#[track_caller]
fn until(agent: &Agent, is_attached: bool) {
    let begin = Instant::now();
    while interface(agent).is_attached() != is_attached {
        assert!(begin.elapsed() < Duration::from_secs(1), "it follows");
        std::thread::yield_now();
    }
}

/// Whether the program at the interface takes the packets of the port's peer.
fn is_taken(port: &mut Peer) -> bool {
    let how = port.ask("copy");
    assert!(
        how.contains("the program") || how.contains("by the socket"),
        "{how}"
    );
    how.contains("the program at the interface takes what it sends")
}

#[test]
fn the_program_is_at_the_new_interface_as_well() {
    let Some(mut lab) = Lab::of_two(Tiers::Generic) else {
        return;
    };
    let (mut one, mut other) = lab.pair();
    lab.cluster.unmake_cable().expect("it can be taken away");
    until(&lab.agents[&0], false);
    let trouble = interface(&lab.agents[&0]).trouble.expect("it says why");
    assert!(trouble.contains("no interface 'eth0'"), "{trouble}");
    let mut insisting = lab.command(0, &["obey"]);
    let refused = insisting.stdin(Stdio::null()).output().expect("it starts");
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(why.contains("is not an address of this machine"), "{why}");

    lab.cluster.make_cable().expect("another can be laid");
    until(&lab.agents[&0], true);
    until(&lab.agents[&1], true);
    let begin = Instant::now();
    loop {
        meet(&mut one, &mut other);
        meet(&mut other, &mut one);
        let are_taken = [is_taken(&mut one), is_taken(&mut other)];
        if are_taken == [true; 2] {
            break;
        }
        assert!(begin.elapsed() < BACK, "{are_taken:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let later = lab.start(0, &["obey"]);
    drop((later, one, other));
}

/// A virtual card may be plugged after the agent has been started.
#[test]
fn who_is_started_by_systemd_waits_for_an_interface() {
    let Some(mut cluster) = cluster(2) else {
        return;
    };
    cluster.unmake_cable().expect("it can be taken away");
    let namespace = &cluster.host(0).namespace;
    let agent = Agent::awaited_inside(namespace, &["--interface", INTERFACE]);
    assert!(!interface(&agent).is_attached());
    cluster.make_cable().expect("another can be laid");
    until(&agent, true);
}
