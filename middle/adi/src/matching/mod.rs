//! Receives and messages find each other: by source, by tag and by what of the tag is ignored; oldest first, and as quick
//! with a hundred thousand that wait as with ten ([ADI-3]).

mod hash;
mod index;
mod pattern;
mod posted;
#[cfg(test)]
mod tests;
mod unexpected;

pub use hash::Seeded;
pub use pattern::{Pattern, PeerNumber};
pub use posted::Posted;
pub use unexpected::Unexpected;
