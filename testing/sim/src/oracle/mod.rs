//! What has to be true of every run, however the network behaves.
//!
//! The oracle knows nothing of packets. It is told what programs asked for and what came of it, and objects to
//! whatever a program could object to: `ledger` watches messages, `windows` one-sided access, `ends` that each
//! operation ends once and in time.

mod contents;
mod ends;
mod ledger;
mod windows;

pub use ends::{Ends, Outcome};
pub use ledger::{Ledger, Meeting, StreamKey};
pub use windows::{Expected, WORD_COUNT, Windows};

/// One of the ports of a world, by number. It keeps its number when its process is restarted.
pub type Seat = usize;

/// A process of a seat: the first is 0, and each restart begins another.
pub type Life = u32;

/// What was violated, in words.
pub type Violation = String;
