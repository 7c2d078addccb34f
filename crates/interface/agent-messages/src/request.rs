//! What programs ask for.

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::outcome::Outcome;

/// Size of a ring if the program does not say ([AGENT-4.2]).
pub const DEFAULT_RING_BYTES: u32 = 1 << 20;
/// Sizes that a ring can have, powers of two ([AGENT-4.2]).
pub const RING_BYTES: RangeInclusive<u32> = 64 << 10..=16 << 20;
/// Memory for windows comes in multiples of this ([AGENT-6.1]).
pub const MEMORY_BLOCK_BYTES: u64 = 64 << 10;
/// Largest memory for windows.
pub const MEMORY_MAX_BYTES: u64 = 1 << 30;

/// What a program asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// A port at the UDP socket that comes beside it; the connection is the port's from then on ([AGENT-4]).
    Open {
        /// Size of the ring.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ring_bytes: Option<u32>,
        /// Secret of the job's packets ([WIRE-3.3]).
        secret: Key<32>,
    },
    /// The port that this process had with an agent that is gone ([AGENT-8.3]).
    Resume {
        /// Address of the port.
        node: Ipv4Addr,
        /// Its number.
        number: u16,
    },
    /// The MCP, the interface program, has a connection from now on ([AGENT-5.1]).
    Enter(Connection),
    /// ... and no longer ([AGENT-5.2]).
    Remove {
        /// Number that the port gave the connection.
        connection: u32,
        /// The port has it no longer either: its peer needs not be told of the port's end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ended: bool,
        /// Its peer did not hear what the MCP answered ([MCP-6.4]).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unheard: bool,
    },
    /// Memory for windows ([AGENT-6.1]).
    Memory {
        /// How much of it is needed.
        bytes: u64,
    },
    /// Memory is no longer needed ([AGENT-6.3]).
    Free {
        /// Its number.
        memory: u32,
    },
    /// Peers may use a window ([AGENT-6.2]).
    Bind(Window),
    /// ... and no longer.
    Unbind {
        /// Number of the window.
        window: u16,
    },
    /// The port ends.
    Close {},
    /// What the agent knows: JSON of [`Status`](crate::Status).
    Status {},
    /// The same for Prometheus.
    Metrics {},
}

impl Request {
    /// How many descriptors come beside it ([AGENT-2.2]).
    pub fn descriptors(&self) -> usize {
        usize::from(matches!(self, Self::Open { .. }))
    }
}

/// A connection that the MCP is to have ([AGENT-5.1]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Number that the port gave it, not 0.
    pub connection: u32,
    /// Where the peer is: address and UDP port.
    pub peer: SocketAddr,
    /// Number that the peer gave it.
    pub peer_connection: u32,
    /// For what the peer sends.
    pub key_theirs: Key<16>,
    /// For what is sent from here.
    pub key_ours: Key<16>,
    /// The sequence that is expected next.
    pub expected: u32,
    /// What has become of the peer's one-sided operations so far, by slot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
}

/// What peers may use of a memory, and how ([AGENT-6.2]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Number of the window.
    pub window: u16,
    /// Number of the memory.
    pub memory: u32,
    /// Where it begins there.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// Bits: 1 get, 2 put, 4 atomic, 8 notify.
    pub access: u32,
}
