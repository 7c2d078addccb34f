//! Up to a thousand agents in virtual time, on a network that loses packets, with hosts that die, come back and are cut
//! off. Everything follows from the seed.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use bcl_status::{Action, Config, Node, State, Watch};
use bcl_types::Random;

/// Bytes of a packet besides the message: wire header, UDP, IP, Ethernet.
const OVERHEAD: u64 = 64 + 8 + 20 + 14;
const LATENCY_MS: u64 = 1;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Packet {
    Probe { from: Node, number: u32 },
    Answer { from: Node, number: u32 },
    Message { from: Node, bytes: Vec<u8> },
}

struct Host {
    watch: Watch,
    is_up: bool,
    /// Only its agent is stopped: the interface program goes on answering.
    is_stopped: bool,
    /// Hosts with different sides do not hear each other.
    side: u32,
    bytes_sent: u64,
    /// When its agent has something to do.
    due_ms: u64,
}

struct World {
    now_ms: u64,
    hosts: BTreeMap<Node, Host>,
    under_way: BinaryHeap<std::cmp::Reverse<(u64, u64, Node, Packet)>>,
    random: Random,
    packets: u64,
    loss_percent: u64,
    seed: u64,
    /// What was told, by whom.
    changes: Vec<(u64, Node, Node, State)>,
}

impl World {
    fn new(nodes: u32, seed: u64, loss_percent: u64) -> Self {
        let mut world = Self {
            now_ms: 1_000,
            hosts: BTreeMap::new(),
            under_way: BinaryHeap::new(),
            random: Random::new(seed),
            packets: 0,
            loss_percent,
            seed,
            changes: Vec::new(),
        };
        for node in 1..=nodes {
            world.boot(node, nodes);
        }
        world
    }

    /// A host starts, with a nodes file that names three others.
    fn boot(&mut self, node: Node, nodes: u32) {
        let incarnation = 1_000_000 + self.now_ms;
        let mut watch = Watch::new(
            Config::default(),
            node,
            incarnation,
            self.seed ^ u64::from(node) << 32,
        );
        for step in [1, 7, 31] {
            let other = (node - 1 + step) % nodes + 1;
            if other != node {
                watch.expect(other);
            }
        }
        let host = Host {
            watch,
            is_up: true,
            is_stopped: false,
            side: 0,
            bytes_sent: 0,
            due_ms: 0,
        };
        self.hosts.insert(node, host);
    }

    fn is_lost(&mut self) -> bool {
        self.random.below(100) < self.loss_percent
    }

    fn send(&mut self, from: Node, to: Node, packet: Packet) {
        let len = match &packet {
            Packet::Message { bytes, .. } => bytes.len() as u64,
            _ => 0,
        };
        let side = {
            let host = self.hosts.get_mut(&from).expect("it is sending");
            host.bytes_sent += OVERHEAD + len;
            host.side
        };
        let is_reachable = self
            .hosts
            .get(&to)
            .is_some_and(|host| host.is_up && host.side == side);
        if is_reachable && !self.is_lost() {
            self.packets += 1;
            let entry = (self.now_ms + LATENCY_MS, self.packets, to, packet);
            self.under_way.push(std::cmp::Reverse(entry));
        }
    }

    fn deliver(&mut self, to: Node, packet: Packet) {
        let now_ms = self.now_ms;
        let Some(host) = self.hosts.get_mut(&to).filter(|host| host.is_up) else {
            return;
        };
        host.due_ms = 0;
        match packet {
            // By the interface program, whatever the agent does.
            Packet::Probe { from, number } => {
                self.send(to, from, Packet::Answer { from: to, number })
            }
            _ if host.is_stopped => {}
            Packet::Answer { from, number } => host.watch.on_answer(now_ms, from, number),
            Packet::Message { from, bytes } => host.watch.on_message(now_ms, from, &bytes),
        }
    }

