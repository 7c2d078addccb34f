//! Reflective memory between hosts, on a network that loses packets, with processes that die, stop and come again.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcl_testing::netns::Faults;
use bcl_testing::peer::{Peer, prepare, program};

use crate::lab::Lab;

const LEN_BYTES: u64 = 1 << 20;
/// Longer than a host may be silent.
const SILENCE: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_secs(30);

/// Hosts with so many members each: the first has the first of them.
struct World {
    lab: Lab,
    each: usize,
    network: Network,
    members: Vec<Option<Peer>>,
}

/// What hosts reach each other by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    V4,
    V4WithoutMulticast,
    V6,
}

impl World {
    fn new(hosts: usize, each: usize) -> Option<Self> {
        Self::of(hosts, each, Network::V4)
    }

    fn of(hosts: usize, each: usize, network: Network) -> Option<Self> {
        let lab = Lab::new(hosts)?;
        let number = hosts * each;
        let mut world = Self {
            lab,
            each,
            network,
            members: (0..number).map(|_| None).collect(),
        };
        // The first of each host is to keep the region there.
        let (first, others): (Vec<_>, Vec<_>) = (0..number).partition(|member| member % each == 0);
        world.join(&first);
        world.join(&others);
        Some(world)
    }

    fn host_of(&self, member: usize) -> usize {
        member / self.each
    }

    /// Starts these, and waits until all know all that are there.
    fn join(&mut self, members: &[usize]) {
        for member in members {
            let started = self.start(*member);
            self.members[*member] = Some(started);
        }
        for member in members {
            let said = self.peer(*member).line();
            assert_eq!(said, "joined", "member {member}");
        }
        for member in members {
            self.until_all_know(*member, "there");
        }
    }

    fn start(&self, member: usize) -> Peer {
        let host = self.host_of(member);
        let cluster = &self.lab.cluster;
        let mut command = cluster.host(host).command(program("bcl-member"));
        prepare(&mut command, &self.lab.folder(host));
        let address = |host: usize| match self.network {
            Network::V6 => cluster.host(host).address_v6.to_string(),
            _ => cluster.host(host).address.to_string(),
        };
        let addresses: Vec<_> = (0..cluster.len()).map(address).collect();
        if self.network == Network::V4WithoutMulticast {
            command.env("BCL_MULTICAST", "off");
        }
        command
            .args([member.to_string(), self.members.len().to_string()])
            .arg(LEN_BYTES.to_string())
            .arg(addresses.join(","))
            .arg(&addresses[host]);
        Peer::of_program(command)
    }

    fn peer(&mut self, member: usize) -> &mut Peer {
        self.members[member].as_mut().expect("it is there")
    }

    fn there(&self) -> Vec<usize> {
        let all = 0..self.members.len();
        all.filter(|member| self.members[*member].is_some())
            .collect()
    }

    fn until_all_know(&mut self, member: usize, life: &str) {
        for other in self.there() {
            let question = format!("life {member}");
            until(
                &format!("member {other} knows that {member} is {life}"),
                || self.peer(other).ask(&question).contains(life),
            );
        }
    }

    fn kill(&mut self, members: &[usize]) {
        for member in members {
            self.peer(*member).kill();
            self.members[*member] = None;
        }
    }

    /// All of these write at the same time.
    fn storm(&mut self, members: &[usize], writes: u64, seed: u64) {
        self.begin_storm(members, writes, seed);
        self.end_storm(members);
    }

    fn begin_storm(&mut self, members: &[usize], writes: u64, seed: u64) {
        for member in members {
            self.peer(*member).order(&format!("storm {writes} {seed}"));
        }
    }

    fn end_storm(&mut self, members: &[usize]) {
        for member in members {
            assert_eq!(self.peer(*member).line(), "ok", "member {member}");
        }
    }

    /// Until all have what each has written, and then all regions are the same.
    fn is_the_same_everywhere(&mut self) {
        let there = self.there();
        for member in &there {
            let reached = format!("reached {}", there.len());
            assert_eq!(self.peer(*member).ask(&reached), "ok", "member {member}");
        }
        let hashes: BTreeSet<String> = there
            .iter()
            .map(|member| self.peer(*member).ask("hash"))
            .collect();
        assert_eq!(hashes.len(), 1, "regions differ: {hashes:?}");
    }

    fn until_packets_go(&mut self, way: &str) {
        for member in self.there() {
            until(&format!("for member {member} {way}"), || {
                self.peer(member).ask("way") == way
            });
        }
    }

