//! A whole connection with a hostile peer: the port sends, posts, polls and releases, and between any two
//! steps the peer writes cells in order, or anything anywhere in the segment.

use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use bcl_node::JobKey;
use bcl_os::bell::Bell;
use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::process;
use bcl_rings::Corrupt;
use bcl_rings::pair::{Geometry, PairEnd, Side};
use bcl_tier::page::{PAGE_LEN, Page};
use bcl_tier::{
    Arrival, Friends, LinkInfo, MessageId, NormalSend, PeerKeys, Piece, Pieces, Shared, Source,
    SystemHandle, Target, Upcalls,
};
use bcl_types::{Address, Cause, NodeId, OpError, OpId};

use super::Input;
use crate::CopyMode;
use crate::cma::PeerMemory;
use crate::engine::incoming::Context;
use crate::engine::link::Link;
use crate::engine::message::Kind;
use crate::engine::peer::Peer;
use crate::engine::stage::Stages;
use crate::service::Service;

const GEOMETRY: Geometry = Geometry {
    cells: 16,
    pool_bytes: 16 << 10,
    stream_bytes: 16 << 10,
};
/// Steps of one run: the input says more with fewer.
const STEPS_MAX: usize = 400;
const POSTED_BYTES: usize = 512;
/// The stage that the peer shows.
const SHOWN_STAGE: u64 = 1 << 40;
const SHOWN_BYTES: usize = 4096;
const CTS: u64 = Kind::Cts as u64;
const DATA: u64 = Kind::Data as u64;
const GUARD: u8 = 0xee;
/// Messages that the port sends are so long at most: RTS begins at 8 KiB, and the stage at 64.
const SENT_BYTES: usize = 80 << 10;
static SENT: [u8; SENT_BYTES] = [7; SENT_BYTES];

/// Runs a connection as the bytes say.
pub fn connection(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut world = World::new(input.byte() % 2 == 0);
    for _ in 0..STEPS_MAX {
        if input.is_empty() || world.step(&mut input).is_err() {
            break;
        }
    }
    world.end();
}

struct World {
    victim: Peer,
    port: FakePort,
    page: Page,
    hostile: PairEnd,
    /// The segment again, for writing anywhere.
    bytes: Mapping,
    next_op: OpId,
}

