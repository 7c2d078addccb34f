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

pub mod job;
mod options;
mod port;
mod shared;
mod window;

pub use bcl_node::{
    FileError, Folder, JobKey, Node, Nodes, NodesError, NodesOrigin, ResolveError, detect_node,
    read_text,
};
pub use bcl_raw::{
    Access, Address, Buffer, Cause, CopyMode, Device, DmaBuffer, EAGER_MAX, EnabledBuffer, Error,
    Event, NodeId, OpError, POSTS_MAX, QUEUE_DEPTH, QUIET, SYSTEM_MAX, SystemMessage, WINDOW_COUNT,
    Which,
};
pub use bcl_types::ParseAddressError;
pub use job::Job;
pub use options::PortOptions;
pub use port::{PeerInfo, Port};
pub use shared::SharedPort;
pub use window::WindowView;
