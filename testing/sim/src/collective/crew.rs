//! Hosts of one sort on one switch, all at work, and what they send.

use std::net::SocketAddr;
use std::rc::Rc;

use bcl_types::Random;

use super::Cost;
use crate::net::{Datagram, Handed, HostId, HostSpec, LinkSpec, Network, Site};
use crate::schedule::Schedule;

/// A system call that sends a packet takes its host so long,
const CALL_NS: u64 = 1_000;
/// and each further packet of that call.
const PACKET_NS: u64 = 300;
/// Whatever hosts do once is over after so long.
const QUIET_NS: u64 = 20_000_000;
/// For what they do the first time they have to get to know each other, and then how soon the others answer.
const FIRST_NS: u64 = 1_200_000_000;
/// So often it is done then.
const TIMES: u64 = 9;
/// After so long all should be ready for that.
const PATIENCE_NS: u64 = 120_000_000_000;

/// A host, driven from outside.
pub trait Node {
    /// Where it is.
    fn address(&self) -> SocketAddr;
    /// A datagram has come.
    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]);
    /// When something has to be done though nothing comes.
    fn next_timeout_ns(&mut self) -> Option<u64>;
    /// That time has come.
    fn on_timeout(&mut self, now_ns: u64);
    /// The next packet, and to whom it goes in one system call.
    fn transmit(&mut self, now_ns: u64, to: &mut Vec<SocketAddr>) -> Option<Vec<u8>>;
    /// Whether a packet has to do with what they do together.
    fn is_of_it(bytes: &[u8]) -> bool;
    /// Whether it can begin.
    fn is_ready(&mut self, now_ns: u64) -> bool;
    /// It does what all do.
    fn begin(&mut self, now_ns: u64);
    /// Whether it is done with that.
    fn is_done(&self) -> bool;
}

/// All of them.
pub struct Crew<N> {
    network: Network,
    schedule: Schedule<usize>,
    seats: Vec<Seat<N>>,
    /// All of them, for what goes to all.
    addresses: Vec<SocketAddr>,
    now_ns: u64,
    packets: u64,
    arrivals: u64,
    /// How many have still to get done.
    at_work: usize,
}

struct Seat<N> {
    node: N,
    /// It sends until then.
    busy_until_ns: u64,
    /// It is looked at then.
    armed_ns: u64,
    is_at_work: bool,
}

impl<N: Node> Crew<N> {
    pub fn new(nodes: Vec<N>) -> Self {
        let mut network = Network::new(Random::new(1));
        // Nothing is lost where many packets come at once.
        let (inbox_bytes, queue_bytes) = (4 << 20, 4 << 20);
        let spec = HostSpec {
            inbox_bytes,
            ..HostSpec::GOOD
        };
        let link = LinkSpec {
            queue_bytes,
            ..LinkSpec::GOOD
        };
        for node in &nodes {
            let host = network.add_host(spec);
            network.add_card(host, node.address().ip(), Site(0), link, link);
        }
        let addresses = nodes.iter().map(Node::address).collect();
        let seat = |node| Seat {
            node,
            busy_until_ns: 0,
            armed_ns: u64::MAX,
            is_at_work: false,
        };
        Self {
            network,
            schedule: Schedule::new(),
            seats: nodes.into_iter().map(seat).collect(),
            addresses,
            now_ns: 0,
            packets: 0,
            arrivals: 0,
            at_work: 0,
        }
    }

