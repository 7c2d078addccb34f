//! BCL, the Basic Communication Library: processes exchange messages and act on each other's memory.
//!
//! ```no_run
//! use bcl::{Event, Port, Which};
//!
//! # fn main() -> Result<(), bcl::Error> {
//! let mut port = Port::open()?;
//! println!("reach me at {}", port.address());
//! while let Some(event) = port.wait(Which::Recv, None)? {
//!     if let Event::Message(message) = event {
//!         println!("{} bytes from {}", message.len(), message.from());
//!         port.release(message)?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Port`] has a *system channel* (small messages, read in place), *normal channels* (any length, into posted
//! buffers) and *open channels* (memory that others read and write). Operations never block; they complete with an
//! [`Event`]. The semantics are numbered rules in `spec/semantics.md`, cited as `SEM-x.y`.

mod bed;
pub mod bindings;
mod buffer;
mod cache;
mod core;
mod deadline;
mod error;
mod event;
pub mod job;
mod matching;
pub mod net_info;
mod ops;
mod options;
mod port;
mod routes;
mod shared;
pub mod stat;
mod state;
mod tiers;
mod window;

pub use bcl_node::{
    FileError, Folder, JobKey, Node, Nodes, NodesError, NodesOrigin, ResolveError, detect_node,
    read_text,
};
pub use bcl_tier::WINDOW_COUNT;
pub use bcl_tier_shm::{CopyMode, EAGER_MAX};
pub use bcl_types::{Access, Address, Cause, NodeId, OpError, ParseAddressError, SYSTEM_MAX};
pub use buffer::{Buffer, DmaBuffer, EnabledBuffer};
pub use core::{POSTS_MAX, QUEUE_DEPTH};
pub use error::Error;
pub use event::{Event, SystemMessage, Which};
pub use job::Job;
pub use options::{Device, PortOptions};
pub use port::{PeerInfo, Port};
pub use shared::SharedPort;
pub use state::QUIET;
pub use window::WindowView;