    fn turn(&mut self, node: Node) {
        let now_ms = self.now_ms;
        let host = self.hosts.get_mut(&node).expect("a host");
        if !host.is_up || host.is_stopped || host.due_ms > now_ms {
            return;
        }
        if host.watch.next_ms() <= now_ms {
            host.watch.on_time(now_ms);
        }
        let actions = host.watch.actions();
        host.due_ms = host.watch.next_ms();
        for action in actions {
            match action {
                Action::Probe { to, number } => {
                    self.send(node, to, Packet::Probe { from: node, number })
                }
                Action::Send { to, bytes } => {
                    self.send(node, to, Packet::Message { from: node, bytes })
                }
                Action::Changed(report) => {
                    let change = (now_ms, node, report.node, report.standing.state);
                    self.changes.push(change);
                }
                Action::Reachable(..) => {}
            }
        }
    }

    fn run(&mut self, for_ms: u64) {
        let end_ms = self.now_ms + for_ms;
        let nodes: Vec<_> = self.hosts.keys().copied().collect();
        while self.now_ms < end_ms {
            self.now_ms += 1;
            while let Some(std::cmp::Reverse((at_ms, ..))) = self.under_way.peek()
                && *at_ms <= self.now_ms
            {
                let std::cmp::Reverse((_, _, to, packet)) =
                    self.under_way.pop().expect("just seen");
                self.deliver(to, packet);
            }
            for node in &nodes {
                self.turn(*node);
            }
        }
    }

    /// What each host that is up thinks of `node`.
    fn views(&self, node: Node) -> BTreeSet<Option<State>> {
        let up = self
            .hosts
            .iter()
            .filter(|(_, host)| host.is_up && !host.is_stopped);
        up.map(|(_, host)| host.watch.standing(node).map(|standing| standing.state))
            .collect()
    }

    fn all_see(&self, node: Node, state: State) -> bool {
        self.views(node) == BTreeSet::from([Some(state)])
    }

    fn assert_all_alive(&self, when: &str) {
        for node in self.hosts.keys() {
            assert!(
                self.all_see(*node, State::Alive),
                "{when}: {node} is {:?}",
                self.views(*node)
            );
        }
    }

    /// Time from `since_ms` until the last host knew.
    fn known_after_ms(&self, node: Node, state: State, since_ms: u64) -> u64 {
        let times = self
            .changes
            .iter()
            .filter(|(_, _, of, is)| *of == node && *is == state);
        times
            .map(|(at_ms, ..)| at_ms - since_ms)
            .max()
            .expect("it was seen")
    }
}

#[test]
fn a_dead_host_is_known_to_all_within_a_second() {
    for (nodes, seed) in [(2, 1), (3, 2), (10, 3), (100, 4)] {
        let mut world = World::new(nodes, seed, 0);
        world.run(12_000);
        world.assert_all_alive("at first");
        world.changes.clear();
        let died_ms = world.now_ms;
        world.hosts.get_mut(&2).expect("host 2").is_up = false;
        world.run(3_000);
        assert!(
            world.all_see(2, State::Isolated),
            "{nodes} nodes: {:?}",
            world.views(2)
        );
        let took_ms = world.known_after_ms(2, State::Isolated, died_ms);
        assert!(took_ms < 1_000, "{nodes} nodes: it took {took_ms} ms");
        let others = world
            .changes
            .iter()
            .filter(|(_, _, node, _)| *node != 2)
            .count();
        assert_eq!(others, 0, "{nodes} nodes: somebody else was taken for dead");
    }
}

/// A reboot is no death of anybody else: it comes back with a new incarnation.
#[test]
fn a_host_that_reboots_is_alive_again() {
    let mut world = World::new(20, 5, 1);
    world.run(10_000);
    let before = world.hosts[&1].watch.standing(7).expect("known");
    world.hosts.get_mut(&7).expect("host 7").is_up = false;
    world.run(5_000);
    assert!(world.all_see(7, State::Isolated));
    world.boot(7, 20);
    world.run(12_000);
    world.assert_all_alive("after the reboot");
    let after = world.hosts[&1].watch.standing(7).expect("known");
    assert!(after.incarnation > before.incarnation, "{after:?}");
}

