//! What the agent tells of itself, its ports and the MCP, the program on the interface.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// The agent's answer to [`Request::Status`](crate::Request::Status).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the agent.
    pub agent: String,
    /// Its name, by which its pinned maps are found.
    pub name: String,
    /// Process number of the agent.
    pub pid: u32,
    /// Where the MCP is attached, or is to be.
    pub interfaces: Vec<InterfaceStatus>,
    /// Ports that are open, by node and number.
    pub ports: Vec<PortStatus>,
    /// Counters of the MCP, all ports together, by cause.
    pub counters: BTreeMap<String, u64>,
    /// Connections that ports have taken back since the agent began because the peer did not hear what the MCP answered.
    pub unheard: u64,
}

/// An interface that has the MCP, or is to have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceStatus {
    /// Its name.
    pub name: String,
    /// How the MCP is attached: `native` in the driver, `generic` behind it, which is slower, or [`ABSENT`](Self::ABSENT).
    pub mode: String,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl InterfaceStatus {
    /// The mode of an interface that is to have the MCP and has it not.
    pub const ABSENT: &str = "absent";

    /// Several, for people.
    pub fn list(all: &[Self]) -> String {
        let all: Vec<_> = all.iter().map(ToString::to_string).collect();
        all.join(", ")
    }

    /// Whether the MCP is there.
    pub fn is_attached(&self) -> bool {
        self.trouble.is_none()
    }
}

impl std::fmt::Display for InterfaceStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            name,
            mode,
            trouble,
        } = self;
        match trouble {
            None => write!(f, "{name} ({mode})"),
            Some(trouble) => write!(f, "{name} ({mode}: {trouble})"),
        }
    }
}

/// A port that the agent has opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// Address that its packets carry.
    pub node: Ipv4Addr,
    /// Its number.
    pub number: u16,
    /// Its user.
    pub uid: u32,
    /// Its process.
    pub pid: i32,
    /// Whether its process has a connection to this agent; if not, the agent was restarted and the process has not asked since.
    pub attended: bool,
    /// Size of its ring.
    pub ring_bytes: u32,
    /// Connections that the MCP has.
    pub connections: u32,
    /// Windows that are bound.
    pub windows: u32,
    /// Memory for windows.
    pub memory_bytes: u64,
    /// Counters of the MCP for this port, by cause.
    pub counters: BTreeMap<String, u64>,
}
