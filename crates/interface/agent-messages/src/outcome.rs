//! What is told of a one-sided operation, by the agent and to it.

use serde::{Deserialize, Serialize};

/// What has become of a one-sided operation ([MCP-4.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Its slot.
    pub slot: u16,
    /// Its number.
    pub number: u32,
    /// Whether it is the MCP's; else the program's.
    pub of_mcp: bool,
    /// Whether it is done.
    pub done: bool,
    /// As an ANSWER tells it.
    pub status: u32,
    /// What an atomic has found.
    pub value: u64,
    /// Where it began in the window.
    pub begin: u64,
}
