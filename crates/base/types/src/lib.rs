//! The words that a program, the tiers of its port and the protocol between nodes have in common.
//!
//! - [`Address`] and [`NodeId`]: what a port is called.
//! - [`OpError`] and [`Cause`]: how an operation, or a peer, came to its end.
//! - [`Device`]: what moves the messages between a port and a peer.
//! - [`Access`], [`Atomic`] and [`Refusal`]: what others may do to a window, do to it, and may not.
//! - [`Random`]: chance that is the same for the same seed.
//!
//! There are no pointers here, and nothing that asks the system.

mod access;
mod address;
mod device;
mod end;
mod random;

pub use access::{Access, Atomic, Refusal};
pub use address::{Address, NodeId, ParseAddressError};
pub use device::Device;
pub use end::{Cause, OpError};
pub use random::{Random, scrambled};

/// Longest message of the system channel, in bytes.
pub const SYSTEM_MAX: usize = 8192;

/// Names an operation of a port: chosen by the port, handed back with the result. The memory that an operation has
/// lent goes by this name too.
pub type OpId = u64;
