//! The segment that two ports of a node share, and its rings ([SHM-2] to [SHM-4]).
//!
//! Everything here is memory that another process may write at any moment. The rule throughout: read a
//! word once into private memory, check it, then use the copy (`spec/shm.md`).
//!
//! [`pair`] is the layout of the segment; [`cells`] and [`bytes`] are its rings. How memory is had and mapped, atomics and
//! waiting are `bcl_os`'s. A crate of its own, small enough for loom to run it in every order (`tests/loom`).

pub mod bytes;
pub mod cells;
pub mod pair;
mod prefetch;

/// A peer left a value in shared memory that no correct peer writes.
///
/// The connection it came by can no longer be trusted; nothing else is affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer wrote an impossible value into shared memory: {0}")]
pub struct Corrupt(pub &'static str);
