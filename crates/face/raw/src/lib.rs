//! A port on raw memory: what the faces of the library, in Rust and in C, and the layers above them stand on.
//!
//! [`RawPort`] is a port without a lock, whose callers vouch for the memory that they give it; the crate `bcl` puts Rust's
//! ownership before it, `bcl-cface` handles and a lock for C. [`Options`] say how it is opened, [`Event`]s what has happened.
//! Threads that share a port wait by [`wait_unlocked`], at the port's [`Bed`]. [`RegionCache`] finds the DMA buffer that a
//! pointer lies in.

mod bed;
mod buffer;
mod cache;
mod channels;
mod deadline;
mod error;
mod event;
mod matcher;
mod open;
mod ops;
mod options;
mod port;
mod routes;
pub mod slab;
mod state;
mod tiers;
mod wait;

pub use bcl_os::cancel;
pub use bcl_os::process::generation;
pub use bcl_os::without_signals;
pub use bcl_tier::{
    Action, Arrival, LinkInfo, MessageId, PIECES_MAX, PeerKeys, Piece, Pieces, Region, RegionPlace,
    Source, SystemHandle, Target, WINDOW_COUNT,
};
pub use bcl_tier_shm::CopyMode;
pub use bcl_types::{
    Access, Address, Atomic, Cause, Device, EAGER_MAX, NodeId, OpError, OpId, SYSTEM_MAX,
};
pub use bed::Bed;
pub use buffer::{Buffer, DmaBuffer, EnabledBuffer, populate};
pub use cache::{CacheCounts, Memory, RegionCache};
pub use channels::Channels;
pub use error::Error;
pub use event::{Event, SystemMessage, Which};
pub use matcher::Matcher;
pub use options::Options;
pub use port::{POSTS_MAX, QUEUE_DEPTH, RawPort};
pub use state::QUIET;
pub use wait::{HasPort, wait_unlocked};
