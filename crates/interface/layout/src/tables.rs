//! What stands in the tables that the agent fills.

use std::net::Ipv4Addr;

use bcl_wire::{CheckKey, JobKeys, SLOTS};

use crate::Plain;

/// Length of the key of the hash of payloads ([WIRE-3.3]).
pub const NH_KEY_LEN: usize = 9216;
/// Memory of windows comes in multiples of this.
pub const BLOCK_BYTES: usize = 1 << 16;
/// Numbers of ports in the tables are below this.
pub const PORTS_MAX: u32 = 8192;
/// Numbers of memories are below this.
pub const MEMORIES_MAX: u32 = 16384;
/// Numbers of jobs are below this.
pub const JOBS_MAX: u32 = 64;

/// Where packets for a port go.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortKey {
    pub(crate) address: [u8; 4],
    pub(crate) udp_port: u16,
    pub(crate) zero: u16,
}

impl PortKey {
    /// Of the port whose socket is bound to this address and UDP port.
    pub fn new(address: Ipv4Addr, udp_port: u16) -> Self {
        Self {
            address: address.octets(),
            udp_port,
            zero: 0,
        }
    }

    /// The address.
    pub fn address(&self) -> Ipv4Addr {
        self.address.into()
    }

    /// The UDP port.
    pub fn udp_port(&self) -> u16 {
        self.udp_port
    }
}

/// Which port that is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortIndex {
    /// Its number in the other tables, below [`PORTS_MAX`].
    pub index: u32,
}

/// Names a connection of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionKey {
    /// [`PortIndex::index`].
    pub port: u32,
    /// The port's own number of the connection.
    pub id: u32,
}

/// The receiver's half of a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The interface program's own: 0 when the connection is entered.
    pub lock: u32,
    /// Number of its job, below [`JOBS_MAX`].
    pub job: u32,
    /// Key of what the peer sends.
    pub theirs: [u64; 2],
    /// Key of what we send.
    pub ours: [u64; 2],
    /// The oldest sequence that is missing.
    pub expected: u32,
    /// How many bits of `taken` are set.
    pub ahead: u32,
    /// Packets that were taken and not acknowledged.
    pub due: u32,
    /// 1 if messages on the system channel are refused.
    pub is_refusing: u32,
    /// Until this one comes again.
    pub refused_message: u32,
    /// Sequence of its first packet.
    pub refused_sequence: u32,
    /// Sequences after `expected` that were taken, by their number modulo 1,024.
    pub taken: [u64; 16],
    /// Where the peer is, IPv4 addresses mapped: the agent's own, as what follows.
    pub peer_address: [u8; 16],
    /// Its UDP port.
    pub peer_udp_port: u32,
    /// Its number of the connection.
    pub peer_id: u32,
}

impl Connection {
    /// Of which all sequenced packets before `expected` have been taken, and nothing else is known.
    pub fn new(job: u32, theirs: &CheckKey, ours: &CheckKey, expected: u32) -> Self {
        let words = |key: &CheckKey| {
            let bytes = key.to_bytes();
            let word = |at| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
            [word(0), word(8)]
        };
        Self {
            job,
            theirs: words(theirs),
            ours: words(ours),
            expected,
            ..Self::zeroed()
        }
    }

    /// Key of what we send.
    pub fn our_key(&self) -> CheckKey {
        let mut bytes = [0; 16];
        for (part, word) in bytes.chunks_exact_mut(8).zip(self.ours) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        CheckKey::from_bytes(&bytes)
    }
}

/// The key with which all packets of a job are hashed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NhKey(pub [u8; NH_KEY_LEN]);

impl NhKey {
    /// Of a job.
    pub fn new(job: &JobKeys) -> Self {
        Self(job.nh_bytes())
    }
}

impl std::fmt::Debug for NhKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NhKey(..)")
    }
}

/// The last PUT or ATOMIC of a slot ([MCP-4.5]).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Its number.
    pub operation: u32,
    /// Who performs it: [`Outcome::MCP`], [`Outcome::PROGRAM`], or 0 if there was none.
    pub owner: u8,
    /// Whether it is over.
    pub is_done: u8,
    /// How it ended.
    pub status: u8,
    /// Nothing.
    pub zero: u8,
    /// What an ATOMIC has found.
    pub value: u64,
    /// Where it began.
    pub start: u64,
}

impl Outcome {
    /// The interface program performs it.
    pub const MCP: u8 = 1;
    /// The port's program performs it.
    pub const PROGRAM: u8 = 2;
}

/// Of a connection, by slot.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcomes(pub [Outcome; SLOTS as usize]);

/// Names a window of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WindowKey {
    /// [`PortIndex::index`].
    pub port: u32,
    /// The port's number of the window.
    pub window: u32,
}

/// A window: a part of a memory, and what peers may do with it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Number of the memory, below [`MEMORIES_MAX`].
    pub memory: u32,
    /// Bits of [`Window::GET`] and so on.
    pub access: u32,
    /// Where in the memory it begins: a multiple of 8.
    pub base: u64,
    /// Its length in bytes; 0 if it is bound to nothing.
    pub len: u64,
}

impl Window {
    /// Peers may read.
    pub const GET: u32 = 1;
    /// Peers may write.
    pub const PUT: u32 = 2;
    /// Peers may change words atomically.
    pub const ATOMIC: u32 = 4;
    /// The program hears of it.
    pub const NOTIFY: u32 = 8;
}

// SAFETY: of each of these: numbers and arrays of numbers only, of sizes that leave no padding between or behind them.
unsafe impl Plain for PortKey {}
// SAFETY: as above.
unsafe impl Plain for PortIndex {}
// SAFETY: as above.
unsafe impl Plain for ConnectionKey {}
// SAFETY: as above.
unsafe impl Plain for Connection {}
// SAFETY: as above.
unsafe impl Plain for NhKey {}
// SAFETY: as above.
unsafe impl Plain for Outcome {}
// SAFETY: as above.
unsafe impl Plain for Outcomes {}
// SAFETY: as above.
unsafe impl Plain for WindowKey {}
// SAFETY: as above.
unsafe impl Plain for Window {}
