//! A message on a normal channel that no buffer has met ([SEM-4.3]).

use crate::names::Target;
use crate::slab::Name;

/// What is kept of it: about 64 bytes, and the payload if it is short and there is room.
#[derive(Debug)]
pub struct Waiting {
    /// The connection that it came by.
    pub connection: u32,
    pub arrival: Arrival,
    pub payload: Kept,
    /// A buffer was posted before all of the payload was there.
    pub accepted: Option<Target>,
}

/// What a message says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its sender's id for it.
    pub message: u32,
    /// The sender's normal message before it: ends of neighbours are reported together.
    pub previous: Option<u32>,
    pub channel: u16,
    pub len_bytes: u64,
    pub immediate: u64,
}

/// Where the payload is.
#[derive(Debug, Clone, Copy)]
pub enum Kept {
    /// With its sender.
    Announced,
    /// In the pool, not all of it yet.
    Coming(Name),
    /// In the pool.
    Here(Name),
}
