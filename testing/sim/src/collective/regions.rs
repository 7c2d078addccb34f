//! Each host has a region with a partition for each member, as `bcl_coll` has it between hosts ([COLL-3.1], [COLL-3.2]).

use std::net::SocketAddr;

use bcl_mirror::{Claimed, Config, Geometry, Mirror, Outgoing, Traffic};
use bcl_types::Time;

use super::What;
use super::crew::Node;
use crate::region::{Applied, HostMemory, address, config, group_address};

const LOG_BYTES: u64 = 4096;
/// The first of all hosts, and the member there.
const FIRST: usize = 0;
/// Who hears what is sent to all is known to after so long.
const PROBED_NS: u64 = 1_200_000_000;

/// A host.
pub struct Reflecting {
    mirror: Mirror,
    memory: HostMemory,
    out: Outgoing,
    what: What,
    hosts: usize,
    number: usize,
    /// A process here is the member of its number.
    is_in: bool,
    is_complete_since_ns: Option<u64>,
    /// So many have written since it began.
    heard: usize,
    is_done: bool,
}

/// So many, in a network that has multicast or not.
pub fn crew(hosts: usize, what: What, has_group: bool) -> Vec<Reflecting> {
    let host = |number| Reflecting::new(hosts, number, what, has_group);
    (0..hosts).map(host).collect()
}

impl Reflecting {
    fn new(hosts: usize, number: usize, what: What, has_group: bool) -> Self {
        let members = match what {
            What::Broadcast(_) => 1,
            What::Barrier => hosts as u16,
        };
        let write_bytes = write_bytes(what) as u64;
        let geometry = Geometry {
            members,
            region_bytes: u64::from(members) * write_bytes,
            log_bytes: LOG_BYTES.max(16 * write_bytes),
        };
        let config = Config {
            group: has_group.then(group_address),
            ..config(hosts, number, geometry)
        };
        Self {
            mirror: Mirror::new(config, Time(0)),
            memory: HostMemory::new(geometry),
            out: Outgoing::default(),
            what,
            hosts,
            number,
            is_in: false,
            is_complete_since_ns: None,
            heard: 0,
            is_done: false,
        }
    }

    fn has_a_member(&self) -> bool {
        self.number == FIRST || self.what == What::Barrier
    }

    fn write(&mut self) {
        let bytes = vec![1; write_bytes(self.what)];
        let offset = bytes.len() * self.number;
        self.memory
            .write_as(self.number as u16, offset as u64, &bytes, false);
    }

    /// Looks what has come.
    fn look(&mut self) {
        let is_first = self.number == FIRST;
        for applied in self.memory.take_applied() {
            if let Applied::Frame { member, .. } = applied {
                self.heard += 1;
                self.is_done |= !is_first && usize::from(member) == FIRST;
            }
        }
        if is_first && !self.is_done && self.heard + 1 == self.hosts {
            self.write();
            self.is_done = true;
        }
    }

    /// All know all, and follow the member here.
    fn is_complete(&self) -> bool {
        let others = self.hosts - 1;
        let follow_all = || self.mirror.followers(self.number as u16).count() == others;
        let knows_all = self.mirror.hosts().count() == others;
        knows_all && self.is_in == self.has_a_member() && (!self.is_in || follow_all())
    }
}

fn write_bytes(what: What) -> usize {
    match what {
        What::Broadcast(len_bytes) => len_bytes,
        What::Barrier => size_of::<u64>(),
    }
}

impl Node for Reflecting {
    fn address(&self) -> SocketAddr {
        address(self.number)
    }

    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]) {
        self.mirror.handle(Time(now_ns), from, bytes, &self.memory);
        while self.mirror.poll_event().is_some() {}
        self.look();
    }

    fn next_timeout_ns(&mut self) -> Option<u64> {
        Some(self.mirror.next_timeout().0)
    }

    fn on_timeout(&mut self, now_ns: u64) {
        self.mirror.on_timeout(Time(now_ns), &self.memory);
    }

    fn transmit(&mut self, now_ns: u64, to: &mut Vec<SocketAddr>) -> Option<Vec<u8>> {
        let is_one = self
            .mirror
            .poll_transmit(Time(now_ns), &self.memory, &mut self.out);
        is_one.then(|| {
            to.extend(&self.out.to);
            self.out.bytes.clone()
        })
    }

    fn is_of_it(bytes: &[u8]) -> bool {
        let traffic = Traffic::of(bytes);
        matches!(traffic, Some(Traffic::Writes | Traffic::Answers))
    }

    fn is_ready(&mut self, now_ns: u64) -> bool {
        if self.has_a_member() && !self.is_in && self.mirror.is_settled() {
            let (now, member) = (Time(now_ns), self.number as u16);
            let claimed = self.mirror.claim(now, member, &self.memory);
            if let Claimed::Ours { position, .. } = claimed {
                self.memory.begin(member, position);
                self.is_in = true;
            }
        }
        let is_complete = self.is_complete();
        let since = &mut self.is_complete_since_ns;
        *since = is_complete.then(|| since.unwrap_or(now_ns));
        since.is_some_and(|since_ns| now_ns >= since_ns + PROBED_NS)
    }

    fn begin(&mut self, _now_ns: u64) {
        (self.heard, self.is_done) = (0, false);
        match self.what {
            What::Broadcast(_) if self.number == FIRST => {
                self.write();
                self.is_done = true;
            }
            What::Barrier if self.number != FIRST => self.write(),
            _ => {}
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
