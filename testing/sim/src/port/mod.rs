//! The party that matters: an endpoint of `bcl-proto` with the driver and the port around it.
//!
//! What stands around an endpoint in the library is here as simple as it can be: [`memory`] lends buffers by name and
//! writes down what the endpoint says.

mod describe;
mod front;
mod memory;

use std::net::{IpAddr, SocketAddr};

use bcl_proto::{Action, Config, Endpoint, Path, Rma, Span, Target, Time};
use bcl_types::{Address, Atomic};

use crate::Random;
use crate::oracle::Seat;
use crate::party::{Failure, Held, Interception, News, Party, Request, Setup};

use front::Front;
use memory::{Arrival, Heard, Memory, Name};

/// The port number of every seat, on a node of its own.
const PORT: u16 = 7;

/// The open channel on which each port has its window.
const WINDOW: u16 = 0;

/// One port of one process.
pub struct Port {
    endpoint: Endpoint,
    memory: Memory,
    front: Option<Front>,
}

impl Port {
    /// What the endpoint says of itself.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Whatever has to be done for the interface program after something has happened.
    fn manage(&mut self, now_ns: u64) {
        if let Some(front) = &mut self.front {
            front.manage(now_ns, &mut self.endpoint, &mut self.memory);
        }
    }

    fn rma(&mut self, now_ns: u64, to: Seat, op: u64, offset: u64, action: Action) {
        let rma = Rma {
            op: Name::Program(op).to_op(),
            window: WINDOW,
            offset,
            action,
        };
        self.endpoint
            .rma(Time(now_ns), address(to), rma, &mut self.memory);
    }

    /// The program hears of a message for which it was away.
    fn meet(&mut self, now_ns: u64, arrival: &Arrival) -> News {
        let (news, target) = self.memory.meet(arrival);
        if let Some(target) = target {
            let (now, up) = (Time(now_ns), &mut self.memory);
            let is_there = self.endpoint.accept(now, arrival.id, target, up);
            assert!(is_there, "a message has gone and was not withdrawn");
            self.manage(now_ns);
        }
        news
    }

    fn system(&mut self, now_ns: u64, to: Seat, op: u64, bytes: &[u8]) {
        let name = Name::Program(op).to_op();
        let is_complete =
            self.endpoint
                .send_system(Time(now_ns), address(to), bytes, &mut self.memory, |_| name);
        if is_complete {
            self.memory.tell(News::Ended {
                op,
                result: Ok((0, Vec::new())),
            });
        }
    }
}

