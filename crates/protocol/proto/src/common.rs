//! What all connections of an endpoint share.

use std::collections::VecDeque;
use std::sync::Arc;

use bcl_wire::JobKeys;

use crate::buffers::Buffers;
use crate::config::Config;
use crate::connection::unheard::DeafHosts;
use crate::counters::{Drops, Traffic};
use crate::message::waiting::Waiting;
use crate::secrets::Secrets;
use crate::slab::{Name, Slab};
use bcl_types::{Span, Time};

/// What all connections of an endpoint share: configuration, keys, memory, chance.
#[derive(Debug)]
pub struct Common {
    pub config: Config,
    /// Of the port: whoever begins a connection with it uses them.
    pub keys: Arc<JobKeys>,
    /// Messages that have arrived.
    pub pool: Buffers,
    /// Packets that came early.
    pub stash: Buffers,
    /// Copies of what our own program sends, and answers to those who read our windows.
    pub copies: Buffers,
    /// Normal messages that no buffer has met, of all peers.
    pub waiting: Slab<Waiting>,
    pub drops: Drops,
    /// Of connections that have ended.
    pub past: Traffic,
    pub secrets: Secrets,
    /// Copies whose last packet has been handed out; free at the next call.
    pub spent: Vec<Name>,
    /// For the driver: connections to be entered into the interface program's tables, taken back, removed.
    pub to_enter: VecDeque<u32>,
    pub to_take_back: VecDeque<u32>,
    pub to_remove: VecDeque<u32>,
    /// Hosts whose processes do not hear what it answers.
    pub deaf_hosts: DeafHosts,
    /// Connections of which packets that came early are to be dealt with, and for which there was no room.
    pub overdue: Vec<u32>,
    /// Connections that the interface program has.
    pub entered: usize,
    /// Connections whose peers have taken leave, which the program is told once it has heard of all that arrived before.
    pub departed: Vec<u32>,
    /// For how long nobody had looked for packets before those that are handled now were found; nothing if that was short.
    pub away: Span,
    /// The port is closing: nothing new is taken.
    pub is_closing: bool,
}

impl Common {
    /// Room in the pool, but for what is kept free for the interface program's ring.
    #[inline]
    pub fn pool_room_bytes(&self) -> usize {
        let kept_bytes = self.config.interface_ring_bytes;
        self.pool.room_bytes().saturating_sub(kept_bytes)
    }
}

/// What a connection acts with.
pub struct Context<'a, U> {
    pub now: Time,
    pub common: &'a mut Common,
    pub up: &'a mut U,
}
