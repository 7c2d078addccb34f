//! Looking at the ports of a node from outside. Their counters lie in memory that each shows; reading disturbs nobody.
//!
//! [`attach`] maps the page of one port. [`Counter`] says what each number is; [`Numbers`] are all of them at one moment, and
//! what was added since another.

mod attach;
mod numbers;

pub use attach::{Attached, StatError, attach};
pub use bcl_tier::page::{Connection, Counter, CounterKind, Identity};
pub use bcl_tier::{CopyCost, CopyWay};
pub use numbers::Numbers;
