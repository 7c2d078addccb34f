//! The shm tier of BCL: connections between ports of one node.
//!
//! Two halves that meet in a mailbox: [`ShmPort`], the data path, driven by whoever polls the port; and the
//! service thread, which does what is rare (see `service`). The library above gets results by [`Upcalls`].

mod cma;
mod engine;
pub mod exit;
pub mod fork;
#[cfg(any(test, fuzzing))]
pub mod hostile;
mod open;
mod region;
mod service;
pub mod stat;
mod window;

pub use engine::inbox::SYSTEM_MAX;
pub use engine::outgoing::{DEFERRED_MAX, EAGER_MAX, Source};
pub use engine::port::{ShmPort, wait_for_bell};
pub use engine::rma::{Action, RmaOp};
pub use engine::upcalls::{LinkInfo, MessageId, SystemHandle, Target, Upcalls};
pub use open::{Config, OpenError};
pub use region::{Extent, Region, RegionPlace};
pub use service::{CopyMode, Shared, spawn_without_signals};
pub use window::{WINDOW_COUNT, WindowTable};
