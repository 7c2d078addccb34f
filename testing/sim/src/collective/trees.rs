//! Each host has a port, and they send each other messages: a broadcast along a binomial tree, a barrier by dissemination, as MPI
//! libraries have them.

use std::net::SocketAddr;

use bcl_proto::Config;

use super::What;
use super::crew::Node;
use crate::SimPort;
use crate::oracle::Seat;
use crate::party::{News, Party, Request};
use crate::port::{Memory, address, first_address};

/// Who has what all others are to get.
const FIRST: Seat = 0;
const KEY: [u8; 32] = [1; 32];
/// All messages have the same name: their ends say nothing.
const OP: u64 = 1;

/// A host.
pub struct Messaging {
    port: SimPort,
    what: What,
    hosts: usize,
    seat: Seat,
    /// Of a barrier: in each it tells one, and hears from another,
    round: usize,
    /// who may be ahead.
    heard: Vec<u32>,
    is_done: bool,
}

/// So many.
pub fn crew(hosts: usize, what: What) -> Vec<Messaging> {
    let addresses: Vec<_> = (0..hosts).map(first_address).collect();
    let host = |seat| {
        let config = Config::new(address(seat), 1, [seat as u64, 0]);
        let memory = Memory::new(addresses.clone());
        Messaging {
            port: SimPort::new(config, &KEY, memory, None),
            what,
            hosts,
            seat,
            round: 0,
            heard: vec![0; hosts.next_power_of_two().ilog2() as usize],
            is_done: false,
        }
    };
    (0..hosts).map(host).collect()
}

impl Messaging {
    fn send(&mut self, now_ns: u64, to: Seat, bytes: Vec<u8>) {
        self.port
            .request(now_ns, to, Request::System { op: OP, bytes });
    }

    /// To those behind this one in the tree: the farthest first, for it has the most behind it.
    fn pass_on(&mut self, now_ns: u64, bytes: &[u8]) {
        let first = match self.seat {
            FIRST => 0,
            seat => seat.ilog2() + 1,
        };
        for shift in (first..=self.hosts.ilog2()).rev() {
            let child = self.seat + (1 << shift);
            if child < self.hosts {
                self.send(now_ns, child, bytes.to_vec());
            }
        }
        self.is_done = true;
    }

    /// Tells one in each round, once it has heard from another in the one before.
    fn disseminate(&mut self, now_ns: u64) {
        while !self.is_done && self.heard[self.round] > 0 {
            self.heard[self.round] -= 1;
            self.round += 1;
            self.is_done = self.round == self.heard.len();
            if !self.is_done {
                self.tell(now_ns);
            }
        }
    }

    fn tell(&mut self, now_ns: u64) {
        let to = (self.seat + (1 << self.round)) % self.hosts;
        self.send(now_ns, to, vec![self.round as u8]);
    }

    fn look(&mut self, now_ns: u64) {
        while let Some(news) = self.port.news(now_ns) {
            let News::Message { message, bytes, .. } = news else {
                continue;
            };
            self.port.release(now_ns, message);
            match self.what {
                What::Broadcast(_) => self.pass_on(now_ns, &bytes),
                What::Barrier => {
                    self.heard[usize::from(bytes[0])] += 1;
                    self.disseminate(now_ns);
                }
            }
        }
    }
}

impl Node for Messaging {
    fn address(&self) -> SocketAddr {
        first_address(self.seat)
    }

    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]) {
        self.port.receive(now_ns, from, bytes);
        self.look(now_ns);
    }

    fn next_timeout_ns(&mut self) -> Option<u64> {
        Party::next_timeout_ns(&mut self.port)
    }

    fn on_timeout(&mut self, now_ns: u64) {
        Party::on_timeout(&mut self.port, now_ns);
        self.look(now_ns);
    }

    fn transmit(&mut self, now_ns: u64, to: &mut Vec<SocketAddr>) -> Option<Vec<u8>> {
        let (address, bytes) = Party::transmit(&mut self.port, now_ns)?;
        to.push(address);
        Some(bytes)
    }

    fn is_of_it(_bytes: &[u8]) -> bool {
        true
    }

    fn is_ready(&mut self, _now_ns: u64) -> bool {
        true
    }

    fn begin(&mut self, now_ns: u64) {
        (self.round, self.is_done) = (0, false);
        match self.what {
            What::Broadcast(len_bytes) if self.seat == FIRST => {
                self.pass_on(now_ns, &vec![1; len_bytes]);
            }
            What::Broadcast(_) => {}
            What::Barrier => {
                self.tell(now_ns);
                self.disseminate(now_ns);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}
