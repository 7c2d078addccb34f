//! 10,000 messages each way, operations on windows in between, while the network does what networks do. Everything
//! arrives once, in order and intact, or the helper programs say what did not.

use std::env;
use std::time::Duration;

use bcl_observe::Counter;
use bcl_testing::netns::{Cluster, Faults};
use bcl_testing::peer::Peer;
use bcl_types::Device;

use crate::lab::{Lab, Tiers};

/// How many messages, and how long they are at most, in bytes.
const MANY_LONG: [&str; 2] = ["10000", "300000"];
const MANY: [&str; 2] = ["10000", "30000"];

/// How many messages where most packets meet with a fault; `make soak` wants more.
const UNDER_FAULTS: &str = "BCL_TEST_MESSAGES_UNDER_FAULTS";
const UNDER_FAULTS_USUALLY: &str = "200";

/// Lets both hosts exchange so many messages of up to `longest` bytes while `meanwhile` happens to the network.
fn exchange(
    prepare: impl FnOnce(&mut Cluster),
    messages: [&str; 2],
    meanwhile: impl FnOnce(&mut Cluster),
) {
    if let Some(lab) = Lab::new(2) {
        exchange_in(lab, prepare, messages, meanwhile);
    }
}

fn exchange_in(
    mut lab: Lab,
    prepare: impl FnOnce(&mut Cluster),
    messages: [&str; 2],
    meanwhile: impl FnOnce(&mut Cluster),
) {
    prepare(&mut lab.cluster);
    let peers = exchanged(&mut lab, messages, meanwhile);
    leave(peers);
}

/// The peers after they have exchanged what they had to.
fn exchanged(
    lab: &mut Lab,
    [count, longest]: [&str; 2],
    meanwhile: impl FnOnce(&mut Cluster),
) -> Vec<Peer> {
    let ports = [101, 102];
    let mut peers: Vec<Peer> = [0, 1]
        .into_iter()
        .map(|host| {
            let other = format!("{}:{}", lab.cluster.host(1 - host).address, ports[1 - host]);
            let own = ports[host].to_string();
            lab.start(host, &["traffic", &own, &other, count, longest])
        })
        .collect();
    for peer in &mut peers {
        peer.order("go");
    }
    meanwhile(&mut lab.cluster);
    for peer in &mut peers {
        assert_eq!(peer.line(), "done", "{}", peer.address);
    }
    peers
}

fn leave(mut peers: Vec<Peer>) {
    for peer in &mut peers {
        peer.order("leave");
        assert_eq!(peer.end(), 0, "{}", peer.address);
    }
}

fn with_faults(percent: u32, messages: [&str; 2]) {
    let make_bad = |cluster: &mut Cluster| {
        for (host, seed) in [(0, 11), (1, 12)] {
            let faults = Faults::all(percent, seed);
            cluster.inject(host, &faults).expect("the injector works");
        }
    };
    exchange(make_bad, messages, |_| {});
}

#[test]
fn without_faults() {
    with_faults(0, MANY_LONG);
}

#[test]
fn with_one_percent_of_each_fault() {
    with_faults(1, MANY_LONG);
}

#[test]
fn with_ten_percent_of_each_fault() {
    with_faults(10, MANY);
}

/// Fewer: less than half of all packets arrive whole.
#[test]
fn with_thirty_percent_of_each_fault() {
    let count = env::var(UNDER_FAULTS).unwrap_or_else(|_| UNDER_FAULTS_USUALLY.to_owned());
    with_faults(30, [&count, "1000"]);
}

/// Everybody sends jumbo frames, and from one moment on one of the hosts lets none in. Nobody is told: the other host's
/// packets vanish, also those that are cut and numbered already.
#[test]
fn while_the_mtu_falls() {
    let widen = |cluster: &mut Cluster| cluster.set_mtu_of_all(9000).expect("MTUs can be set");
    let narrow = |cluster: &mut Cluster| {
        std::thread::sleep(Duration::from_millis(50));
        cluster.set_mtu(1, 1400).expect("an MTU can be set");
    };
    exchange(widen, MANY_LONG, narrow);
}

/// Below what nearly every path takes, and with packets lost besides.
#[test]
fn while_the_mtu_falls_far_on_a_bad_network() {
    let widen = |cluster: &mut Cluster| {
        cluster.set_mtu_of_all(9000).expect("MTUs can be set");
        for (host, seed) in [(0, 21), (1, 22)] {
            let faults = Faults::all(1, seed);
            cluster.inject(host, &faults).expect("the injector works");
        }
    };
    let narrow = |cluster: &mut Cluster| {
        std::thread::sleep(Duration::from_millis(50));
        cluster.set_mtu(0, 700).expect("an MTU can be set");
    };
    exchange(widen, MANY, narrow);
}

/// Below what IPv4 asks of every path. What every path should take leaves in fragments.
#[test]
fn with_an_mtu_below_that_of_every_path() {
    let narrow = |cluster: &mut Cluster| cluster.set_mtu_of_all(300).expect("MTUs can be set");
    exchange(narrow, MANY, |_| {});
}

/// The same, under way and at one end only: the other one's packets vanish, and nobody is told.
#[test]
fn while_the_mtu_of_one_host_falls_below_that_of_every_path() {
    let narrow = |cluster: &mut Cluster| {
        std::thread::sleep(Duration::from_millis(50));
        cluster.set_mtu(1, 500).expect("an MTU can be set");
    };
    exchange(|_| {}, MANY, narrow);
}

/// One host has jumbo frames and the other has not, which is a mistake of many an administrator.
#[test]
fn with_jumbo_frames_at_one_end_only() {
    let differ = |cluster: &mut Cluster| {
        cluster.set_mtu_of_all(9000).expect("MTUs can be set");
        cluster.set_mtu(1, 1400).expect("an MTU can be set");
    };
    exchange(differ, MANY_LONG, |_| {});
}

/// Two seconds are no death.
#[test]
fn while_the_cable_is_pulled_for_two_seconds() {
    let pull = |cluster: &mut Cluster| {
        std::thread::sleep(Duration::from_millis(100));
        cluster.cut(1).expect("a cable can be pulled");
        std::thread::sleep(Duration::from_secs(2));
        cluster.mend(1).expect("it can be plugged in");
    };
    exchange(|_| {}, MANY_LONG, pull);
}

fn between(tiers: Tiers) {
    if let Some(lab) = Lab::of_two(tiers) {
        exchange_in(lab, |_| {}, MANY_LONG, |_| {});
    }
}

#[test]
fn between_interface_programs() {
    between(Tiers::Xdp);
}

#[test]
fn between_interface_programs_behind_the_driver() {
    between(Tiers::Generic);
}

#[test]
fn between_an_interface_program_and_a_socket() {
    between(Tiers::Both);
}

/// The connection goes on without the interface program, and says so.
#[test]
fn where_a_driver_loses_what_the_interface_program_answers() {
    let Some(mut lab) = Lab::of_two(Tiers::Unheard) else {
        return;
    };
    let peers = exchanged(&mut lab, MANY_LONG, |_| {});
    let stat = lab.stat(0, &peers[0]);
    assert!(stat.read(Counter::NetAnswersUnheard) >= 5);
    let devices = stat.connections().map(|connection| connection.device);
    assert_eq!(devices.collect::<Vec<_>>(), [Some(Device::Udp)]);
    assert_eq!(lab.agents[&0].status().unheard, 1);
    leave(peers);
}
