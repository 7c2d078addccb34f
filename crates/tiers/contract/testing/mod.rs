//! What the tests of all tiers have in common: a part of each tier's own tests, and no crate.
//!
//! [`program`] is what a tier tells of what happens, and [`end`] a port with one; [`leaving`] and [`order`] hold each tier to
//! what [`Tier`](bcl_tier::Tier) promises.

pub mod end;
pub mod leaving;
pub mod order;
pub mod program;

pub use end::{End, Ports, pair, wait_until};
pub use program::{Program, Told};
