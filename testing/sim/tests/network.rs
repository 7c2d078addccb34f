//! The simulated network by itself, carrying bytes that mean nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use bcl_sim::net::{
    Bursts, CardId, Datagram, Fate, Faults, Handed, HostId, HostSpec, Life, LinkSpec, Network,
    Partition, Rate, Site,
};
use bcl_types::Random;

/// Two hosts, or more, on one switch.
struct Wire {
    net: Network,
    cards: Vec<CardId>,
}

impl Wire {
    fn new(hosts: usize, up: LinkSpec, host: HostSpec) -> Self {
        let mut net = Network::new(Random::new(1));
        let cards = (0..hosts)
            .map(|index| {
                let id = net.add_host(host);
                net.add_card(id, ip(index), Site(0), up, LinkSpec::GOOD)
            })
            .collect();
        Self { net, cards }
    }

    fn send(&mut self, now_ns: u64, from: usize, to: usize, number: u32) {
        let mut bytes = vec![0; 100];
        bytes[..4].copy_from_slice(&number.to_le_bytes());
        let datagram = Datagram::new(address(from), address(to), bytes);
        self.net.send(now_ns, HostId(from), datagram);
    }

    /// Runs until nothing is to come; the numbers that arrived, by the order of arrival, with their times.
    fn run(&mut self) -> Vec<(u64, u32)> {
        let mut arrived = Vec::new();
        while let Some(now_ns) = self.net.next_ns() {
            if let Some(Handed::Process(_, datagram)) = self.net.step() {
                arrived.push((now_ns, number(&datagram)));
            }
        }
        arrived
    }

    fn count(&self, fate: Fate) -> u64 {
        self.net.counters().of(fate)
    }

    /// Every packet and every copy has come to one end.
    fn assert_none_unaccounted(&self) {
        let begun = [Fate::Sent, Fate::Injected, Fate::Duplicated].map(|fate| self.count(fate));
        let ended = self.count(Fate::Delivered) + self.net.counters().dropped();
        assert_eq!(begun.iter().sum::<u64>(), ended, "{}", self.net.counters());
    }
}

fn ip(index: usize) -> IpAddr {
    Ipv4Addr::from(0x0a00_0001 + index as u32).into()
}

fn address(index: usize) -> SocketAddr {
    (ip(index), 20_001).into()
}

fn number(datagram: &Datagram) -> u32 {
    let start = datagram.bytes.first_chunk().copied();
    u32::from_le_bytes(start.unwrap_or_default())
}

#[test]
fn without_faults_all_arrives_in_order_and_at_line_rate() {
    let mut wire = Wire::new(2, LinkSpec::GOOD, HostSpec::GOOD);
    for number in 0..400 {
        wire.send(0, 0, 1, number);
    }
    let arrived = wire.run();
    let numbers: Vec<u32> = arrived.iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, (0..400).collect::<Vec<_>>());
    // 400 packets of 166 bytes at 10 Gbit/s over two links of 5 us, then 500 ns each in the process.
    let (last_ns, _) = arrived[399];
    assert_eq!(last_ns, 2 * (133 + 5_000) + 399 * 500);
    wire.assert_none_unaccounted();
}

#[test]
fn faults_strike_at_their_rates() {
    let faults = Faults::all(Rate::percent(10), 100_000);
    let mut wire = Wire::new(2, LinkSpec::GOOD.with_faults(faults), HostSpec::GOOD);
    for number in 0..10_000 {
        wire.send(u64::from(number) * 1_000, 0, 1, number);
    }
    let arrived = wire.run();
    assert!(!arrived.is_sorted_by_key(|(_, number)| *number));
    let ranges = [
        (Fate::Lost, 900..1100),
        (Fate::Duplicated, 800..1000),
        (Fate::Corrupted, 800..1000),
        (Fate::Truncated, 700..900),
        (Fate::Reordered, 800..1000),
    ];
    for (fate, range) in ranges {
        assert!(range.contains(&wire.count(fate)), "{}", wire.net.counters());
    }
    wire.assert_none_unaccounted();
}

#[test]
fn a_burst_takes_neighbours() {
    let bursts = Bursts {
        begin: Rate::percent(1),
        longest_ns: 20_000,
    };
    let faults = Faults {
        bursts: Some(bursts),
        ..Faults::default()
    };
    let mut wire = Wire::new(2, LinkSpec::GOOD.with_faults(faults), HostSpec::GOOD);
    for number in 0..10_000 {
        wire.send(u64::from(number) * 1_000, 0, 1, number);
    }
    let arrived = wire.run();
    let gaps = arrived.windows(2).filter(|pair| pair[1].1 != pair[0].1 + 1);
    let mean_gap = wire.count(Fate::LostInBurst) / gaps.count() as u64;
    assert!((6..15).contains(&mean_gap), "mean gap {mean_gap}");
    wire.assert_none_unaccounted();
}

#[test]
fn a_shared_trunk_drops_what_its_queue_cannot_hold() {
    let mut net = Network::new(Random::new(1));
    for index in 0..3 {
        let host = net.add_host(HostSpec::GOOD);
        let site = Site(u32::from(index == 2));
        net.add_card(host, ip(index), site, LinkSpec::GOOD, LinkSpec::GOOD);
    }
    let slow = LinkSpec {
        bits_per_second: 100_000_000,
        queue_bytes: 16 << 10,
        ..LinkSpec::GOOD
    };
    net.add_trunk(Site(0), Site(1), slow);
    let mut wire = Wire {
        net,
        cards: Vec::new(),
    };
    for number in 0..500 {
        wire.send(0, 0, 2, number);
        wire.send(0, 1, 2, number);
    }
    let arrived = wire.run();
    assert!(wire.count(Fate::QueueFull) > 700, "{}", wire.net.counters());
    assert!(arrived.len() > 90);
    wire.assert_none_unaccounted();
}

