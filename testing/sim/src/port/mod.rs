//! The party that matters: an endpoint of `bcl-proto` with the driver and the port around it.
//!
//! What stands around an endpoint in the library is here as simple as it can be: [`Memory`] lends buffers by name and
//! writes down what the endpoint says, a [`Front`] is the interface program with its agent. Worlds have it as a
//! [`Party`](crate::party::Party); tests of the protocol take it by its parts.

mod describe;
mod front;
mod immediate;
mod memory;
mod party;
mod upcalls;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use bcl_proto::{Config, Endpoint, Path, SystemHandle, Target, Time, Transmit};
use bcl_types::{Address, OpId};

use crate::oracle::Seat;

pub use front::Front;
pub use immediate::immediate_of;
pub use memory::{Arrival, Granted, Heard, Memory};

/// The port number of every seat, on a node of its own.
pub const PORT: u16 = 7;

/// [`PORT`] of each node, as UDP knows it.
pub const UDP_PORT: u16 = 20_007;

/// The open channel on which each port of a world has its window.
const WINDOW: u16 = 0;

/// One port of one process.
pub struct SimPort {
    /// What is tried.
    pub endpoint: Endpoint,
    /// What its program lends, and hears.
    pub memory: Memory,
    /// The interface program in front of it.
    pub front: Option<Front>,
    /// System messages that a world has not released, by their names there.
    unreleased: BTreeMap<u64, SystemHandle>,
}

impl SimPort {
    /// A port with this key.
    pub fn new(
        mut config: Config,
        key: &[u8; 32],
        memory: Memory,
        mut front: Option<Front>,
    ) -> Self {
        if let Some(front) = &mut front {
            config.interface_ring_bytes = front.ring_bytes();
            config.interface_takes_singly = front.takes_singly;
            config.interface_keeps_streams = front.keeps_streams;
            front.tell_puts(config.leaves_streams());
        }
        Self {
            endpoint: Endpoint::new(config, key),
            memory,
            front,
            unreleased: BTreeMap::new(),
        }
    }

    /// A datagram has come to the socket. The program has nothing to answer, and looks again at once.
    pub fn receive(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) {
        let path = Path { to: from, rail: 0 };
        self.endpoint
            .handle(Time(now_ns), path, bytes, &mut self.memory);
        self.endpoint.on_turn(Time(now_ns), &mut self.memory);
        self.manage(now_ns);
    }

    /// Whatever has to be done for the interface program after something has happened.
    pub fn manage(&mut self, now_ns: u64) {
        if let Some(front) = &mut self.front {
            front.manage(now_ns, &mut self.endpoint, &mut self.memory);
        }
    }

    /// The next packet, and the datagram that a driver makes of it.
    pub fn next_datagram(&mut self, now_ns: u64) -> Option<(Transmit, Vec<u8>)> {
        loop {
            let transmit = self
                .endpoint
                .poll_transmit(Time(now_ns), &mut self.memory)?;
            let payload = match self.endpoint.bytes(&transmit) {
                Some(bytes) => Some(bytes),
                None => self.memory.lent(&transmit.payload),
            };
            // A packet whose memory has gone back to the program is not needed any more.
            if let Some(payload) = payload {
                let mut bytes = self.endpoint.seal(&transmit, payload).to_vec();
                bytes.extend_from_slice(payload);
                assert_eq!(bytes.len(), transmit.len_bytes());
                return Some((transmit, bytes));
            }
        }
    }

    /// The program, which was away, gives buffers to the messages that came meanwhile, and hears who has left.
    pub fn look(&mut self, now: Time) {
        self.memory.looks_later = false;
        for heard in self.memory.take() {
            let heard = match heard {
                Heard::Owed(arrival) => self.meet(now, arrival),
                heard => heard,
            };
            self.memory.tell(heard);
        }
        self.endpoint.see_off(now, &mut self.memory);
    }

    /// The program gives a buffer to a message that waits, if it still does.
    pub fn give_buffer(&mut self, now: Time, op: OpId, capacity_bytes: usize) {
        if let Some(arrival) = self.memory.waiting.remove(&op) {
            self.memory.lend_as(op, vec![0; capacity_bytes]);
            let target = Target {
                op,
                capacity_bytes: capacity_bytes as u64,
            };
            self.hand_over(now, arrival, target);
        }
    }

    /// The program hears of a message for which it was away.
    pub(crate) fn meet(&mut self, now: Time, arrival: Arrival) -> Heard {
        let (heard, target) = self.memory.meet(arrival);
        if let Some(target) = target {
            self.hand_over(now, arrival, target);
        }
        heard
    }

    fn hand_over(&mut self, now: Time, arrival: Arrival, target: Target) {
        let up = &mut self.memory;
        let is_there = self.endpoint.accept(now, arrival.id, target, up);
        assert!(is_there, "a message has gone and was not withdrawn");
        self.manage(now.0);
    }
}

/// What a seat's port is called.
pub fn address(seat: Seat) -> Address {
    Address {
        node: (FIRST_NODE + seat as u32).into(),
        port: PORT,
    }
}

/// Where it is, as long as its host has not moved.
pub fn first_address(seat: Seat) -> SocketAddr {
    (first_ip(seat), UDP_PORT).into()
}

/// The address in the network of a host that has not moved: as in real life, the node's number.
pub(crate) fn first_ip(seat: Seat) -> IpAddr {
    address(seat).node.0.into()
}

/// Whose port is called so.
pub(crate) fn seat(address: Address) -> Seat {
    u32::from(address.node).wrapping_sub(FIRST_NODE) as Seat
}

const FIRST_NODE: u32 = 0x0a00_0001;

#[test]
fn seats_have_addresses() {
    for index in [0, 1, 300] {
        assert_eq!(seat(address(index)), index);
    }
    assert_eq!(first_address(0).to_string(), "10.0.0.1:20007");
}
