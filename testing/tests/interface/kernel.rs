//! A port that is entered in the kernel, and what its process has mapped.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use bcl_layout::Plain;
use bcl_layout::tables::{
    Connection, ConnectionKey, NhKey, Outcome, Outcomes, PortIndex, PortKey, Window, WindowKey,
};
use bcl_mcp::{Error, Mcp, Verdict};
use bcl_mcp_model::Entry;
use bcl_os::Fd;
use bcl_os::mapping::Mapping;
use bcl_wire::{ConnectionKeys, JobKeys, Transcript};
use bcl_xdp::{Control, Counters, Ring};

use crate::frame::{FRAME_LEN, answer, frame};

/// Number of the port.
pub const PORT: u16 = 7;
/// Where packets for it go.
pub const HERE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 20_000 + PORT);
/// Its number in the tables.
pub const INDEX: u32 = 3;
/// Longest frame that is ever made here.
pub const FRAME_MAX: usize = 10_000;
const JOB: u32 = 1;

/// The interface program in the kernel with one port, and what its process has mapped.
pub struct Kernel {
    pub mcp: Mcp,
    pub ring: Ring,
    pub control: Control,
    pub counters: Counters,
    memories: HashMap<u16, (u64, u64, Mapping)>,
    memories_made: u32,
    out: Vec<u8>,
}

/// What has become of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Drop,
    Reply(Vec<u8>),
}