impl World {
    fn new(is_read_by_kernel: bool) -> Self {
        let len_bytes = GEOMETRY.segment_len();
        let page = || {
            let (_fd, mapping) =
                memfd::create("bcl-fuzz", PAGE_LEN, Writers::Anybody).expect("memory for a page");
            Page::new(mapping)
        };
        let (fd, mapping) =
            memfd::create("bcl-fuzz", len_bytes, Writers::Anybody).expect("memory for a segment");
        let again = || memfd::adopt(fd.as_fd(), len_bytes, true).expect("a segment of ours");
        let bell = Bell::new().expect("a pipe");
        let ringer = bcl_os::Fd::second(bell.ringer()).expect("a descriptor for a bell");
        let address = Address {
            node: NodeId::LOOPBACK,
            port: 1024,
        };
        let mut victim = Peer::new(address);
        let mut link = Link::new(
            1,
            PairEnd::new(mapping, GEOMETRY, Side::Connector),
            page(),
            ringer,
            len_bytes,
            CopyMode::Auto,
        );
        if is_read_by_kernel {
            // Whatever address the peer names is one of this process, and is only read.
            link.memory = PeerMemory::probe(std::process::id() as i32, process::beacon());
        }
        link.is_of_own_user = true;
        victim.link = Some(link);
        Self {
            victim,
            port: FakePort::default(),
            page: page(),
            hostile: PairEnd::new(again(), GEOMETRY, Side::Acceptor),
            bytes: again(),
            next_op: 1,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) -> Result<(), Corrupt> {
        match input.byte() % 16 {
            0..=5 => self.forge_cell(input),
            6 => self.scribble(input),
            7 => return self.send_system(input),
            8 => return self.send_normal(input),
            9 => self.post(input.short()),
            10 => self.release(input.byte()),
            11 => self.victim.incoming.lose_patience(),
            12 => self.show_stage(input.byte()),
            _ => return self.poll(),
        }
        Ok(())
    }

    fn forge_cell(&mut self, input: &mut Input<'_>) {
        if self.hostile.cells_out.free(1).unwrap_or(0) == 0 {
            return;
        }
        let kind = u64::from(input.byte() % 11);
        // The payload inline, immediate data, both; most of the time neither.
        let flags = match input.byte() % 16 {
            flags @ 1..=3 => u64::from(flags),
            _ => 0,
        };
        let channel = input.word() & 0xffff;
        let len_bytes = if flags & 1 == 1 {
            input.word() % 50
        } else {
            u64::from(input.short()) % 9000
        };
        let handled = input.word() & 0xffff_ffff;
        let mut words = [0; 8];
        words[0] = kind << 32 | flags << 40 | channel << 48;
        words[1] = handled | len_bytes << 32;
        for word in &mut words[2..6] {
            *word = input.word();
        }
        // The stage is called by its right name, mostly, or there would be little that could go wrong with it.
        match kind {
            CTS => words[4] = stages().number() * (input.byte() % 4).min(1) as u64,
            DATA if flags == 0 => {
                words[3] = SHOWN_STAGE * (input.byte() % 2) as u64;
                words[4] %= 2 * SHOWN_BYTES as u64;
                words[5] = SHOWN_STAGE * (input.byte() % 2) as u64;
            }
            _ => {}
        }
        words[7] = flags >> 1;
        self.hostile.cells_out.send(&words);
    }

    /// The answer to the question for the stage, asked or not.
    fn show_stage(&mut self, which: u8) {
        let ctx = context(self.victim.address, &self.page);
        let Peer {
            link: Some(link),
            out,
            incoming,
            ..
        } = &mut self.victim
        else {
            return;
        };
        let shown = || {
            let made = memfd::create("bcl-fuzz", SHOWN_BYTES, Writers::Anybody);
            made.expect("memory for a stage").1
        };
        let mapping = (!which.is_multiple_of(4)).then(shown);
        incoming.on_region(link, out, SHOWN_STAGE, mapping, &ctx, &mut self.port);
    }

    fn scribble(&mut self, input: &mut Input<'_>) {
        let offset = usize::from(input.short()) * 8 % (self.bytes.len_bytes() - 8);
        let value = input.word();
        // SAFETY: inside the mapping and aligned; nothing else runs meanwhile.
        unsafe { self.bytes.start().add(offset).cast::<u64>().write(value) };
    }

    fn send_system(&mut self, input: &mut Input<'_>) -> Result<(), Corrupt> {
        let data = &SENT[..usize::from(input.short()) % bcl_types::SYSTEM_MAX];
        let immediate = data.len() as u64 % 3;
        let handled = self.victim.incoming.handled();
        let Some(link) = &mut self.victim.link else {
            return Ok(());
        };
        if !self
            .victim
            .out
            .try_system(link, handled, data, immediate, &self.page)?
        {
            self.victim.out.queue_system(0, data, immediate);
        }
        Ok(())
    }

    fn send_normal(&mut self, input: &mut Input<'_>) -> Result<(), Corrupt> {
        let len_bytes = usize::from(input.short()) * 2 % SENT_BYTES;
        let source = Source {
            memory: self.port.pieces(SENT.as_ptr().cast_mut(), len_bytes),
            region: None,
        };
        let (op, handled) = (self.next_op, self.victim.incoming.handled());
        self.next_op += 1;
        self.port.sends_under_way.push(op);
        let Some(link) = &mut self.victim.link else {
            return Ok(());
        };
        let send = NormalSend {
            op,
            channel: 1,
            immediate: op % 2,
            source,
        };
        if !self.victim.out.try_normal(link, handled, &send)? {
            self.victim.out.queue_normal(send);
        }
        Ok(())
    }

    /// For the oldest message that waits, or else for the next that comes.
    fn post(&mut self, capacity: u16) {
        let target = self.port.post(capacity);
        if self.port.waiting.is_empty() {
            self.port.free_targets.push(target);
            return;
        }
        let message = self.port.waiting.remove(0);
        let ctx = context(self.victim.address, &self.page);
        let Peer {
            link,
            out,
            incoming,
            ..
        } = &mut self.victim;
        if let Some(link) = link {
            incoming.accept(link, out, message.number, target, &ctx, &mut self.port);
        }
    }

    fn release(&mut self, which: u8) {
        let held = &mut self.port.held;
        if held.is_empty() {
            return;
        }
        let message = held.remove(usize::from(which) % held.len());
        // SAFETY: the message is not released, so it can be read where it lies.
        let payload =
            unsafe { std::slice::from_raw_parts(message.start, message.len_bytes as usize) };
        std::hint::black_box(
            payload
                .iter()
                .fold(0u8, |sum, byte| sum.wrapping_add(*byte)),
        );
        if let Some(link) = &mut self.victim.link {
            let inbox = &mut self.victim.incoming.inbox;
            assert!(inbox.release(&mut link.pair, message.number));
            assert!(!inbox.release(&mut link.pair, message.number));
        }
    }

    fn poll(&mut self) -> Result<(), Corrupt> {
        let ctx = context(self.victim.address, &self.page);
        self.victim.poll(&ctx, &mut self.port)?;
        self.victim.work(&ctx, &mut self.port)?;
        Ok(())
    }

    /// The connection is cut; every operation has come to its end then, once.
    fn end(mut self) {
        let ctx = context(self.victim.address, &self.page);
        self.victim
            .on_gone(Cause::Protocol, OpError::Protocol, &ctx, &mut self.port);
        assert!(
            self.port.sends_under_way.is_empty(),
            "a send has not completed"
        );
        self.port.check_guards();
    }
}

/// Of the port.
fn stages() -> &'static Stages {
    static STAGES: OnceLock<Stages> = OnceLock::new();
    STAGES.get_or_init(Stages::default)
}

