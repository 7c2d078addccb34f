//! What lies between the interface program, the agent and programs, byte by byte: its only home in Rust, as
//! `bpf/mcp/tables.h` and `bpf/mcp/ring.h` are its home in C. A test holds the two against each other.
//!
//! - [`tables`]: what the agent enters ([MCP-1]);
//! - [`record`]: what a program is told of a packet ([MCP-6.1]);
//! - [`control`]: what a program says ([MCP-6.2], [MCP-6.3]);
//! - [`counters`]: what is counted for a port ([MCP-7.1]).

pub mod control;
pub mod counters;
mod plain;
pub mod record;
pub mod tables;

#[cfg(test)]
mod headers;

pub use counters::Counters;
pub use plain::Plain;
pub use record::Record;

/// Length of a port's control page, and of the page with its counters.
pub const PAGE_BYTES: usize = 4096;
