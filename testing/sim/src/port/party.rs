//! A port as a world has it: seats for addresses, and the world's own names of operations.

use std::net::SocketAddr;
use std::rc::Rc;

use bcl_proto::{Action, Config, NormalSend, Rma, Span, Time};
use bcl_types::{Atomic, OpError, OpId, Random};

use super::front::Front;
use super::memory::{Heard, Memory};
use super::{PORT, SimPort, WINDOW, address, describe, immediate_of, seat};
use crate::oracle::Seat;
use crate::party::{Failure, Held, Interception, News, Party, Request, Setup};

/// Events that wait for the program before the port takes nothing more in.
const MOST_EVENTS: usize = 32;

/// Tells the names that the world gives from those of the memory.
const OF_THE_WORLD: OpId = 1 << 63;

impl SimPort {
    fn rma(&mut self, now_ns: u64, to: Seat, op: u64, offset: u64, action: Action) {
        let rma = Rma {
            op: op | OF_THE_WORLD,
            window: WINDOW,
            offset,
            action,
        };
        self.endpoint
            .rma(Time(now_ns), address(to), rma, &mut self.memory);
    }

    fn system(&mut self, now_ns: u64, to: Seat, op: u64, bytes: &[u8]) {
        let op = op | OF_THE_WORLD;
        let (now, up) = (Time(now_ns), &mut self.memory);
        if self
            .endpoint
            .send_system(now, address(to), bytes, immediate_of(bytes), up, |_| op)
        {
            let len_bytes = bytes.len() as u64;
            self.memory.tell(Heard::Sent(op, len_bytes, Ok(())));
        }
    }

    fn news_of(&mut self, now_ns: u64, heard: Heard) -> Option<News> {
        Some(match heard {
            Heard::Owed(arrival) => {
                let arrived = self.meet(Time(now_ns), arrival);
                return self.news_of(now_ns, arrived);
            }
            Heard::System {
                from,
                handle,
                place,
                ..
            } => {
                let bytes = self.endpoint.data(&handle);
                assert_eq!(bytes.as_ptr(), place, "a system message has moved");
                let message = self.memory.new_op();
                self.unreleased.insert(message, handle);
                News::Message {
                    from: seat(from),
                    message,
                    bytes: bytes.to_vec(),
                }
            }
            Heard::Arrived { arrival, op, waits } => News::Arrived {
                from: seat(arrival.from),
                channel: arrival.channel,
                message: op,
                len_bytes: arrival.len_bytes,
                waits,
            },
            Heard::Withdrawn(message) => News::Withdrawn { message },
            Heard::Received {
                op,
                len_bytes,
                result,
                ..
            } => {
                let mut bytes = self.memory.back.remove(&op).unwrap_or_default();
                bytes.truncate(len_bytes as usize);
                News::Received {
                    message: op,
                    result: result.map(|()| bytes).map_err(failure),
                }
            }
            Heard::Sent(op, _, result) => self.ended(op, 0, result),
            Heard::Rma(op, value, result) => self.ended(op, value, result),
            Heard::Up(peer) => News::PeerUp(seat(peer)),
            Heard::Gone(peer, cause) => News::PeerGone(seat(peer), cause.to_string()),
            Heard::Put(..) | Heard::Written(..) => return None,
        })
    }

    fn ended(&mut self, op: OpId, value: u64, result: Result<(), OpError>) -> News {
        let bytes = self.memory.back.remove(&op).unwrap_or_default();
        News::Ended {
            op: op & !OF_THE_WORLD,
            result: result.map(|()| (value, bytes)).map_err(failure),
        }
    }
}

impl Party for SimPort {
    type Common = ();