    /// What it costs to do it, once all have done it before: medians, for hosts tell each other from time to time that they are there.
    pub fn cost(mut self) -> Result<Cost, String> {
        self.get_ready()?;
        self.do_once(FIRST_NS)?;
        let costs: Result<Vec<Cost>, String> = (0..TIMES)
            .map(|_| {
                let (packets, arrivals) = (self.packets, self.arrivals);
                let ns = self.do_once(QUIET_NS)?;
                Ok(Cost {
                    ns,
                    packets: self.packets - packets,
                    arrivals: self.arrivals - arrivals,
                })
            })
            .collect();
        let costs = costs?;
        let median = |of: fn(&Cost) -> u64| {
            let mut all: Vec<u64> = costs.iter().map(of).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        Ok(Cost {
            ns: median(|cost| cost.ns),
            packets: median(|cost| cost.packets),
            arrivals: median(|cost| cost.arrivals),
        })
    }

    fn get_ready(&mut self) -> Result<(), String> {
        (0..self.seats.len()).for_each(|seat| self.pump(seat));
        loop {
            let now_ns = self.now_ns;
            // All are asked: who is not ready may do something about it then.
            let are_ready = self.seats.iter_mut().map(|seat| seat.node.is_ready(now_ns));
            let ready = are_ready.filter(|is_ready| *is_ready).count();
            if ready == self.seats.len() {
                return Ok(());
            }
            (0..self.seats.len()).for_each(|seat| self.pump(seat));
            let until_ns = now_ns + QUIET_NS;
            while self.step_before(until_ns) {}
            self.now_ns = until_ns;
            if until_ns > PATIENCE_NS {
                return Err("hosts do not get ready".into());
            }
        }
    }

    /// How long it takes them; returns after `span_ns`, for some of it goes on behind their backs.
    fn do_once(&mut self, span_ns: u64) -> Result<u64, String> {
        let begun_ns = self.now_ns;
        self.at_work = self.seats.len();
        for seat in &mut self.seats {
            seat.is_at_work = true;
            seat.node.begin(begun_ns);
        }
        (0..self.seats.len()).for_each(|seat| self.pump(seat));
        let mut took_ns = None;
        while self.step_before(begun_ns + span_ns) {
            if self.at_work == 0 {
                took_ns = took_ns.or(Some(self.now_ns - begun_ns));
            }
        }
        self.now_ns = begun_ns + span_ns;
        took_ns.ok_or_else(|| format!("{} of {} are not done", self.at_work, self.seats.len()))
    }

    /// The next thing happens, if it is to happen before that.
    fn step_before(&mut self, until_ns: u64) -> bool {
        let times = [self.network.next_ns(), self.schedule.next_ns()];
        let next_ns = times.into_iter().flatten().min();
        let Some(next_ns) = next_ns.filter(|next_ns| *next_ns < until_ns) else {
            return false;
        };
        self.now_ns = next_ns;
        if self.network.next_ns() == Some(next_ns) {
            if let Some(Handed::Process(host, mut datagram)) = self.network.step() {
                let node = &mut self.seats[host.0].node;
                node.handle(next_ns, datagram.from, &mut datagram.bytes);
                self.pump(host.0);
            }
        } else if let Some((_, index)) = self.schedule.take() {
            let seat = &mut self.seats[index];
            if seat.armed_ns == next_ns {
                seat.armed_ns = u64::MAX;
                let due_ns = seat.node.next_timeout_ns();
                if due_ns.is_some_and(|due_ns| due_ns <= next_ns) {
                    seat.node.on_timeout(next_ns);
                }
                self.pump(index);
            }
        }
        true
    }

    /// A host sends what it has to send, one system call after the other, and is looked at again when it has something to do.
    fn pump(&mut self, index: usize) {
        let mut to = Vec::new();
        while self.seats[index].busy_until_ns <= self.now_ns {
            to.clear();
            let node = &mut self.seats[index].node;
            let Some(bytes) = node.transmit(self.now_ns, &mut to) else {
                break;
            };
            self.seats[index].busy_until_ns = self.send(index, &bytes, &to);
        }
        let seat = &mut self.seats[index];
        if seat.is_at_work && seat.node.is_done() {
            seat.is_at_work = false;
            self.at_work -= 1;
        }
        let due_ns = seat.node.next_timeout_ns();
        let sent_ns = Some(seat.busy_until_ns).filter(|sent_ns| *sent_ns > self.now_ns);
        let Some(next_ns) = due_ns.into_iter().chain(sent_ns).min() else {
            return;
        };
        let next_ns = next_ns.max(self.now_ns);
        if next_ns < seat.armed_ns {
            seat.armed_ns = next_ns;
            self.schedule.add(next_ns, index);
        }
    }

    /// One system call; when it is over.
    fn send(&mut self, index: usize, bytes: &[u8], to: &[SocketAddr]) -> u64 {
        let from = self.addresses[index];
        let mut at_ns = self.now_ns + CALL_NS;
        for (number, to) in to.iter().enumerate() {
            at_ns += PACKET_NS * u64::from(number > 0);
            let datagram = Datagram::new(from, *to, bytes.to_vec());
            let mut arrivals = 1;
            if to.ip().is_multicast() {
                let others = self.addresses.iter().filter(|other| **other != from);
                let others: Rc<[SocketAddr]> = others.copied().collect();
                arrivals = others.len() as u64;
                let network = &mut self.network;
                network.send_to_group(at_ns, HostId(index), datagram, others);
            } else {
                self.network.send(at_ns, HostId(index), datagram);
            }
            if N::is_of_it(bytes) {
                self.packets += 1;
                self.arrivals += arrivals;
            }
        }
        at_ns
    }
}
