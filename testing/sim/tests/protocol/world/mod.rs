//! Some ports on the simulated network, told what to do step by step.

mod network;
mod programs;

use std::collections::BTreeSet;

use bcl_proto::{Config, Span, Time};
use bcl_sim::SimPort;
use bcl_sim::net::{CardId, Datagram, Handed, HostId, HostSpec, LinkSpec, Network, Site};
use bcl_sim::party::{Interception, Party};
use bcl_sim::port::{Front, Memory, PORT, address, first_address};
use bcl_types::Random;

pub use network::{faults, path};

/// The key of all jobs here.
pub const KEY: [u8; 32] = [7; 32];

/// How much the ring of an interface program has room for.
const RING_BYTES: usize = 256 << 10;

/// A datagram takes 10 us, all of them on the first of its two links: packets that a test puts on the second are there at
/// once.
const LINKS: [LinkSpec; 2] = [link(10_000), link(0)];

/// The process takes what comes at once.
const HOST: HostSpec = HostSpec {
    inbox_bytes: usize::MAX,
    per_datagram_ns: 0,
};

const fn link(propagation_ns: u64) -> LinkSpec {
    LinkSpec {
        bits_per_second: 1_000_000_000_000_000,
        propagation_ns,
        queue_bytes: u64::MAX,
        ..LinkSpec::GOOD
    }
}

/// Ports, each on a host of its own, and the network between them.
pub struct World {
    /// What time it is.
    pub now: Time,
    /// Who is there.
    pub hosts: Vec<SimPort>,
    /// What lies between them.
    pub net: Network,
    /// Chance for the test.
    pub random: Random,
    /// Whether processes look at what their interface programs have for them.
    pub looks: bool,
    cards: Vec<CardId>,
    cut: BTreeSet<HostId>,
}

impl World {
    /// So many hosts; the same seed gives the same faults.
    pub fn new(hosts: usize, seed: u64) -> Self {
        Self::with(hosts, seed, |_, _| {})
    }

    /// The same, with changes to how each endpoint is configured.
    pub fn with(hosts: usize, seed: u64, adapt: impl Fn(usize, &mut Config)) -> Self {
        let mut random = Random::new(seed);
        let mut net = Network::new(random.fork());
        let [up, down] = LINKS;
        let cards = (0..hosts).map(|host| {
            let id = net.add_host(HOST);
            net.add_card(id, first_address(host).ip(), Site(0), up, down)
        });
        let cards = cards.collect();
        let port = |host| {
            let mut config = Config::new(address(host), 100, [seed, host as u64]);
            adapt(host, &mut config);
            SimPort::new(config, &KEY, memory(hosts), None)
        };
        Self {
            now: Time(1_000_000_000),
            hosts: (0..hosts).map(port).collect(),
            net,
            random,
            looks: true,
            cards,
            cut: BTreeSet::new(),
        }
    }

    /// Two hosts, of which the second has an interface program, whose agent works at once.
    pub fn with_front(seed: u64) -> Self {
        Self::with_front_that(seed, |_| {})
    }

    /// The same, but for something.
    pub fn with_front_that(seed: u64, change: impl FnOnce(&mut Front)) -> Self {
        let mut world = Self::new(2, seed);
        world.put_front_that(1, &KEY, change);
        world
    }

    /// A process starts anew under an address, with an interface program.
    pub fn put_front(&mut self, host: usize, key: &[u8; 32]) {
        self.put_front_that(host, key, |_| {});
    }

    fn put_front_that(&mut self, host: usize, key: &[u8; 32], change: impl FnOnce(&mut Front)) {
        let config = Config::new(address(host), 100, [100, host as u64]);
        let mut front = Front::new(PORT, key, RING_BYTES);
        change(&mut front);
        self.hosts[host] = SimPort::new(config, key, memory(self.hosts.len()), Some(front));
        self.net.watch(HostId(host));
    }

