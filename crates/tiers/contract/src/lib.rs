//! What all tiers of a port have in common.
//!
//! A *tier* moves messages between a port and some of its peers: shared memory within a node, packets between nodes. Each
//! is a crate of its own, and none knows another. What they share is here:
//!
//! - [`Upcalls`]: what a tier tells the port, in terms of the names and places in [`handles`];
//! - [`Shared`]: what the program and the background threads of all tiers need of one port: its page of counters, its
//!   bell, and its windows;
//! - [`WindowTable`] and [`Region`]: memory that peers act on, and buffers that they can map;
//! - [`background`]: how ports and the background thread of a tier reach each other, and what its death means;
//! - [`exit`] and [`thread`]: what a library must see to in a process that is not its own, beside `bcl_os`.

pub mod background;
pub mod exit;
pub mod handles;
pub mod page;
mod region;
mod rma;
mod shared;
pub mod thread;
mod upcalls;
mod window;

pub use handles::{LinkInfo, MessageId, Source, SystemHandle, Target, Tier};
pub use region::{Extent, Region, RegionPlace};
pub use rma::{Action, RmaOp};
pub use shared::{Shared, wait_for};
pub use upcalls::Upcalls;
pub use window::{WINDOW_COUNT, Window, WindowOffer, WindowTable, apply};
