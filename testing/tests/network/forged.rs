//! Packets that no port has sent: changed, made up, or from an earlier life. They reach a live port from the address of
//! its own peer, and nothing comes of them.

use std::env;
use std::time::{Duration, Instant};

use bcl_testing::PATIENCE;
use bcl_testing::netns::Tap;
use bcl_testing::peer::Peer;
use bcl_testing::random::Random;

use crate::lab::{Lab, meet};
use crate::wire::{Captured, queued};

/// How many forged packets; `make soak` wants more.
const PACKETS: &str = "BCL_TEST_FORGED_PACKETS";
const PACKETS_USUALLY: u64 = 200_000;
/// Packets between two looks at whether the port keeps up.
const BURST: u64 = 100;
/// Where the type of a packet is, and the highest one.
const TYPE_AT: usize = 3;
const TYPE_MAX: u64 = 19;

/// Two that have said to each other all kinds of things, which somebody has listened to.
struct Scene {
    lab: Lab,
    one: Peer,
    other: Peer,
    /// From the first to the other.
    captured: Captured,
    /// On the first's host, and on the other's.
    attacker: Tap,
    listener: Tap,
}

impl Scene {
    fn new() -> Option<Self> {
        let lab = Lab::new(2)?;
        let attacker = lab.cluster.host(0).tap().expect("root may");
        let listener = lab.cluster.host(1).tap().expect("root may");
        let (one, other) = lab.pair();
        let mut scene = Self {
            lab,
            one,
            other,
            captured: Captured::default(),
            attacker,
            listener,
        };
        scene.other.tell("bind 0 50000 heap");
        scene.talk();
        Some(scene)
    }

    /// Messages of all kinds each way and a put, all the packets of which are captured, from the first greeting on.
    fn talk(&mut self) {
        let (one, other) = (&mut self.one, &mut self.other);
        let to = other.address;
        other.tell("post 1 50000");
        one.tell(&format!("system {to} 100 5"));
        one.tell(&format!("send {to} 1 50000 heap"));
        one.tell(&format!("put {to} 0 50000"));
        one.order("until rma 10000");
        other.order("serve 500");
        assert!(one.line().ends_with("rma"), "a put is answered");
        assert!(other.line().contains("received"), "a message is received");
        meet(one, other);
        meet(other, one);
        let udp_port = bcl_wire::udp_port::of_port(to.port).expect("it can be reached");
        self.captured.take(&self.listener, udp_port);
        let seen = self.captured.payloads.len();
        assert!(seen >= 40, "only {seen} packets were seen");
        assert_eq!(self.captured.sender(), self.lab.cluster.host(0).address);
    }

    /// Sends packets while the port is served, and sees that it lives and has got nothing but what its peer says then.
    fn attack(&mut self, packets: u64, mut next: impl FnMut(&Captured) -> Vec<u8>) {
        self.other.order("until message 600000");
        for number in 0..packets {
            let payload = next(&self.captured);
            self.attacker.send(&self.captured.frame(&payload));
            if number % BURST == BURST - 1 {
                self.let_it_catch_up();
            }
        }
        self.let_it_catch_up();
        let to = self.other.address;
        self.one.tell(&format!("system {to} 100 1"));
        assert_eq!(self.other.line(), "message");
        let (_, dropped) = queued(self.other.pid());
        assert_eq!(dropped, 0, "packets that the port never saw");
    }

    fn let_it_catch_up(&self) {
        let end = Instant::now() + PATIENCE;
        while queued(self.other.pid()).0 > 0 {
            assert!(Instant::now() < end, "the port does not read its socket");
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// A packet that is not quite one that was sent.
fn changed(random: &mut Random, captured: &Captured) -> Vec<u8> {
    let all = &captured.payloads;
    let mut payload = all[random.below(all.len() as u64) as usize].clone();
    let len = payload.len() as u64;
    match random.below(8) {
        // Nothing but noise after a good beginning.
        0 => {
            for byte in &mut payload[TYPE_AT + 1..] {
                *byte = random.next_u64() as u8;
            }
        }
        1 => payload.truncate(random.below(len) as usize),
        2 => payload.extend(std::iter::repeat_n(0, random.below(300) as usize + 1)),
        // The right words in a packet of another type: an acknowledgement, a refusal, a farewell.
        3 | 4 => {
            let was = payload[TYPE_AT];
            payload[TYPE_AT] = (random.below(TYPE_MAX + 1)) as u8;
            if payload[TYPE_AT] == was {
                payload[TYPE_AT] ^= 0x80;
            }
        }
        _ => {
            let at = random.below(len) as usize;
            payload[at] ^= 1 << random.below(8);
            for _ in 0..random.below(4) {
                // Not where the first is, or it might be taken back.
                let other = random.below(len) as usize;
                if other != at {
                    payload[other] = random.next_u64() as u8;
                }
            }
        }
    }
    payload
}

#[test]
fn changed_and_invented_packets_are_nothing() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let packets = env::var(PACKETS).map_or(PACKETS_USUALLY, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{PACKETS}={text} is not a number"))
    });
    let mut random = Random(1);
    scene.attack(packets, |captured| changed(&mut random, captured));
    // The conversation goes on where it was.
    scene.talk();
}

/// Within one life: each has arrived before.
#[test]
fn repeated_packets_arrive_no_second_time() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let mut random = Random(2);
    scene.attack(20_000, |captured| {
        let all = &captured.payloads;
        all[random.below(all.len() as u64) as usize].clone()
    });
    scene.talk();
}

/// Both ports have been closed and opened again, with the same numbers: what was said before is of another life.
#[test]
fn packets_of_an_earlier_life_are_nothing() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    for peer in [&mut scene.one, &mut scene.other] {
        let number = peer.address.port;
        peer.tell("close");
        peer.tell(&format!("open {number}"));
    }
    scene.other.tell("bind 0 50000 heap");
    let mut at = 0;
    let in_order = |captured: &Captured| {
        at += 1;
        captured.payloads[(at - 1) % captured.payloads.len()].clone()
    };
    let packets = 10 * scene.captured.payloads.len() as u64;
    scene.attack(packets, in_order);
    scene.talk();
}
