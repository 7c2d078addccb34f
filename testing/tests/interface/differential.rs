//! Whatever comes, the interface program in the kernel does what the model of it does: the same verdicts and answers to the
//! byte, the same counters, records, memory and state.

use std::cell::RefCell;
use std::sync::Arc;
use std::{env, panic};

use bcl_layout::control::{GRANTS, Grant};
use bcl_layout::tables::{Connection, Outcomes};
use bcl_layout::{Counters, Plain, Record};
use bcl_mcp::Mcp;
use bcl_mcp_model::{Entry, ModelPort, Verdict, Window};
use bcl_proto::{ConnectionState, Outcome};
use bcl_wire::JobKeys;

use crate::kernel::{Fate, Kernel, PORT, entry, in_table, load};
use crate::traffic::{CONNECTIONS, Traffic, WINDOWS};

/// How many packets if not [`USUALLY`] many; `make soak` wants more.
const PACKETS: &str = "BCL_TEST_INTERFACE_PACKETS";
/// Begin with this seed.
const SEED: &str = "BCL_TEST_INTERFACE_SEED";
/// Of these each counter that can count does.
const USUALLY: u64 = 5 * WORLD;
/// Length of most windows.
const W: u64 = 200 << 10;
/// Packets of a world, after which another one begins.
const WORLD: u64 = 20_000;

/// The same port twice.
struct Twins {
    kernel: Kernel,
    model: ModelPort,
    traffic: Traffic,
    job: Arc<JobKeys>,
}

impl Twins {
    fn new(mcp: Mcp, seed: u64) -> Self {
        let job = Arc::new(JobKeys::derive(&[seed as u8; 32]));
        let mut traffic = Traffic::new(seed, Arc::clone(&job));
        let ring_bytes = traffic.pick(&[1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 20]);
        let mut twins = Self {
            kernel: Kernel::new(mcp, &job, ring_bytes),
            model: ModelPort::new(PORT, Arc::clone(&job), ring_bytes as usize),
            traffic,
            job,
        };
        for id in &CONNECTIONS[..3] {
            twins.enter_connection(*id, Vec::new());
        }
        for number in 0..WINDOWS as u16 {
            twins.enter_window(number);
        }
        twins
    }

    fn enter_connection(&mut self, id: u32, outcomes: Vec<Option<Outcome>>) {
        let expected = match self.traffic.random.below(3) {
            0 => 0,
            1 => u32::MAX - 50,
            _ => self.traffic.random.next_u64() as u32,
        };
        let entry = Entry {
            outcomes,
            ..entry(&self.job, id, expected)
        };
        self.kernel.enter_connection(&entry);
        self.model.enter_connection(entry);
    }

    fn enter_window(&mut self, number: u16) {
        let traffic = &mut self.traffic;
        let len = traffic.pick(&[0, 1, 1024, 3000, W, W, W, W, W, W]);
        let base = 8 * traffic.random.below(9000);
        let access = traffic.pick(&[15, 15, 15, 15, 15, 7, 7, 7, 1, 2, 4, 10, 12, 0]);
        self.kernel.enter_window(number, base, len, access);
        let memory = vec![0; len as usize];
        self.model.enter_window(
            number,
            Window {
                memory,
                len_bytes: len,
                access,
            },
        );
        self.model.control.offer(number, true);
    }