/// A busy host is not a dead host: the interface program answers.
#[test]
fn an_agent_that_is_stopped_is_no_dead_host() {
    let mut world = World::new(10, 6, 0);
    world.run(10_000);
    world.changes.clear();
    world.hosts.get_mut(&4).expect("host 4").is_stopped = true;
    world.run(20_000);
    assert_eq!(world.changes, []);
    world.hosts.get_mut(&4).expect("host 4").is_stopped = false;
    world.run(2_000);
    world.assert_all_alive("after it went on");
}

/// Whoever is cut off alone accuses nobody, and is alive again soon after it is back.
#[test]
fn a_host_that_was_cut_off_comes_back_and_accuses_nobody() {
    let mut world = World::new(12, 7, 0);
    world.run(10_000);
    world.changes.clear();
    world.hosts.get_mut(&3).expect("host 3").side = 1;
    world.run(10_000);
    let accused = |change: &&(u64, Node, Node, State)| change.2 != 3 && change.3 == State::Isolated;
    assert_eq!(world.changes.iter().find(accused), None);
    world.hosts.get_mut(&3).expect("host 3").side = 0;
    world.run(20_000);
    world.assert_all_alive("after it was back");
}

/// Two halves that have given each other up find together again by themselves.
#[test]
fn two_halves_find_together_again() {
    let mut world = World::new(16, 8, 2);
    world.run(10_000);
    for node in 1..=8 {
        world.hosts.get_mut(&node).expect("a host").side = 1;
    }
    world.run(15_000);
    for node in 9..=16 {
        let thought_by_1 = world.hosts[&1].watch.standing(node).expect("known");
        assert_eq!(thought_by_1.state, State::Isolated, "{node}");
    }
    for host in world.hosts.values_mut() {
        host.side = 0;
    }
    world.run(60_000);
    world.assert_all_alive("after the halves were joined");
}

/// Loss alone takes nobody for dead for long: probes come often, and others are asked.
#[test]
fn loss_is_no_death() {
    for seed in 0..20 {
        let mut world = World::new(16, 100 + seed, 10);
        world.run(15_000);
        world.changes.clear();
        world.run(60_000);
        let deaths = world
            .changes
            .iter()
            .filter(|change| change.3 == State::Isolated);
        assert_eq!(deaths.count(), 0, "seed {seed}");
        world.assert_all_alive("at 10 % of loss");
    }
}

/// A thousand nodes: small traffic, in time and in trouble.
#[test]
fn a_thousand_nodes() {
    let mut world = World::new(1_000, 9, 1);
    world.run(8_000);
    world.assert_all_alive("at first");
    let sent = |world: &World| {
        world
            .hosts
            .values()
            .map(|host| host.bytes_sent)
            .sum::<u64>()
    };
    let before = sent(&world);
    world.run(4_000);
    let idle = (sent(&world) - before) / 1_000 / 4;
    assert!(idle < 8_000, "{idle} bytes a second and node");
    world.changes.clear();
    let (died_ms, before) = (world.now_ms, sent(&world));
    for node in [17, 500, 999] {
        world.hosts.get_mut(&node).expect("a host").is_up = false;
    }
    world.run(3_000);
    for node in [17, 500, 999] {
        assert!(
            world.all_see(node, State::Isolated),
            "{node}: {:?}",
            world.views(node)
        );
        let took_ms = world.known_after_ms(node, State::Isolated, died_ms);
        assert!(took_ms < 2_000, "{node}: {took_ms} ms");
    }
    let busy = (sent(&world) - before) / 997 / 3;
    assert!(busy < 16_000, "{busy} bytes a second and node");
}
