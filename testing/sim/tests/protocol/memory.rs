//! What an endpoint takes: no allocation in steady state, and memory by what is active.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bcl_proto::{
    Config, Endpoint, MessageId, NormalSend, Path, Payload, Span, SystemHandle, Target, Time,
    Upcalls, WindowPut,
};
use bcl_sim::port::address;
use bcl_types::{Address, Cause, OpError, OpId, Refusal};

use crate::world::{KEY, World, path};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A program that remembers next to nothing.
#[derive(Default)]
struct Sink {
    memory: Vec<u8>,
    message: Option<SystemHandle>,
    post: bool,
    ends: u64,
}

impl Upcalls for Sink {
    fn path_to(&mut self, peer: Address) -> Option<Path> {
        Some(path(usize::from(peer.node.0.octets()[3]) - 1))
    }
    fn datagram_bytes(&mut self, _: Path) -> Option<u16> {
        None
    }
    fn is_full(&self) -> bool {
        false
    }
    fn system(&mut self, _: Address, message: SystemHandle, _: u64, _: &[u8]) {
        self.message = Some(message);
    }
    fn arrived(&mut self, _: Address, _: MessageId, _: u16, _: u64, _: u64) -> Option<Target> {
        self.post.then_some(Target {
            op: 1,
            capacity_bytes: self.memory.len() as u64,
        })
    }
    fn withdrawn(&mut self, _: MessageId, _: u16) {}
    fn place(&mut self, _: OpId, offset: u64, bytes: &[u8]) -> bool {
        self.memory[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        true
    }
    fn fetch(&mut self, _: OpId, offset: u64, into: &mut [u8]) -> bool {
        let len = into.len();
        into.copy_from_slice(&self.memory[offset as usize..][..len]);
        true
    }
    fn received(&mut self, _: Address, _: u16, _: OpId, _: u64, _: Result<(), OpError>) {
        self.ends += 1;
    }
    fn sent(&mut self, _: Address, _: u16, _: OpId, _: u64, result: Result<(), OpError>) {
        assert_eq!(result, Ok(()));
        self.ends += 1;
    }
    fn rma_done(&mut self, _: Address, _: u16, _: OpId, _: u64, result: Result<(), OpError>) {
        assert_eq!(result, Ok(()));
        self.ends += 1;
    }
    fn window_put(&mut self, _: Address, _: WindowPut, _: &[u8]) -> Result<(), Refusal> {
        Ok(())
    }
    fn window_written(&mut self, _: Address, _: u16, _: u64, _: u64) {}
    fn window_get(&mut self, _: Address, _: u16, _: u64, _: &mut [u8]) -> Result<(), Refusal> {
        Ok(())
    }
    fn window_atomic(
        &mut self,
        _: Address,
        _: u16,
        _: u64,
        _: bcl_types::Atomic,
    ) -> Result<u64, Refusal> {
        Ok(0)
    }
    fn peer_up(&mut self, _: Address) {}
    fn peer_gone(&mut self, _: Address, _: Cause) {}
}

struct Pair {
    now: Time,
    ends: [(Endpoint, Sink); 2],
}

impl Pair {
    fn new() -> Self {
        let end = |host| {
            let endpoint = Endpoint::new(Config::new(address(host), 1, [1, host as u64]), &KEY);
            let memory = vec![0; 100_000];
            let sink = Sink {
                memory,
                ..Sink::default()
            };
            (endpoint, sink)
        };
        Self {
            now: Time(1_000_000),
            ends: [end(0), end(1)],
        }
    }

