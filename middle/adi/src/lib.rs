//! Tagged messages of any length over BCL ports, and memory that peers reach: the middle layer that MPI, PVM and others stand
//! on (`spec/adi.md`).
//!
//! An [`Endpoint`] sends and receives messages that find each other by sender and tag. A short message leaves whole, as far as
//! its receiver has given *credit*; any other is announced, and comes once it has met a receive, straight from the sender's
//! memory to the receiver's. So a receiver that does not listen keeps no more than it has agreed to, and none of its memory
//! depends on how many peers there could be.
//!
//! Memory that is exposed in [`Regions`] peers read, write and change by [`OneSided`] operations, without a receive.
//!
//! Read on with `engine`, the books, which do nothing by themselves; `matching`, how receives and messages find each other;
//! `credit`; `regions` and `atomics`, what peers reach and do there; `header`, what is said between endpoints; `bodies`, `own` and [`Endpoint`], which join the books to a port; `guard` and
//! [`SharedEndpoint`], for threads and for programs that compute. Ports of another kind, as a simulator has them, are a
//! [`Carrier`], and join themselves to an [`Engine`].

mod atomics;
mod bodies;
mod carrier;
mod completion;
mod credit;
mod endpoint;
mod engine;
mod error;
mod guard;
mod header;
mod matching;
mod memory;
mod own;
mod peers;
mod regions;
mod shared;

pub use atomics::{Atomic, Datum, Function};
pub use bcl_raw::slab::Id;
pub use bcl_raw::{Error as PortError, Options, PIECES_MAX, PeerKeys, Piece, RegionPlace};
pub use bcl_types::{Access, Address, OpError};
pub use carrier::Carrier;
pub use completion::{Completion, Ended, Probed};
pub use endpoint::Endpoint;
pub use engine::{Depths, Engine, OneSided, Receive, Send, Source, Wanted, What, When};
pub use error::Error;
pub use guard::Progress;
pub use header::one_sided::SHORT_MAX;
pub use header::{EAGER_MAX, INJECT_MAX, SPACES};
pub use memory::Memory;
pub use regions::{Hidden, Region, Regions};
pub use shared::SharedEndpoint;
