//! Ports whose packets go through a network with faults, in virtual time.

mod front;
mod port;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr};

use bcl_proto::{Action, Config, Endpoint, Path, Rma, Span, Time, Transmit};
use bcl_types::{Address, NodeId, OpId};

pub use front::{Front, RING_BYTES};
pub use port::{News, Port};

/// The key of all jobs here.
pub const KEY: [u8; 32] = [7; 32];

/// What the port of a host is called.
pub fn address(host: usize) -> Address {
    Address {
        node: NodeId(Ipv4Addr::new(10, 0, 0, host as u8 + 1)),
        port: 5,
    }
}

/// Where it is.
pub fn path(host: usize) -> Path {
    Path {
        to: SocketAddr::from((address(host).node.0, 20_005)),
        rail: 0,
    }
}

/// Chances in 1000.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// Packets that never arrive.
    pub loss: u64,
    /// Packets that arrive twice.
    pub duplication: u64,
    /// Packets that arrive later.
    pub reordering: u64,
    /// Packets of which a bit is turned.
    pub corruption: u64,
}

impl Faults {
    /// The same chance of each.
    pub fn all(chance: u64) -> Self {
        Self {
            loss: chance,
            duplication: chance,
            reordering: chance,
            corruption: chance,
        }
    }
}

/// A port on a host of its own.
pub struct Host {
    /// What is tried.
    pub endpoint: Endpoint,
    /// Its program.
    pub port: Port,
    /// The key of its job.
    pub key: [u8; 32],
    /// Whether its cable is pulled.
    pub is_cut: bool,
    /// An interface program in front of it.
    pub front: Option<Front>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Time,
    number: u64,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// See the crate.
pub struct World {
    /// What time it is.
    pub now: Time,
    /// Who is there.
    pub hosts: Vec<Host>,
    /// What happens to packets.
    pub faults: Faults,
    /// How long they take.
    pub delay: Span,
    /// The longest datagram that the path takes, by sender; longer ones vanish.
    pub path_bytes: Vec<usize>,
    /// Whether they cut what is longer, if it may be cut.
    pub paths_cut: bool,
    /// Everything that was ever sent, if recorded: from, to, bytes.
    pub record: Option<Vec<(usize, usize, Vec<u8>)>>,
    in_flight: BinaryHeap<Reverse<Arrival>>,
    number: u64,
    random: u64,
}

impl World {
    /// So many hosts; the same seed gives the same faults.
    pub fn new(hosts: usize, seed: u64) -> Self {
        Self::with(hosts, seed, |_, _| {})
    }

    /// The same, with changes to how each endpoint is configured.
    pub fn with(hosts: usize, seed: u64, adapt: impl Fn(usize, &mut Config)) -> Self {
        let path_bytes = vec![usize::MAX; hosts];
        let hosts = (0..hosts)
            .map(|host| {
                let mut config = Config::new(address(host), 100, [seed, host as u64]);
                adapt(host, &mut config);
                Host {
                    endpoint: Endpoint::new(config, &KEY),
                    port: Port::default(),
                    key: KEY,
                    is_cut: false,
                    front: None,
                }
            })
            .collect();
        Self {
            now: Time(1_000_000_000),
            hosts,
            faults: Faults::default(),
            delay: Span::from_us(10),
            path_bytes,
            paths_cut: false,
            record: None,
            in_flight: BinaryHeap::new(),
            number: 0,
            random: seed ^ 0x1234_5678,
        }
    }

    /// A process that starts anew under an address.
    pub fn restart(&mut self, host: usize, incarnation: u64) {
        let config = Config::new(address(host), incarnation, [incarnation, host as u64]);
        self.hosts[host].endpoint = Endpoint::new(config, &self.hosts[host].key);
        self.hosts[host].port = Port::default();
    }

    /// The next number by the seed.
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn happens(&mut self, chance: u64) -> bool {
        self.random() % 1000 < chance
    }

    /// A host does something, and what it has to send leaves.
    pub fn act<R>(
        &mut self,
        host: usize,
        act: impl FnOnce(&mut Endpoint, Time, &mut Port) -> R,
    ) -> R {
        let now = self.now;
        let Host { endpoint, port, .. } = &mut self.hosts[host];
        let result = act(endpoint, now, port);
        self.flush(host);
        result
    }

    /// A host sends another a system message; whether that is complete.
    pub fn send_system(&mut self, from: usize, to: usize, data: &[u8]) -> bool {
        self.act(from, |endpoint, now, port| {
            endpoint.send_system(now, address(to), data, port, |port| port.new_op())
        })
    }