    /// The interface program in front of the second host.
    pub fn front(&mut self) -> &mut Front {
        self.hosts[1].front.as_mut().expect("it has one")
    }

    /// A process that starts anew under an address.
    pub fn restart(&mut self, host: usize, incarnation: u64) {
        self.restart_with(host, incarnation, &KEY);
    }

    /// The same with another key.
    pub fn restart_with(&mut self, host: usize, incarnation: u64, key: &[u8; 32]) {
        let config = Config::new(address(host), incarnation, [incarnation, host as u64]);
        self.hosts[host] = SimPort::new(config, key, memory(self.hosts.len()), None);
    }

    /// A host looks at the records of its interface program, and what it has to send leaves.
    pub fn flush(&mut self, host: usize) {
        let now_ns = self.now.0;
        let port = &mut self.hosts[host];
        while self.looks && port.handle_record(now_ns) {}
        port.manage(now_ns);
        while let Some((transmit, bytes)) = port.next_datagram(now_ns) {
            let datagram = Datagram {
                may_be_cut: transmit.may_be_cut,
                ..Datagram::new(first_address(host), transmit.path.to, bytes)
            };
            self.net.send(now_ns, HostId(host), datagram);
        }
    }

    /// The next thing happens. False if nothing will, before `until`.
    fn step(&mut self, until: Time) -> bool {
        let packet = self.net.next_ns().map(Time);
        let hosts = self.hosts.iter_mut().enumerate();
        let timers = hosts.filter_map(|(host, port)| Some((Time(port.next_timeout_ns()?), host)));
        match (packet, timers.min()) {
            (Some(at), timer) if at <= until && timer.is_none_or(|(time, _)| at <= time) => {
                self.now = self.now.max(at);
                match self.net.step() {
                    Some(Handed::Process(host, datagram)) => {
                        self.hosts[host.0].receive(self.now.0, datagram.from, &datagram.bytes);
                        self.flush(host.0);
                    }
                    Some(Handed::Host(host, datagram)) => self.intercept(host, datagram),
                    None => {}
                }
                true
            }
            (_, Some((at, host))) if at <= until => {
                self.now = self.now.max(at);
                self.hosts[host].on_timeout(self.now.0);
                self.flush(host);
                true
            }
            _ => {
                self.now = self.now.max(until);
                false
            }
        }
    }

    /// A datagram has come to a host with an interface program.
    fn intercept(&mut self, host: HostId, datagram: Datagram) {
        let (now_ns, port) = (self.now.0, &mut self.hosts[host.0]);
        match port.intercept(now_ns, datagram.from, &datagram.bytes) {
            Interception::Pass => self.net.receive(now_ns, host, datagram),
            Interception::Taken(reply) => {
                if let Some(bytes) = reply {
                    let reply = Datagram::new(datagram.to, datagram.from, bytes);
                    self.net.send(now_ns, host, reply);
                }
                self.flush(host.0);
            }
        }
    }

    /// Runs until `done`; panics after so much virtual time.
    pub fn run_until(&mut self, limit: Span, mut done: impl FnMut(&mut Self) -> bool) {
        let until = self.now + limit;
        while !done(self) {
            assert!(
                self.step(until),
                "not done after {limit}: {:#?}",
                self.describe()
            );
        }
    }

    /// Runs for so long.
    pub fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }

    fn describe(&self) -> Vec<String> {
        let describe = |SimPort { endpoint, .. }: &SimPort| {
            format!(
                "{:?} {:?} {:?}",
                endpoint.peers().collect::<Vec<_>>(),
                endpoint.depths(),
                endpoint.drops()
            )
        };
        self.hosts.iter().map(describe).collect()
    }
}

/// Of a program that knows so many hosts, and hears of all that happens to its windows.
fn memory(hosts: usize) -> Memory {
    let mut memory = Memory::new((0..hosts).map(first_address).collect());
    memory.hears_of_writes = true;
    memory
}