impl Party for Port {
    fn start(_now_ns: u64, setup: &Setup) -> Self {
        let mut random = Random::new(setup.seed);
        let seed = [random.next_u64(), random.next_u64()];
        let incarnation = 1 + u64::from(setup.life);
        let mut config = Config::new(address(setup.seat), incarnation, seed);
        config.dead_after = Span(setup.dead_after_ns);
        let front = (setup.interfaces && !random.one_in(3))
            .then(|| Front::new(PORT, &setup.job_key, random.fork()));
        let front = front.map(|(front, ring_bytes)| {
            config.interface_ring_bytes = ring_bytes;
            front
        });
        Self {
            endpoint: Endpoint::new(config, &setup.job_key),
            memory: Memory::new(setup, random.one_in(2)),
            front,
        }
    }

    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]) {
        let path = Path { to: from, rail: 0 };
        self.endpoint
            .handle(Time(now_ns), path, bytes, &mut self.memory);
        self.manage(now_ns);
    }

    fn intercept(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Interception {
        match &mut self.front {
            Some(front) => front.intercept(now_ns, &mut self.memory, from, bytes),
            None => Interception::Pass,
        }
    }

    fn has_records(&mut self) -> bool {
        self.front.as_mut().is_some_and(Front::has_records)
    }

    fn handle_record(&mut self, now_ns: u64) -> bool {
        let was_taken = self
            .front
            .as_mut()
            .is_some_and(|front| front.handle_record(now_ns, &mut self.endpoint, &mut self.memory));
        self.manage(now_ns);
        was_taken
    }

    fn transmit(&mut self, now_ns: u64) -> Option<(SocketAddr, Vec<u8>)> {
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
                return Some((transmit.path.to, bytes));
            }
        }
    }

    fn next_timeout_ns(&self) -> Option<u64> {
        let own = self.endpoint.next_timeout().map(|time| time.0);
        let agent = self.front.as_ref().and_then(Front::next_timeout_ns);
        own.into_iter().chain(agent).min()
    }

    fn on_timeout(&mut self, now_ns: u64) {
        self.endpoint.on_timeout(Time(now_ns), &mut self.memory);
        self.manage(now_ns);
    }

    fn request(&mut self, now_ns: u64, to: Seat, request: Request) {
        match request {
            Request::System { op, bytes } => self.system(now_ns, to, op, &bytes),
            Request::Unreliable { bytes } => {
                self.endpoint
                    .send_unreliable(Time(now_ns), address(to), &bytes, &mut self.memory);
            }
            Request::Normal { op, channel, bytes } => {
                let (name, len_bytes) = (Name::Program(op).to_op(), bytes.len() as u64);
                self.memory.lend(op, bytes);
                let (now, to, up) = (Time(now_ns), address(to), &mut self.memory);
                self.endpoint
                    .send_normal(now, to, channel, name, len_bytes, up);
            }
            Request::Put { op, offset, bytes } => {
                let len_bytes = bytes.len() as u64;
                self.memory.lend(op, bytes);
                self.rma(now_ns, to, op, offset, Action::Put { len_bytes });
            }
            Request::Get {
                op,
                offset,
                len_bytes,
            } => {
                self.memory.lend(op, vec![0; len_bytes]);
                let len_bytes = len_bytes as u64;
                self.rma(now_ns, to, op, offset, Action::Get { len_bytes });
            }
            Request::Add { op, offset } => {
                let action = Action::Atomic(Atomic::FetchAdd(1));
                self.rma(now_ns, to, op, offset, action);
            }
            Request::Swap {
                op,
                offset,
                compare,
                new,
            } => {
                let swap = Atomic::CompareSwap {
                    expected: compare,
                    new,
                };
                self.rma(now_ns, to, op, offset, Action::Atomic(swap));
            }
        }
    }

    fn post(&mut self, _now_ns: u64, channel: u16, capacity_bytes: usize) {
        self.memory.post(channel, capacity_bytes);
    }

    fn accept(&mut self, now_ns: u64, message: u64, capacity_bytes: usize) {
        let Some(id) = self.memory.accept(message, capacity_bytes) else {
            return;
        };
        let target = Target {
            op: Name::Message(message).to_op(),
            capacity_bytes: capacity_bytes as u64,
        };
        let is_there = self
            .endpoint
            .accept(Time(now_ns), id, target, &mut self.memory);
        if !is_there {
            let failure = Failure::Peer("it had gone when its buffer came".to_owned());
            let result = Err(failure);
            self.memory.tell(News::Received { message, result });
        }
        self.manage(now_ns);
    }

    fn release(&mut self, now_ns: u64, message: u64) {
        if let Some(handle) = self.memory.take_system(message) {
            self.endpoint.release(&handle);
        }
        self.manage(now_ns);
    }

    fn close(&mut self, now_ns: u64) {
        self.endpoint.close(Time(now_ns), &mut self.memory);
        self.manage(now_ns);
    }

    fn is_drained(&self) -> bool {
        self.endpoint.is_drained()
    }

    fn moved(&mut self, seat: Seat, address: SocketAddr) {
        self.memory.moved(seat, address);
    }

    fn news(&mut self, now_ns: u64) -> Option<News> {
        let heard = match self.memory.heard() {
            Some(heard) => heard,
            None => {
                self.endpoint.see_off(Time(now_ns), &mut self.memory);
                self.manage(now_ns);
                self.memory.heard()?
            }
        };
        Some(match heard {
            Heard::News(news) => news,
            Heard::Owed(arrival) => self.meet(now_ns, &arrival),
            Heard::System {
                from,
                message,
                handle,
                place,
            } => {
                let bytes = self.endpoint.data(&handle);
                assert_eq!(bytes.as_ptr(), place, "a system message has moved");
                News::Message {
                    from,
                    message,
                    bytes: bytes.to_vec(),
                }
            }
        })
    }

    fn window_word(&self, index: usize) -> u64 {
        self.memory.window_word(index)
    }

    fn held(&self) -> Held {
        let depths = self.endpoint.depths();
        Held {
            bytes: depths.memory_bytes,
            connections: depths.peers,
            waiting: depths.pending + depths.unexpected + depths.unreleased,
            buffered_bytes: depths.pool_bytes + depths.stash_bytes,
        }
    }

    fn describe(bytes: &[u8]) -> String {
        describe::describe(bytes)
    }
}

/// What a seat's port is called.
fn address(seat: Seat) -> Address {
    Address {
        node: (FIRST_NODE + seat as u32).into(),
        port: PORT,
    }
}

/// Whose port is called so.
fn seat(address: Address) -> Seat {
    u32::from(address.node).wrapping_sub(FIRST_NODE) as Seat
}

const FIRST_NODE: u32 = 0x0a00_0001;

/// The address in the network of a host that has not moved: as in real life, the node's number.
pub(crate) fn first_ip(seat: Seat) -> IpAddr {
    address(seat).node.0.into()
}

#[test]
fn seats_have_addresses() {
    for index in [0, 1, 300] {
        assert_eq!(seat(address(index)), index);
    }
    assert_eq!(first_ip(0).to_string(), "10.0.0.1");
}
