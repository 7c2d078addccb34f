//! The BillBoard Protocol: messages that are posted once and read by many (`spec/billboard.md`).
//!
//! ```no_run
//! use bcl_bbp::Options;
//!
//! # fn main() -> Result<(), bcl_bbp::Error> {
//! // In a job of `bcl run`, its processes are the members, by rank.
//! let board = Options::new("work").join()?;
//! if board.member() == 0 {
//!     board.broadcast(b"begin", None)?;
//! } else {
//!     let mut message = [0; 64];
//!     let received = board.receive(None, &mut message, None)?;
//!     println!("{received:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each member has a part of a region of reflective memory (`bcl-reflect`) that only it writes: its messages, and flags that say for
//! whom they are and which of others' it has read. So there are no locks, a multicast costs little more than a message, and what
//! was posted is there whatever becomes of who did.
//!
//! Read on with [`Billboard`], what a program has; `layout`, what lies where; `sending`, with `space` for messages, and `receiving`.

mod board;
mod error;
mod events;
mod layout;
mod members;
mod options;
mod receiving;
mod sending;
mod space;

pub use board::{Billboard, Watch};
pub use error::Error;
pub use events::Event;
pub use options::{DATA_BYTES, DATA_MAX_BYTES, MEMBERS_MAX, NAME_MAX_BYTES, Options};
pub use receiving::Received;