    /// Something other than a packet.
    fn upset(&mut self) {
        let traffic = &mut self.traffic;
        let id = traffic.pick(&CONNECTIONS[..3]);
        match traffic.random.below(100) {
            0..36 => {
                let count = traffic.random.below(60);
                self.read_records(count);
            }
            36..50 => self.read_records(u64::MAX),
            50..56 => {
                let refuses = !traffic.once_in(4) && !self.model.control.refuse_system;
                self.model.control.refuse_system = refuses;
                self.kernel.control.refuse_system(refuses);
                let refuses = self.traffic.once_in(8);
                self.model.control.refuse_early = refuses;
                self.kernel.control.refuse_early(refuses);
                let tells = !self.traffic.once_in(3);
                self.model.control.tell_puts = tells;
                self.kernel.control.tell_puts(tells);
            }
            56..62 => {
                self.model.control.sleeps = !self.model.control.sleeps;
                match self.model.control.sleeps {
                    true => self.kernel.control.sleep(),
                    false => self.kernel.control.wake(),
                }
            }
            62..86 => self.regrant(),
            86..90 => {
                let number = traffic.random.below(WINDOWS) as u16;
                let is_offered = !traffic.once_in(4);
                self.model.control.offer(number, is_offered);
                self.kernel.control.offer(number, is_offered);
            }
            90..94 => {
                // Two of the connections share their byte.
                let is_given_back = traffic.once_in(4);
                for id in &CONNECTIONS[..3] {
                    self.model.control.give_back(*id, false);
                    self.kernel.control.give_back(*id, false);
                }
                self.model.control.give_back(id, is_given_back);
                self.kernel.control.give_back(id, is_given_back);
            }
            94..96 => {
                let known = self.model.remove_connection(id);
                let found = self.kernel.take_connection(id);
                same_state(known.as_ref(), found.as_ref().map(|(state, _)| state));
                same_outcomes(known.as_ref(), found.and_then(|(_, outcomes)| outcomes));
                let outcomes = known.map_or_else(Vec::new, |known| known.outcomes);
                match self.traffic.once_in(2) {
                    true => self.enter_connection(id, done(&outcomes)),
                    false => self.enter_connection(id, Vec::new()),
                }
            }
            _ => {
                let number = traffic.random.below(WINDOWS) as u16;
                self.same_memory(number);
                self.kernel.remove_window(number);
                self.model.remove_window(number);
                if !self.traffic.once_in(3) {
                    self.enter_window(number);
                }
            }
        }
    }

    fn regrant(&mut self) {
        let traffic = &mut self.traffic;
        let slot = traffic.random.below(GRANTS as u64) as usize;
        let grant = Grant {
            connection: traffic.pick(&[1, 1, 2, 0, 1025]),
            message: traffic.message(),
            window: traffic.pick(&[0, 1, 2, 3, 4, 5, 1 << 16]),
            place: traffic.random.below(70_000),
            len_bytes: traffic.random.below(150_000),
        };
        self.model.control.grants[slot] = grant;
        self.kernel.control.grant(slot, grant);
    }

    fn packet(&mut self) {
        let (from, datagram) = self.traffic.datagram(&mut self.model);
        let fate = self.kernel.handle(from, &datagram);
        let expected = match self.model.handle(from, &datagram) {
            Verdict::Pass => Fate::Pass,
            Verdict::Drop => Fate::Drop,
            Verdict::Reply(reply) => Fate::Reply(reply.to_vec()),
        };
        LAST.with_borrow_mut(|last| *last = datagram);
        assert_eq!(fate, expected, "what becomes of it");
        let counted = self.kernel.counters.each().map(|(_, value)| value);
        let differs = counted
            .zip(self.model.counters.each())
            .find(|(a, (_, b))| a != b);
        assert_eq!(differs, None, "a counter");
        let used = self.model.ring.used_bytes() as u64;
        assert_eq!(
            self.kernel.ring.waiting_bytes(),
            used,
            "what is in the ring"
        );
        LAST.with_borrow(|last| {
            let id = last
                .get(8..12)
                .map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]));
            let id = id.unwrap_or(0);
            let known = self.model.connection(id);
            same_state(known.as_ref(), self.kernel.connection(id).as_ref());
            if matches!(last.get(3), Some(9 | 11)) {
                same_outcomes(known.as_ref(), self.kernel.outcomes(id));
            }
        });
    }

    fn read_records(&mut self, count: u64) {
        for _ in 0..count {
            let found = self.kernel.ring.first();
            let expected = self.model.ring.next_record();
            let Some((found, expected)) = both(found, expected) else {
                return;
            };
            let found = Record {
                from: found.from,
                is_placed: found.is_placed,
                is_early: found.is_early,
                is_bare: found.is_bare,
                is_acked: found.is_acked,
                ack: found.ack,
                place: found.place,
                header: found.header,
                payload: found.payload,
            };
            assert_eq!(found, expected, "a record");
            self.kernel.ring.release();
            self.model.ring.release();
        }
    }

    fn same_memory(&mut self, number: u16) {
        let expected = self
            .model
            .window(number)
            .filter(|window| window.len_bytes > 0);
        let found = self.kernel.window(number);
        let Some(((before, inside, after), expected)) = both(found, expected) else {
            return;
        };
        assert!(inside == expected.memory, "memory of window {number}");
        let around = before.iter().chain(after);
        assert_eq!(
            around.filter(|byte| **byte != 0).count(),
            0,
            "memory around window {number}"
        );
    }

    fn run(&mut self, packets: u64) {
        for step in 0..packets {
            if self.traffic.once_in(10) {
                self.upset();
            }
            self.packet();
            if step % 500 == 0 {
                (0..WINDOWS as u16).for_each(|number| self.same_memory(number));
            }
        }
        self.read_records(u64::MAX);
        (0..WINDOWS as u16).for_each(|number| self.same_memory(number));
    }
}

