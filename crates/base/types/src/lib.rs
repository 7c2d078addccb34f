//! The words that a program, the tiers of its port and the protocol between nodes have in common.
//!
//! - [`Address`] and [`NodeId`]: what a port is called.
//! - [`OpError`] and [`Cause`]: how an operation, or a peer, came to its end.
//! - [`Device`]: what moves the messages between a port and a peer.
//! - [`Access`], [`Atomic`] and [`Refusal`]: what others may do to a window, do to it, and may not.
//! - [`Random`]: chance that is the same for the same seed.
//! - [`Time`] and [`Span`]: time for protocols that read no clock.
//!
//! There are no pointers here, and nothing that asks the system.

mod access;
mod address;
mod device;
mod end;
mod random;
mod time;

pub use access::{Access, Atomic, Refusal};
pub use address::{Address, NodeId, ParseAddressError};
pub use device::Device;
pub use end::{Cause, OpError};
pub use random::{Random, scrambled};
pub use time::{Span, Time};

/// Longest message of the system channel, in bytes ([SEM-4.1]).
pub const SYSTEM_MAX: usize = 8192;

/// Longest message of the system channel between ports whose middle layers take it, in bytes ([WIRE-6.8]). Between nodes it costs less
/// to copy that much than to send an announcement and an answer.
pub const LONG_SYSTEM_MAX: usize = 24 << 10;

/// Longest message of a normal channel that leaves at once, in bytes, on whatever tier; a longer one may be announced, and
/// wait for a buffer.
pub const EAGER_MAX: usize = 8192;

/// Port numbers from here on are assigned; lower ones are only given to those who ask for them.
pub const FIRST_ASSIGNED_PORT: u16 = 1024;

/// The last port number that other nodes can reach ([WIRE-1.1]), and the last that is assigned.
pub const LAST_REACHABLE_PORT: u16 = 8191;

/// Names an operation of a port: chosen by the port, handed back with the result. The memory that an operation has
/// lent goes by this name too.
pub type OpId = u64;
