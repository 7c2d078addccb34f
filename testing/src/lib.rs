//! Tests that no single crate can hold: the conformance suite (`tests/conformance`), tests with real processes
//! (`tests/processes`) and between hosts (`tests/network`), and the house rules (`tests/tidy`). Nothing that ships depends on this crate.
//!
//! A [`World`] is a socket folder of its own; a [`Seat`] is a port in it together with the events that a test has
//! not asked for yet. Waiting on one seat serves all seats of the world, as their own threads would.

pub mod agent;
pub mod cgroup;
pub mod contents;
pub mod fixture;
pub mod netns;
pub mod peer;
mod seat;
mod world;

pub use fixture::{Fixture, PortLike};
pub use seat::Seat;
pub use world::World;

use std::time::Duration;

/// A watchdog's patience: whatever takes longer hangs. Not a promise of speed.
pub const PATIENCE: Duration = Duration::from_secs(10);
