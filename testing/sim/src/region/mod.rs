//! Worlds of hosts that have a region of reflective memory (`bcl-mirror`), under all that a network and its people can do.
//!
//! Read on in `plan`, what happens; `memory`, what a host keeps; `ledger`, what has to be true; `world`, all of it together.

mod host;
mod ledger;
mod memory;
mod plan;
mod world;

pub(crate) use host::{address, config, group_address};
pub(crate) use ledger::Applied;
pub(crate) use memory::HostMemory;
pub use plan::{Kind, Plan};
pub use world::{Outcome, World};
