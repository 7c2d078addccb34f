//! Packets that no port has sent: changed, made up, or from an earlier life. They reach a live port from the address of
//! its own peer, and nothing comes of them.

use std::env;
use std::time::{Duration, Instant};

use bcl_observe::{Connection, Counter};
use bcl_testing::PATIENCE;
use bcl_testing::netns::Tap;
use bcl_testing::peer::Peer;
use bcl_types::Random;
use bcl_wire::Kind;

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
    /// Returns what it has counted meanwhile.
    fn attack(&mut self, packets: u64, mut next: impl FnMut(&Captured) -> Vec<u8>) -> Toll {
        let before = self.toll();
        let mut sent = 0;
        self.other.order("until message 600000");
        for number in 0..packets {
            let payload = next(&self.captured);
            sent += u64::from(self.attacker.send(&self.captured.frame(&payload)));
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
        let toll = self.toll().since(&before);
        Toll { sent, ..toll }
    }

    /// What the second peer has counted so far; it sleeps for a moment, before which a port shows its counters.
    fn toll(&mut self) -> Toll {
        self.other.ask("serve 20");
        let stat = self.lab.stat(1, &self.other);
        let all = Counter::ALL.iter();
        Toll {
            sent: 0,
            counters: all.map(|counter| stat.read(*counter)).collect(),
            connections: stat.connections().collect(),
        }
    }

    fn let_it_catch_up(&self) {
        let end = Instant::now() + PATIENCE;
        while queued(self.other.pid()).0 > 0 {
            assert!(Instant::now() < end, "the port does not read its socket");
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// What a port has counted.
struct Toll {
    /// Forged packets that have reached its socket: not those that are too long for the network.
    sent: u64,
    counters: Vec<u64>,
    connections: Vec<Connection>,
}

impl Toll {
    /// What was added, to what only grows; connections as they are now.
    fn since(self, before: &Self) -> Self {
        let pairs = self.counters.iter().zip(&before.counters);
        Self {
            sent: self.sent,
            counters: pairs
                .map(|(now, before)| now.saturating_sub(*before))
                .collect(),
            connections: self.connections,
        }
    }

    fn of(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// Of all these together.
    fn sum(&self, counters: &[Counter]) -> u64 {
        counters.iter().map(|counter| self.of(*counter)).sum()
    }

    /// One message and no more has been delivered, and there is one peer, as there was.
    #[track_caller]
    fn assert_one_message(&self) {
        assert_eq!(self.of(Counter::SystemReceived), 1);
        for nothing in [Counter::NormalReceived, Counter::RmaServed] {
            assert_eq!(self.of(nothing), 0, "{}", nothing.name());
        }
        assert_eq!(self.connections.len(), 1);
    }
}

/// Why packets are dropped of which nothing is believed.
const DISBELIEVED: [Counter; 5] = [
    Counter::NetDropMalformed,
    Counter::NetDropVersion,
    Counter::NetDropJob,
    Counter::NetDropStale,
    Counter::NetDropCheck,
];

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
    let mut random = Random::new(1);
    let toll = scene.attack(packets, |captured| changed(&mut random, captured));
    // Each is counted once, and nothing else takes any. What the port refuses its peer asks about, so that one of its
    // greetings may come late.
    assert!(toll.sent > packets / 2);
    let disbelieved = toll.sum(&DISBELIEVED);
    assert!(
        (toll.sent..toll.sent + 10).contains(&disbelieved),
        "{disbelieved} of {}",
        toll.sent
    );
    for cause in DISBELIEVED {
        assert!(toll.of(cause) > 0, "{} is 0", cause.name());
    }
    // Those which say that they belong to the connection are counted there too.
    let of_connection = toll.connections[0].drop_check;
    assert!((1..=toll.of(Counter::NetDropCheck)).contains(&of_connection));
    toll.assert_one_message();
    assert!(toll.of(Counter::NetPacketsIn) < 20);
    // The conversation goes on where it was.
    scene.talk();
}

/// Within one life: each has arrived before.
#[test]
fn repeated_packets_arrive_no_second_time() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let mut random = Random::new(2);
    let mut sequenced = 0;
    let toll = scene.attack(20_000, |captured| {
        let all = &captured.payloads;
        let payload = all[random.below(all.len() as u64) as usize].clone();
        let kind = Kind::from_number(payload[TYPE_AT]).expect("a port has sent it");
        sequenced += u64::from(kind.is_sequenced());
        payload
    });
    assert!(sequenced > 1000);
    // On a busy machine the peer's own packets come twice as well.
    let duplicates = toll.of(Counter::NetDropDuplicate);
    assert!((sequenced..sequenced + 100).contains(&duplicates));
    assert!(toll.connections[0].drop_duplicate >= sequenced);
    assert_eq!(toll.sum(&DISBELIEVED), 0);
    toll.assert_one_message();
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
    let all = &scene.captured.payloads;
    let is_hello = |payload: &&Vec<u8>| payload[TYPE_AT] == Kind::Hello.number();
    let hellos = all.iter().filter(is_hello).count() as u64;
    let packets = 10 * all.len() as u64;
    let toll = scene.attack(packets, in_order);
    // A greeting is answered, and no more comes of it; the rest belongs to nothing that there is.
    let disbelieved = [Counter::NetDropStale, Counter::NetDropCheck];
    assert_eq!(toll.sent, packets);
    assert_eq!(toll.sum(&disbelieved), packets - 10 * hellos);
    toll.assert_one_message();
    scene.talk();
}