/// The interface program, or `None` where it may not be loaded.
pub fn load() -> Option<Mcp> {
    match Mcp::load() {
        Ok(mcp) => Some(mcp),
        Err(Error::Kernel { doing, source })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            println!(
                "the interface program may not be loaded, nothing was checked: {doing}: {source}"
            );
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The keys of a connection, by its number: what the initiator, the peer, sends and what we do.
pub fn keys(job: &JobKeys, id: u32) -> ConnectionKeys {
    job.connection(&Transcript {
        initiator: (0x0a4d_0002, 9),
        responder: (0x0a4d_0001, PORT),
        initiator_incarnation: 1,
        responder_incarnation: 2,
        initiator_nonce: 3,
        token: u64::from(id),
    })
}

/// A connection from scratch.
pub fn entry(job: &JobKeys, id: u32, expected: u32) -> Entry {
    let keys = keys(job, id);
    Entry {
        id,
        theirs: keys.from_initiator,
        ours: keys.from_responder,
        expected,
        outcomes: Vec::new(),
    }
}

/// As the interface program has them.
pub fn in_table(by_slot: &[Option<bcl_proto::Outcome>]) -> Outcomes {
    let entered = |outcome: &bcl_proto::Outcome| Outcome {
        operation: outcome.number,
        owner: match outcome.is_ours {
            true => Outcome::MCP,
            false => Outcome::PROGRAM,
        },
        is_done: outcome.is_done.into(),
        status: outcome.status.number(),
        zero: 0,
        value: outcome.value,
        start: outcome.start,
    };
    let mut outcomes = Outcomes::zeroed();
    for (place, outcome) in outcomes.0.iter_mut().zip(by_slot) {
        *place = outcome.as_ref().map_or_else(Outcome::zeroed, entered);
    }
    outcomes
}

impl Kernel {
    /// A port with nothing but a ring of this size.
    pub fn new(mcp: Mcp, job: &JobKeys, ring_bytes: u32) -> Self {
        let maps = mcp
            .tables
            .make_port(INDEX, ring_bytes)
            .expect("maps of a port");
        let at = PortKey::new(*HERE.ip(), HERE.port());
        mcp.tables
            .ports
            .insert(&at, &PortIndex { index: INDEX })
            .expect("a port");
        mcp.tables
            .jobs
            .insert(&JOB, &NhKey::new(job))
            .expect("a job");
        Self {
            ring: Ring::map(Fd::own(maps.ring), ring_bytes as usize).expect("a ring"),
            control: Control::map(Fd::own(maps.control)).expect("a page"),
            counters: Counters::map(Fd::own(maps.stats)).expect("a page"),
            memories: HashMap::new(),
            memories_made: 0,
            out: vec![0; FRAME_MAX],
            mcp,
        }
    }

    pub fn enter_connection(&self, entry: &Entry) {
        let connection = Connection::new(JOB, &entry.theirs, &entry.ours, entry.expected);
        let tables = &self.mcp.tables;
        if !entry.outcomes.is_empty() {
            let outcomes = &in_table(&entry.outcomes);
            tables
                .outcomes
                .insert(&key(entry.id), outcomes)
                .expect("outcomes");
        }
        tables
            .connections
            .insert(&key(entry.id), &connection)
            .expect("a connection");
    }

    pub fn connection(&self, id: u32) -> Option<Connection> {
        self.mcp.tables.connections.get(&key(id)).expect("a table")
    }

    pub fn outcomes(&self, id: u32) -> Option<Outcomes> {
        self.mcp.tables.outcomes.get(&key(id)).expect("a table")
    }

    /// What was known of a connection that has been given back.
    pub fn take_connection(&self, id: u32) -> Option<(Connection, Option<Outcomes>)> {
        self.mcp.tables.take_connection(&key(id)).expect("tables")
    }

    /// A window that begins at `base` of a memory of its own, all 0; of length 0 it is bound to nothing.
    pub fn enter_window(&mut self, number: u16, base: u64, len: u64, access: u32) {
        self.memories_made += 1;
        let memory = self.memories_made;
        let tables = &self.mcp.tables;
        if len > 0 {
            let fd = tables.make_memory(memory, base + len).expect("a memory");
            let mapped = (base + len).next_multiple_of(1 << 16) as usize;
            let mapping = Mapping::new(std::os::fd::AsFd::as_fd(&fd), 0, mapped, true);
            self.memories
                .insert(number, (base, len, mapping.expect("a mapping")));
        }
        let window = Window {
            memory,
            access,
            base,
            len,
        };
        let key = window_key(number);
        tables.windows.insert(&key, &window).expect("a window");
        self.control.offer(number, true);
    }

    pub fn remove_window(&mut self, number: u16) {
        let tables = &self.mcp.tables;
        let key = window_key(number);
        if let Some(window) = tables.windows.get(&key).expect("a table") {
            tables.windows.remove(&key).expect("a window");
            tables.drop_memory(window.memory).ok();
        }
        self.memories.remove(&number);
    }

    /// What a window's memory holds, and what lies around the window.
    pub fn window(&self, number: u16) -> Option<(&[u8], &[u8], &[u8])> {
        let (base, len, mapping) = self.memories.get(&number)?;
        // SAFETY: mapped as long as `self` has it; only the interface program writes, when `self` shows it a packet.
        let all = unsafe {
            std::slice::from_raw_parts(mapping.start().as_ptr().cast_const(), mapping.len_bytes())
        };
        let (before, rest) = all.split_at(*base as usize);
        let (inside, after) = rest.split_at(*len as usize);
        Some((before, inside, after))
    }

    /// Shows the interface program a datagram.
    pub fn handle(&mut self, from: SocketAddrV4, datagram: &[u8]) -> Fate {
        self.handle_frame(&frame(from, HERE, datagram), |out| {
            let datagram = &out[FRAME_LEN.min(out.len())..];
            let expected = answer(HERE, from, datagram);
            assert_eq!(out, expected, "the answer's frame");
            datagram.to_vec()
        })
    }

    /// Shows it a frame, which must not be changed if it is not answered.
    pub fn handle_frame(&mut self, frame: &[u8], take: impl FnOnce(&[u8]) -> Vec<u8>) -> Fate {
        let ran = self.mcp.run(frame, &mut self.out, 1).expect("it runs");
        let out = &self.out[..ran.len];
        let verdict = Verdict::from_number(ran.result);
        if let Verdict::Reply = verdict {
            return Fate::Reply(take(out));
        }
        assert_eq!(
            out.len(),
            frame.len(),
            "a packet that is not answered stays as it is"
        );
        assert!(out == frame, "a packet that is not answered stays as it is");
        match verdict {
            Verdict::Pass => Fate::Pass,
            Verdict::Drop => Fate::Drop,
            other => panic!("the program returned {other:?}"),
        }
    }
}

fn key(id: u32) -> ConnectionKey {
    ConnectionKey { port: INDEX, id }
}

fn window_key(number: u16) -> WindowKey {
    WindowKey {
        port: INDEX,
        window: u32::from(number),
    }
}