    /// Brings everything that one has to send to the other, until both are quiet.
    fn exchange(&mut self) {
        let mut datagram = [0; 9_000];
        let mut quiet = 0;
        while quiet < 2 {
            self.now += Span(200);
            quiet += 1;
            for from in [0, 1] {
                let [one, other] = &mut self.ends;
                let (from_end, to_end) = if from == 0 {
                    (one, other)
                } else {
                    (other, one)
                };
                let (endpoint, sink) = from_end;
                if endpoint.next_timeout().is_some_and(|at| at <= self.now) {
                    endpoint.on_timeout(self.now, sink);
                }
                while let Some(transmit) = endpoint.poll_transmit(self.now, sink) {
                    quiet = 0;
                    let payload = match (endpoint.bytes(&transmit), &transmit.payload) {
                        (Some(bytes), _) => bytes,
                        (
                            None,
                            Payload::Lent {
                                offset, len_bytes, ..
                            },
                        ) => &sink.memory[*offset as usize..][..usize::from(*len_bytes)],
                        _ => panic!("kept too long"),
                    };
                    let len = transmit.len_bytes();
                    datagram[..64].copy_from_slice(&endpoint.seal(&transmit, payload));
                    datagram[64..len].copy_from_slice(payload);
                    let (endpoint, sink) = &mut *to_end;
                    endpoint.handle(self.now, path(from), &datagram[..len], sink);
                }
            }
        }
    }

    fn ping(&mut self, from: usize, len: usize) {
        let to = 1 - from;
        let (endpoint, sink) = &mut self.ends[from];
        let data = [5; 8_192];
        endpoint.send_system(self.now, address(to), &data[..len], 0, sink, |_| 7);
        self.exchange();
        let (endpoint, sink) = &mut self.ends[to];
        let message = sink.message.take().expect("a message");
        assert_eq!(endpoint.data(&message).len(), len);
        assert!(endpoint.release(&message));
    }

    fn normal(&mut self, len: u64) {
        let (endpoint, sink) = &mut self.ends[0];
        let send = NormalSend {
            op: 1,
            channel: 1,
            len_bytes: len,
            immediate: 0,
        };
        endpoint.send_normal(self.now, address(1), send, sink);
        self.exchange();
    }
}

fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    act();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    let mut pair = Pair::new();
    pair.ends[1].1.post = true;
    let mut round = |count: usize| {
        for k in 0..count {
            pair.ping(k % 2, [8, 1_000, 8_000][k % 3]);
            pair.normal([8, 8_000, 60_000][k % 3]);
        }
    };
    round(1_000);
    assert_eq!(allocations(|| round(10_000)), 0);
}

#[test]
fn peers_that_are_only_known_cost_nothing_and_idle_ones_little() {
    let mut world = World::new(41, 1);
    let memory = |world: &World| world.hosts[0].endpoint.depths().memory_bytes;
    let empty = memory(&world);
    for peer in 1..41 {
        world.send_system(peer, 0, &[1; 5_000]);
    }
    world.run(Span::from_ms(50));
    assert_eq!(world.take_system(0).len(), 40);
    world.run(Span::from_ms(12_000));
    let pool = 40 * 9216;
    let each = (memory(&world) - empty - pool) / 40;
    println!("{each} bytes for an idle peer");
    assert!(each < 4_096, "{each} bytes");
}

/// Prints what sending and receiving cost apart from the check; asserts nothing about time.
#[test]
fn cost_of_a_message() {
    const BATCH: usize = 8;
    let mut pair = Pair::new();
    pair.ping(0, 8);
    let rounds = 5_000;
    let (mut sending, mut receiving) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..rounds {
        let mut datagrams = [[0; 72]; BATCH];
        let [(sender, sink), (receiver, other)] = &mut pair.ends;
        pair.now += Span(3_000);
        let mut transmits: [_; BATCH] = std::array::from_fn(|_| None);
        let start = Instant::now();
        for transmit in &mut transmits {
            sender.send_system(pair.now, address(1), black_box(&[5; 8]), 0, sink, |_| 7);
            *transmit = sender.poll_transmit(pair.now, sink);
        }
        sending += start.elapsed();
        for (transmit, datagram) in transmits.iter().flatten().zip(&mut datagrams) {
            let payload = sender.bytes(transmit).expect("a copy");
            datagram[..64].copy_from_slice(&sender.seal(transmit, payload));
            datagram[64..].copy_from_slice(payload);
        }
        let start = Instant::now();
        for datagram in &datagrams {
            receiver.handle(pair.now, path(0), black_box(datagram), other);
            let message = other.message.take().expect("a message");
            receiver.release(&message);
        }
        receiving += start.elapsed();
        pair.exchange();
    }
    let per_message = |time: Duration| time / (rounds * BATCH) as u32;
    println!(
        "sending {:?}, receiving with its check {:?}",
        per_message(sending),
        per_message(receiving)
    );
}
