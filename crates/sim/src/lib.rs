//! A network in virtual time, and worlds of BCL endpoints on it, all from one seed.
//!
//! Nothing here reads a clock or opens a socket: the same seed gives the same run, packet by packet, on
//! every machine, so whatever goes wrong once can be looked at as often as needed.
//!
//! - [`Random`] and [`Schedule`]: chance and time.
//! - [`net`]: links, hosts and their faults; generic over the bytes that travel.
//! - [`oracle`]: what has to be true of every run.

pub mod net;
pub mod oracle;
mod plan;
mod random;
mod schedule;

pub use plan::{Choice, KINDS, Mix, Plan, Traffic, Upset};
pub use random::Random;
pub use schedule::Schedule;