#[test]
fn partitions_and_pulled_cables_stop_packets() {
    let mut wire = Wire::new(3, LinkSpec::GOOD, HostSpec::GOOD);
    wire.net.set_partition(Some(Partition {
        inside: BTreeSet::from([HostId(0)]),
        lets_out: true,
        lets_in: false,
    }));
    wire.send(0, 0, 1, 1);
    wire.send(0, 1, 0, 2);
    wire.send(0, 1, 2, 3);
    wire.net.set_partition(None);
    wire.send(0, 1, 0, 4);
    let [up, _] = wire.net.links_of(wire.cards[1]);
    wire.net.set_up(up, false);
    wire.send(0, 1, 0, 5);
    wire.net.set_up(up, true);
    wire.send(0, 1, 0, 6);
    let mut numbers: Vec<u32> = wire.run().iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 3, 4, 6]);
    assert_eq!(wire.count(Fate::Partitioned), 1);
    assert_eq!(wire.count(Fate::LinkDown), 1);
    wire.assert_none_unaccounted();
}

#[test]
fn a_stopped_process_finds_its_datagrams_a_new_one_does_not() {
    let mut wire = Wire::new(2, LinkSpec::GOOD, HostSpec::GOOD);
    wire.net.set_life(0, HostId(1), Life::Stopped);
    wire.send(0, 0, 1, 1);
    assert_eq!(wire.run(), []);
    wire.net.set_life(1_000_000, HostId(1), Life::Running);
    assert_eq!(wire.run(), [(1_000_000, 1)]);

    wire.net.set_life(1_000_000, HostId(1), Life::Stopped);
    wire.send(1_000_000, 0, 1, 2);
    assert_eq!(wire.run(), []);
    wire.net.set_life(2_000_000, HostId(1), Life::Dead);
    wire.send(2_000_000, 0, 1, 3);
    assert_eq!(wire.run(), []);
    wire.net.set_life(3_000_000, HostId(1), Life::Running);
    assert_eq!(wire.run(), []);
    assert_eq!(wire.count(Fate::NoProcess), 2);
    wire.assert_none_unaccounted();
}

#[test]
fn a_slow_process_has_a_full_socket() {
    let slow = HostSpec {
        inbox_bytes: 64 << 10,
        per_datagram_ns: 1_000_000,
    };
    let mut wire = Wire::new(2, LinkSpec::GOOD, slow);
    for number in 0..200 {
        wire.send(0, 0, 1, number);
    }
    let arrived = wire.run();
    // The first is taken at once; the socket holds 107 of 612 bytes.
    assert_eq!(arrived.len(), 108);
    assert_eq!(wire.count(Fate::InboxFull), 92);
    wire.assert_none_unaccounted();
}

#[test]
fn nobody_sends_under_anothers_name_except_a_stranger() {
    let mut wire = Wire::new(3, LinkSpec::GOOD, HostSpec::GOOD);
    let forged = Datagram::new(address(1), address(2), vec![7; 100]);
    wire.net.send(0, HostId(0), forged.clone());
    assert_eq!(wire.run(), []);
    assert_eq!(wire.count(Fate::NoSuchAddress), 1);
    wire.net.inject(0, forged);
    assert_eq!(wire.run().len(), 1);
    wire.assert_none_unaccounted();
}

#[test]
fn an_address_moves_with_its_card() {
    let mut wire = Wire::new(2, LinkSpec::GOOD, HostSpec::GOOD);
    wire.net.readdress(wire.cards[1], ip(9));
    wire.send(0, 0, 1, 1);
    wire.send(0, 0, 9, 2);
    let numbers: Vec<u32> = wire.run().iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [2]);
}

#[test]
fn a_listener_keeps_a_bounded_sample() {
    let mut wire = Wire::new(2, LinkSpec::GOOD, HostSpec::GOOD);
    wire.net.record(50);
    for number in 0..1000 {
        wire.send(u64::from(number) * 1_000, 0, 1, number);
    }
    let kept: Vec<u32> = wire.net.recorded().iter().map(number).collect();
    assert_eq!(kept.len(), 50);
    assert!(kept.iter().any(|number| *number > 800) && kept.iter().any(|number| *number < 200));
}

#[test]
fn a_sender_can_wait_for_its_card() {
    let mut wire = Wire::new(2, LinkSpec::GOOD, HostSpec::GOOD);
    assert_eq!(wire.net.may_send_at_ns(ip(0), 0), 0);
    for number in 0..100 {
        wire.send(0, 0, 1, number);
    }
    let free_ns = wire.net.may_send_at_ns(ip(0), 0);
    assert_eq!(free_ns, 100 * 133);
    assert!(wire.net.may_send_at_ns(ip(0), 10_000) < free_ns);
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = || {
        let log = Rc::new(RefCell::new(Vec::new()));
        let faults = Faults::all(Rate::percent(20), 50_000);
        let mut wire = Wire::new(4, LinkSpec::GOOD.with_faults(faults), HostSpec::GOOD);
        let seen = Rc::clone(&log);
        wire.net.observe(Box::new(move |at_ns, fate, datagram| {
            seen.borrow_mut()
                .push((at_ns, fate, datagram.bytes.clone()));
        }));
        for number in 0..300 {
            wire.send(u64::from(number) * 700, number as usize % 4, 3, number);
        }
        wire.run();
        log.take()
    };
    let first = run();
    assert!(first.len() > 700);
    assert!(first == run());
}