    fn inject(&mut self, percent: u32) {
        for host in 0..self.lab.cluster.len() {
            let faults = Faults::loss(percent * 10_000, host as u64 + 1);
            self.lab
                .cluster
                .inject(host, &faults)
                .expect("the injector works");
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn eight_hosts_have_the_same_though_packets_are_lost_and_members_die_and_come_again() {
    let Some(mut world) = World::new(8, 1) else {
        return;
    };
    world.inject(5);
    let all: Vec<usize> = (0..8).collect();
    world.storm(&all, 2000, 1);
    world.is_the_same_everywhere();
    // One is killed while all write, and comes again.
    world.begin_storm(&all[..7], 2000, 2);
    world.kill(&[7]);
    world.end_storm(&all[..7]);
    world.until_all_know(7, "Gone");
    world.is_the_same_everywhere();
    world.join(&[7]);
    world.is_the_same_everywhere();
    world.storm(&all, 500, 3);
    world.is_the_same_everywhere();
    let lost = world.lab.cluster.tally(0).expect("it tells").lost;
    assert!(lost > 100, "{lost} packets were lost");
}

#[test]
fn one_packet_is_for_all_who_hear_it_and_the_others_miss_nothing() {
    for network in [Network::V4, Network::V6] {
        let Some(mut world) = World::of(4, 1, network) else {
            return;
        };
        let all = [0, 1, 2, 3];
        world.until_packets_go("IP multicast brings a packet to all 3");
        world.storm(&all, 1000, 1);
        world.is_the_same_everywhere();
        // As a switch does that has forgotten who listens.
        world.begin_storm(&all, 2000, 2);
        let forget = world.lab.cluster.bring_multicast(3, false);
        forget.expect("the switch can be told");
        world.end_storm(&all);
        world.is_the_same_everywhere();
        let way = "IP multicast brings a packet to 2 of 3, one system call sends it to the other 1";
        for member in 0..3 {
            until(way, || world.peer(member).ask("way") == way);
        }
        world.storm(&all, 500, 3);
        let remember = world.lab.cluster.bring_multicast(3, true);
        remember.expect("the switch can be told");
        world.until_packets_go("IP multicast brings a packet to all 3");
        world.storm(&all, 500, 4);
        world.is_the_same_everywhere();
    }
}

#[test]
fn another_process_of_the_host_goes_on_when_the_one_that_kept_the_region_is_killed() {
    let Some(mut world) = World::new(2, 3) else {
        return;
    };
    world.inject(1);
    // The first of a host has kept it, then whoever was the first to see its end.
    for (round, victim) in [(1, 0), (2, 1)] {
        let others: Vec<usize> = world
            .there()
            .into_iter()
            .filter(|member| *member != victim)
            .collect();
        world.begin_storm(&others, 2000, round);
        sleep(Duration::from_millis(50));
        world.kill(&[victim]);
        world.end_storm(&others);
        world.until_all_know(victim, "Killed");
        assert_eq!(world.peer(3).ask("life 2"), "there");
        world.is_the_same_everywhere();
    }
    world.join(&[0, 1]);
    world.storm(&[0, 1, 2, 3, 4, 5], 1000, 3);
    world.is_the_same_everywhere();
}

#[test]
fn a_host_that_was_cut_off_or_stopped_is_missed_and_catches_up() {
    let Some(mut world) = World::of(3, 1, Network::V4WithoutMulticast) else {
        return;
    };
    let all = [0, 1, 2];
    world.storm(&all, 500, 1);
    world.until_packets_go("one system call sends a packet to all 2");
    world.lab.cluster.cut(2).expect("the cable can be pulled");
    world.storm(&all, 3000, 2);
    sleep(SILENCE);
    assert!(world.peer(0).ask("life 2").contains("Vanished"));
    world
        .lab
        .cluster
        .mend(2)
        .expect("the cable can be plugged in");
    world.until_all_know(2, "there");
    world.until_all_know(0, "there");
    world.is_the_same_everywhere();

    world.peer(1).stop();
    world.storm(&[0, 2], 3000, 3);
    sleep(SILENCE);
    assert!(world.peer(0).ask("life 1").contains("Vanished"));
    world.peer(1).signal(libc::SIGCONT);
    world.until_all_know(1, "there");
    world.storm(&all, 500, 4);
    world.is_the_same_everywhere();
}

#[test]
fn a_process_that_is_stopped_and_was_to_send_for_others_is_named_and_goes_on() {
    let Some(mut world) = World::new(2, 2) else {
        return;
    };
    // The first of a host keeps the region there.
    let pid = format!("process {}", world.peer(0).pid());
    world.peer(0).stop();
    world.begin_storm(&[1], 3000, 1);
    let said = world.peer(1).line();
    assert!(
        said.contains(&pid) && said.contains("does not run"),
        "{said}"
    );
    world.storm(&[2, 3], 500, 2);
    world.peer(0).signal(libc::SIGCONT);
    for member in 0..4 {
        world.until_all_know(member, "there");
    }
    world.storm(&[0, 1, 2, 3], 500, 3);
    world.is_the_same_everywhere();
}

#[test]
fn what_others_send_to_the_port_changes_nothing() {
    let Some(mut world) = World::new(2, 1) else {
        return;
    };
    let to = world.lab.cluster.host(1).address;
    let garbage = world
        .lab
        .cluster
        .host(0)
        .enter(|| UdpSocket::bind("0.0.0.0:0"));
    let garbage = garbage.expect("it is entered").expect("there is a port");
    world.begin_storm(&[0, 1], 2000, 1);
    // Where the region is, an outsider does not know, and so sends to all ports it can have.
    for port in 28_192..=32_735_u16 {
        let mut bytes = [0_u8; 200];
        bytes[..4].copy_from_slice(&[b'B', b'R', 1, (port % 18) as u8]);
        let _ = garbage.send_to(&bytes, (to, port));
    }
    world.end_storm(&[0, 1]);
    world.is_the_same_everywhere();
}
