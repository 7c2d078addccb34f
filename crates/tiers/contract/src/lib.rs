//! What a tier is, and what all tiers of a port have in common.
//!
//! A *tier* moves messages between a port and some of its peers: shared memory within a node, packets between nodes. Each
//! is a crate of its own, and none knows another. What they share is here:
//!
//! - [`Tier`]: the calls that a port makes on each, and [`Upcalls`], what a tier tells the port, both in terms of the names
//!   and places in [`handles`], whose memory lies in one piece or in several [`pieces`];
//! - [`Opening`]: how a port gets its number, its page and its bell, before any tier has it;
//! - [`PeerKeys`]: the keys of peers' ports, where they are not the port's own;
//! - [`Shared`]: what the program and the background threads of all tiers need of one port: its [`page`] of counters, its
//!   bell, and its windows;
//! - [`WindowTable`] and [`Region`]: memory that peers act on, and buffers that they can map;
//! - [`Background`]: the thread of a tier, how ports reach it, and what its death means;
//! - [`exit`]: last words of a process that exits.

mod background;
mod copies;
pub mod exit;
pub mod handles;
mod open;
pub mod page;
mod peer_keys;
pub mod pieces;
mod region;
mod rma;
mod shared;
mod tier;
mod upcalls;
mod window;

pub use background::{Background, Body, Mailbox};
pub use copies::{COPY_CLASSES, CopyCost, CopyWay, copy_class};
pub use handles::{Arrival, LinkInfo, MessageId, NormalSend, Source, SystemHandle, Target};
pub use open::{Claim, OpenError, Opening, PortConfig};
pub use peer_keys::PeerKeys;
pub use pieces::{PIECES_MAX, Piece, Pieces};
pub use region::{AgentMemories, Binding, Extent, Region, RegionPlace};
pub use rma::{Action, RmaOp};
pub use shared::{Friends, Shared};
pub use tier::{Depths, Tier, WaitSet};
pub use upcalls::Upcalls;
pub use window::{WINDOW_COUNT, Window, WindowMemory, WindowOffer, WindowTable, apply};
