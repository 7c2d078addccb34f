//! The interface program, or MCP (message control program; `bpf/mcp.bpf.c`, `spec/interface.md`): it is compiled into
//! this crate, which loads it, attaches it, and reads and writes its tables. Nothing is needed at run time but the
//! kernel.
//!
//! Read [`Mcp`], what can be done with the program, and [`Tables`], what it knows; how that lies in memory is in
//! [`bcl_layout`].
//!
//! For the agent and for tests. A port's process gets descriptors of its ring, control page and memories from the agent,
//! and needs nothing of this.

mod attach;
mod error;
mod mcp;
mod netlink;
mod object;
mod occupant;
pub mod pins;
mod sys;
mod table;
mod tables;

pub use attach::{Attached, Mode, ModeChoice, look_for_others};
pub use error::Error;
pub use mcp::{Mcp, Verdict};
pub use occupant::Occupant;
pub use sys::Ran;
pub use table::Table;
pub use tables::{PortMaps, Tables, counters_in};
