//! What the agent says.

use std::fmt;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::outcome::Outcome;

/// What the agent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// First of all: ask.
    Ready {
        /// Of `spec/agent.md`.
        version: u32,
        /// Version of the agent.
        agent: String,
        /// Interfaces that have the MCP.
        interfaces: Vec<String>,
    },
    /// It was not done.
    Failed(Failure),
    /// The port; its descriptors come beside.
    Opened {
        /// Address of the socket that came.
        node: Ipv4Addr,
        /// Number of the port that it is for.
        number: u16,
        /// Size of its ring.
        ring_bytes: u32,
        /// Datagrams that were sent together may come to the MCP as one, which it cannot read.
        singly: bool,
    },
    /// It is done, and there is nothing to tell.
    Done {},
    /// The MCP no longer has the connection.
    Removed {
        /// How far it has come, if it had begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Progress>,
    },
    /// Memory; its map comes beside.
    Memory {
        /// Number for later requests.
        memory: u32,
        /// Its length.
        bytes: u64,
    },
    /// A text; the memory file that it is in comes beside.
    Text {
        /// Its length.
        bytes: u64,
    },
}

/// How far the MCP has come with what a peer sends ([AGENT-5.2]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// The oldest sequence that is missing.
    pub expected: u32,
    /// Which were taken of those from `expected` on: bit *i* mod 8 of byte *i* / 8, of the sequence modulo 1,024.
    pub taken: Key<128>,
    /// Packets that were taken and not acknowledged by the MCP.
    pub due: u32,
    /// What is refused since, if anything ([MCP-4.1]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// Of one-sided operations ([MCP-4.5]), by slot; slots that nothing was asked for on are left out.
    pub outcomes: Vec<Outcome>,
}

/// A message that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Its number.
    pub message: u32,
    /// Sequence of its first packet.
    pub sequence: u32,
}

/// Why something was not done, for people ([AGENT-2.3]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// For programs.
    pub code: Code,
    /// What could not be done, and to what: "open port 10.0.0.1:7".
    pub what: String,
    /// The reason.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request breaks the document.
    Invalid,
    /// The user or process may not.
    NotPermitted,
    /// A limit of the user is reached.
    Limit,
    /// Somebody has it, or it is needed.
    InUse,
    /// There is no such thing.
    Unknown,
    /// Tables or the kernel's memory are full.
    NoRoom,
    /// Not on this machine.
    Unsupported,
    /// The kernel refuses.
    System,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.what, self.why)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}
