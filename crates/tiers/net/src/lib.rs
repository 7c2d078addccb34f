//! The network tier of BCL: connections to ports of other nodes, in packets, without privileges.
//!
//! [`NetPort`] is the [`Tier`](bcl_tier::Tier) that the port above drives. Read on in `engine` (the
//! protocol, where its packets come from and the memory lent to it), `udp` and `interface` (where they come from), `station` (how the program and the background thread
//! share that) and `watcher` (the thread).

mod bridge;
mod clock;
mod deferred;
mod engine;
mod interface;
mod lent;
mod link;
mod names;
mod port;
mod station;
mod udp;
mod watcher;
mod windows;

pub use engine::open::{Interception, NetConfig, OpenError, free_numbers};
pub use interface::open::Unavailable;
pub use port::NetPort;

#[cfg(test)]
#[path = "../../contract/testing/mod.rs"]
mod testing;