thread_local! {
    /// The datagram that was shown last, for whoever reads of a failure.
    static LAST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Those that a program tells when it has a connection entered again: it has performed some of them itself.
fn done(outcomes: &[Option<Outcome>]) -> Vec<Option<Outcome>> {
    let told = |outcome: &Option<Outcome>| {
        let outcome = (*outcome).filter(|outcome| outcome.is_done)?;
        Some(Outcome {
            is_ours: true,
            ..outcome
        })
    };
    outcomes.iter().map(told).collect()
}

/// Both, or neither.
fn both<A, B>(found: Option<A>, expected: Option<B>) -> Option<(A, B)> {
    assert_eq!(found.is_some(), expected.is_some(), "whether there is one");
    found.zip(expected)
}

fn same_state(expected: Option<&ConnectionState>, found: Option<&Connection>) {
    let Some((found, expected)) = both(found, expected) else {
        return;
    };
    let refused =
        (found.is_refusing != 0).then_some((found.refused_message, found.refused_sequence));
    assert_eq!(
        (found.lock, found.expected, found.taken, found.due, refused),
        (
            0,
            expected.expected,
            expected.taken,
            expected.due,
            expected.refused
        ),
        "a connection"
    );
    let ahead: u32 = found.taken.iter().map(|word| word.count_ones()).sum();
    assert_eq!(found.ahead, ahead, "packets that were taken early");
}

fn same_outcomes(expected: Option<&ConnectionState>, found: Option<Outcomes>) {
    let found = found.unwrap_or_else(Outcomes::zeroed);
    let expected = expected.map_or_else(Outcomes::zeroed, |state| in_table(&state.outcomes));
    for (slot, (found, expected)) in found.0.iter().zip(expected.0).enumerate() {
        assert_eq!(*found, expected, "the outcome of slot {slot}");
    }
}

/// What was counted in a world, with which something is wrong if this panics.
fn world(seed: u64, packets: u64) -> Option<Counters> {
    let mcp = load()?;
    let mut twins = Twins::new(mcp, seed);
    let ran = panic::catch_unwind(panic::AssertUnwindSafe(|| twins.run(packets)));
    if let Err(cause) = ran {
        let counted = twins.model.counters.packets;
        LAST.with_borrow(|last| {
            let head = &last[..last.len().min(64)];
            eprintln!(
                "seed {seed}, about packet {counted}, of {} bytes: {head:02x?}",
                last.len()
            );
        });
        panic::resume_unwind(cause);
    }
    Some(twins.model.counters)
}

#[test]
fn the_program_does_what_the_model_does() {
    let number = |name: &str| {
        env::var(name)
            .ok()
            .map(|text| text.parse().expect("a number"))
    };
    let wanted = number(PACKETS).unwrap_or(USUALLY);
    let first = number(SEED).unwrap_or(1);
    let mut packets = 0;
    let mut counted = Counters::default();
    for seed in first.. {
        if packets >= wanted {
            println!(
                "{packets} packets, seeds {first} to {}: {counted:?}",
                seed - 1
            );
            break;
        }
        let Some(in_world) = world(seed, WORLD) else {
            return;
        };
        counted.add(&in_world);
        packets += WORLD;
    }
    // There is one CPU here, and every packet can be made longer.
    let never: Vec<_> = counted.each().filter(|(_, count)| *count == 0).collect();
    assert_eq!(never, [("busy", 0), ("naks", 0)], "what has not happened");
}
