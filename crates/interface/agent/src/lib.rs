//! `bcld`, the agent of a node: the one process of BCL with privileges.
//!
//! It loads the interface program, enters ports, connections and windows into its tables for programs that may, and
//! hands them descriptors; `spec/agent.md` says how it is asked. No message passes through it, and its death disturbs
//! nobody.
//!
//! Read [`start`] (from the command line to work), [`server`] (requests, deaths, signals), [`registry`] (what was
//! entered, and for whom), [`obituaries`] (whom the end of a port concerns), [`tables`] (what the interface program has to offer), [`ledger`] (what the next agent has to
//! know) and [`limits`].

pub mod arguments;
pub mod check;
mod failure;
mod groups;
mod kernel;
pub mod ledger;
pub mod limits;
mod metrics;
mod names;
pub mod obituaries;
pub mod registry;
pub mod server;
pub mod settings;
pub mod start;
pub mod tables;

pub use kernel::BACKEND as KERNEL;
pub use start::{Backend, main};

/// What the agent says to whoever watches it.
const LOG: bcl_daemon::Log = bcl_daemon::Log::of("bcld");
