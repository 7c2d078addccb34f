//! Shared-memory segments, rings and waiting: the one home of BCL's atomics.
//!
//! Everything here is memory that another process may write at any moment. The rule throughout: read a
//! word once into private memory, check it, then use the copy (`spec/shm.md`).
//!
//! Read in this order: [`mapping`] and [`memfd`] (how memory is mapped and had), [`pair`] (the layout of the segment two
//! ports share), [`cells`] and [`bytes`] (its rings), [`page`] (what a port shows to everybody),
//! [`sleep`], [`fence`], [`bell`] and [`wait`] (how a receiver sleeps without costing the sender anything), and [`cancel`],
//! which concerns all of the library.

pub mod bell;
pub mod bytes;
pub mod cancel;
pub mod cells;
pub mod fence;
#[cfg(all(any(test, fuzzing), not(loom)))]
pub mod hostile;
pub mod mapping;
pub mod memfd;
pub mod page;
pub mod pair;
mod prefetch;
mod room;
mod signals;
pub mod sleep;
pub mod sync;
pub mod wait;

/// A peer left a value in shared memory that no correct peer writes.
///
/// The connection it came by can no longer be trusted; nothing else is affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer wrote an impossible value into shared memory: {0}")]
pub struct Corrupt(pub &'static str);