    /// Takes all that a host was told, and releases the system messages: their contents.
    pub fn take_system(&mut self, host: usize) -> Vec<Vec<u8>> {
        let Host { endpoint, port, .. } = &mut self.hosts[host];
        let mut taken = Vec::new();
        for news in port.take() {
            if let News::System(_, handle) = news {
                taken.push(endpoint.data(&handle).to_vec());
                assert!(endpoint.release(&handle));
                assert!(!endpoint.release(&handle));
            }
        }
        taken
    }

    /// The first host acts on a window of the second, with memory that it lends.
    pub fn rma(&mut self, memory: Vec<u8>, window: u16, offset: u64, action: Action) -> OpId {
        self.act(0, |endpoint, now, port| {
            let op = port.lend(memory);
            let rma = Rma {
                op,
                window,
                offset,
                action,
            };
            endpoint.rma(now, address(1), rma, port);
            op
        })
    }

    /// What a host has to send leaves.
    pub fn flush(&mut self, host: usize) {
        let now = self.now;
        self.manage(host);
        loop {
            let Host { endpoint, port, .. } = &mut self.hosts[host];
            port.meet_waiting(now, endpoint);
            let Some(transmit) = endpoint.poll_transmit(now, port) else {
                break;
            };
            let bytes = datagram(endpoint, port, &transmit);
            if let Some(bytes) = bytes {
                self.send(host, transmit.path, bytes, transmit.may_be_cut);
            }
        }
    }

    fn send(&mut self, from: usize, to: Path, bytes: Vec<u8>, may_be_cut: bool) {
        let Some(to) = (0..self.hosts.len()).find(|host| path(*host) == to) else {
            return;
        };
        if let Some(record) = &mut self.record {
            record.push((from, to, bytes.clone()));
        }
        let is_cut = may_be_cut && self.paths_cut;
        if bytes.len() > self.path_bytes[from] && !is_cut {
            return;
        }
        if self.hosts[from].is_cut || self.hosts[to].is_cut || self.happens(self.faults.loss) {
            return;
        }
        let copies = 1 + usize::from(self.happens(self.faults.duplication));
        for _ in 0..copies {
            let mut bytes = bytes.clone();
            if self.happens(self.faults.corruption) {
                let at = self.random() as usize % bytes.len();
                bytes[at] ^= 1 << (self.random() % 8);
            }
            let mut at = self.now + self.delay;
            if self.happens(self.faults.reordering) {
                at += Span(self.random() % (10 * self.delay.0 + 1));
            }
            self.deliver_at(at, from, to, bytes);
        }
    }

    /// Puts a datagram on the wire.
    pub fn deliver_at(&mut self, at: Time, from: usize, to: usize, bytes: Vec<u8>) {
        self.number += 1;
        self.in_flight.push(Reverse(Arrival {
            at,
            number: self.number,
            from,
            to,
            bytes,
        }));
    }

    /// The next thing happens. False if nothing will, before `until`.
    pub fn step(&mut self, until: Time) -> bool {
        let arrival = self.in_flight.peek().map(|Reverse(arrival)| arrival.at);
        let timers = self
            .hosts
            .iter()
            .enumerate()
            .filter_map(|(host, it)| Some((it.endpoint.next_timeout()?, host)))
            .min();
        match (arrival, timers) {
            (Some(at), timer) if at <= until && timer.is_none_or(|(time, _)| at <= time) => {
                let Some(Reverse(arrival)) = self.in_flight.pop() else {
                    return false;
                };
                self.now = self.now.max(at);
                if !self.hosts[arrival.to].is_cut {
                    self.receive(arrival.from, arrival.to, &arrival.bytes);
                }
                true
            }
            (_, Some((at, host))) if at <= until => {
                self.now = self.now.max(at);
                self.act(host, |endpoint, now, port| endpoint.on_timeout(now, port));
                true
            }
            _ => {
                self.now = self.now.max(until);
                false
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
        let describe = |host: &Host| {
            format!(
                "{:?} {:?} {:?}",
                host.endpoint.peers().collect::<Vec<_>>(),
                host.endpoint.depths(),
                host.endpoint.drops()
            )
        };
        self.hosts.iter().map(describe).collect()
    }
}

/// A packet as a driver would send it.
pub fn datagram(endpoint: &Endpoint, port: &Port, transmit: &Transmit) -> Option<Vec<u8>> {
    let payload = match endpoint.bytes(transmit) {
        Some(bytes) => bytes,
        None => port.lent(&transmit.payload)?,
    };
    let mut bytes = endpoint.seal(transmit, payload).to_vec();
    bytes.extend_from_slice(payload);
    assert_eq!(bytes.len(), transmit.len_bytes());
    Some(bytes)
}
