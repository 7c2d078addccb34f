//! The shm tier of BCL: connections between ports of one node.
//!
//! Two halves that meet in a mailbox: [`ShmPort`], the data path, driven by whoever polls the port; and the
//! service thread, which does what is rare (see `service`). The port above gets results by [`bcl_tier::Upcalls`].

mod cma;
mod engine;
#[cfg(any(test, fuzzing))]
pub mod hostile;
mod open;
mod own_memory;
mod service;

pub use engine::outgoing::DEFERRED_MAX;
pub use engine::port::ShmPort;
pub use service::CopyMode;

#[cfg(test)]
#[path = "../../contract/testing/mod.rs"]
mod testing;