fn context(from: Address, counters: &Page) -> Context<'_> {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    Context {
        slot: 0,
        from,
        counters,
        stages: stages(),
        service: SERVICE.get_or_init(|| {
            let friends = Friends {
                key: JobKey::of_user(0),
                peer_keys: PeerKeys::default(),
                allow_uids: Vec::new(),
            };
            let port = Shared::new(from, friends).expect("a page and a bell");
            Service::join(&Arc::new(port)).expect("the service thread starts")
        }),
    }
}

/// What the library above would keep, and checks on what it is told.
#[derive(Default)]
struct FakePort {
    buffers: Vec<(Box<[u8]>, usize)>,
    tables: Vec<Box<[Piece]>>,
    free_targets: Vec<Target>,
    targets_under_way: Vec<OpId>,
    sends_under_way: Vec<OpId>,
    waiting: Vec<MessageId>,
    held: Vec<SystemHandle>,
    events: usize,
}

impl FakePort {
    fn post(&mut self, capacity: u16) -> Target {
        let capacity_bytes = usize::from(capacity) % POSTED_BYTES;
        let mut buffer = vec![GUARD; POSTED_BYTES].into_boxed_slice();
        let start = buffer.as_mut_ptr();
        self.buffers.push((buffer, capacity_bytes));
        let op = self.buffers.len() as OpId;
        self.targets_under_way.push(op);
        Target {
            memory: self.pieces(start, capacity_bytes),
            op,
        }
    }

    /// The memory in one piece or, if it is of odd length, in three.
    fn pieces(&mut self, start: *mut u8, len_bytes: usize) -> Pieces {
        if len_bytes.is_multiple_of(2) {
            return Pieces::one(start, len_bytes);
        }
        let third = len_bytes / 3;
        let part = |offset, len_bytes| Piece {
            start: start.wrapping_add(offset),
            len_bytes,
        };
        let table = Box::new([
            part(0, third),
            part(third, third),
            part(2 * third, len_bytes - 2 * third),
        ]);
        // SAFETY: the table is kept with the buffers.
        let pieces = unsafe { Pieces::several(&table[..]) };
        self.tables.push(table);
        pieces.expect("three pieces of a short buffer")
    }

    fn check_guards(&self) {
        for (buffer, capacity_bytes) in &self.buffers {
            let guard = &buffer[*capacity_bytes..];
            assert!(
                guard.iter().all(|byte| *byte == GUARD),
                "written past a posted buffer"
            );
        }
    }
}

impl Upcalls for FakePort {
    fn is_full(&self) -> bool {
        self.events > 10_000
    }

    fn system(&mut self, _: Address, message: SystemHandle) {
        self.events += 1;
        self.held.push(message);
    }

    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        let target = self.free_targets.pop();
        if target.is_none() {
            self.waiting.push(arrival.message);
        }
        target
    }

    fn withdrawn(&mut self, message: MessageId, _: u16) {
        self.waiting.retain(|other| *other != message);
    }

    fn received(&mut self, _: Address, _: u16, op: OpId, _: u64, _: Result<(), OpError>) {
        self.events += 1;
        let place = self.targets_under_way.iter().position(|other| *other == op);
        self.targets_under_way
            .swap_remove(place.expect("a post has completed twice"));
    }

    fn sent(&mut self, _: Address, channel: u16, op: OpId, _: u64, _: Result<(), OpError>) {
        self.events += 1;
        if channel != 0 {
            let place = self.sends_under_way.iter().position(|other| *other == op);
            self.sends_under_way
                .swap_remove(place.expect("a send has completed twice"));
        }
    }

    fn rma_done(&mut self, _: Address, _: u16, _: OpId, _: u64, _: Result<(), OpError>) {
        self.events += 1;
    }

    fn rma_arrived(&mut self, _: Address, _: u16, _: u64, _: u64) {
        self.events += 1;
    }

    fn peer_up(&mut self, _: Address, _: &LinkInfo) {}

    fn peer_gone(&mut self, _: Address, _: Cause) {}

    fn peer_unreached(&mut self, _: Address) {}
}
