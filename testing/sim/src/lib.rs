//! A network in virtual time, and worlds of BCL endpoints on it, all from one seed.
//!
//! Nothing here reads a clock or opens a socket: the same seed gives the same run, packet by packet, on
//! every machine, so whatever goes wrong once can be looked at as often as needed.
//!
//! - [`Random`](bcl_types::Random) and [`Schedule`]: chance and time.
//! - [`net`]: links, hosts and their faults; generic over the bytes that travel.
//! - [`oracle`]: what has to be true of every run.
//! - [`Plan`]: what is going to happen in a world, and the kinds of worlds.
//! - [`party`]: what a world asks of an implementation of the protocol.
//! - [`port`]: the implementation that matters, an endpoint of `bcl-proto`.
//! - [`TaggedPort`]: tagged messages (`bcl-adi`) over the same, with a program of its own.
//! - [`region`]: worlds of another kind, whose hosts have a region of reflective memory.
//! - [`World`]: all of it together.
//! - [`collective`]: what broadcasts and barriers of many hosts take.

pub mod collective;
pub mod net;
pub mod oracle;
pub mod party;
mod plan;
pub mod port;
pub mod region;
mod schedule;
mod tagged;
mod world;

pub use plan::{Choice, KINDS, Mix, Plan, Traffic, Upset};
pub use port::SimPort;
pub use schedule::Schedule;
pub use tagged::{Ledger, TaggedPort, Tally};
pub use world::{Goodput, Report, Streams, Trace, World, Wrong};