    fn start(_now_ns: u64, setup: &Setup, _common: &()) -> Self {
        let mut random = Random::new(setup.seed);
        let seed = [random.next_u64(), random.next_u64()];
        let incarnation = 1 + u64::from(setup.life);
        let mut config = Config::new(address(setup.seat), incarnation, seed);
        config.dead_after = Span(setup.dead_after_ns);
        config.takes_long = true;
        let front = (setup.interfaces && !random.one_in(3))
            .then(|| Front::with_whims(PORT, &setup.key, random.fork()));
        let mut memory = Memory::new(setup.addresses.clone());
        memory.keys = Rc::clone(&setup.keys);
        memory.route_bytes = Some(setup.datagram_bytes);
        memory.windows.insert(WINDOW, vec![0; setup.window_bytes]);
        memory.most_events = MOST_EVENTS;
        memory.looks_later = random.one_in(2);
        Self::new(config, &setup.key, memory, front)
    }

    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]) {
        self.receive(now_ns, from, bytes);
    }

    fn last_words(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        let number = self.endpoint.address().port;
        let front = self.front.as_ref();
        front.map_or_else(Vec::new, |front| front.last_words(number))
    }

    fn intercept(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Interception {
        match &mut self.front {
            Some(front) => front.intercept(now_ns, &mut self.memory, from, bytes),
            None => Interception::Pass,
        }
    }

    fn has_records(&mut self) -> bool {
        self.front.as_mut().is_some_and(Front::has_records) || self.endpoint.has_overdue()
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
        let (transmit, bytes) = self.next_datagram(now_ns)?;
        Some((transmit.path.to, bytes))
    }

    fn next_timeout_ns(&mut self) -> Option<u64> {
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
                let send = NormalSend {
                    op: op | OF_THE_WORLD,
                    channel,
                    len_bytes: bytes.len() as u64,
                    immediate: immediate_of(&bytes),
                };
                self.memory.lend_as(send.op, bytes);
                let (now, to, up) = (Time(now_ns), address(to), &mut self.memory);
                self.endpoint.send_normal(now, to, send, up);
            }
            Request::Put { op, offset, bytes } => {
                let len_bytes = bytes.len() as u64;
                self.memory.lend_as(op | OF_THE_WORLD, bytes);
                self.rma(now_ns, to, op, offset, Action::Put { len_bytes });
            }
            Request::Get {
                op,
                offset,
                len_bytes,
            } => {
                self.memory.lend_as(op | OF_THE_WORLD, vec![0; len_bytes]);
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

    fn cancel(&mut self, _now_ns: u64, to: Seat, op: u64) -> bool {
        let op = op | OF_THE_WORLD;
        self.endpoint
            .cancel_send(address(to), &mut self.memory, |_, other| other == op)
    }

    fn post(&mut self, _now_ns: u64, channel: u16, capacity_bytes: usize) {
        self.memory.post(channel, capacity_bytes);
    }

    fn accept(&mut self, now_ns: u64, message: u64, capacity_bytes: usize) {
        self.give_buffer(Time(now_ns), message, capacity_bytes);
    }

    fn release(&mut self, now_ns: u64, message: u64) {
        if let Some(handle) = self.unreleased.remove(&message) {
            self.endpoint.release(&handle);
        }
        self.manage(now_ns);
    }

    fn close(&mut self, now_ns: u64) {
        if let Some(front) = &mut self.front {
            front.close();
        }
        self.endpoint.close(Time(now_ns), &mut self.memory);
        self.manage(now_ns);
    }

    fn is_drained(&self) -> bool {
        self.endpoint.is_drained()
    }

    fn moved(&mut self, seat: Seat, address: SocketAddr) {
        if let Some(known) = self.memory.addresses.get_mut(seat) {
            *known = address;
        }
    }

    fn news(&mut self, now_ns: u64) -> Option<News> {
        loop {
            if self.memory.heard.is_empty() {
                self.endpoint.see_off(Time(now_ns), &mut self.memory);
                self.manage(now_ns);
            }
            let heard = self.memory.heard.pop_front()?;
            if let Some(news) = self.news_of(now_ns, heard) {
                return Some(news);
            }
        }
    }

    fn window_word(&self, index: usize) -> u64 {
        let window = self.memory.windows.get(&WINDOW);
        let place = window.and_then(|window| window.get(index * 8..index * 8 + 8));
        let word = place.and_then(|place| place.first_chunk().copied());
        word.map_or(0, u64::from_le_bytes)
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

fn failure(error: OpError) -> Failure {
    match error {
        OpError::Truncated { .. } => Failure::Truncated,
        OpError::Canceled => Failure::Canceled,
        other => Failure::Peer(other.to_string()),
    }
}
