//! The protocol of BCL between nodes, `spec/wire.md`, as a machine without clock, sockets, pointers or threads.
//!
//! An [`Endpoint`] is one port. The caller, called *driver* here, brings it packets and times and takes packets and
//! timers from it; news go to the driver's [`Upcalls`]. The same calls give the same results, so that a network
//! of endpoints can be simulated.
//!
//! What a driver does, again and again:
//!
//! - packets that have arrived: [`Endpoint::handle`];
//! - time: [`Endpoint::on_timeout`] once it is [`Endpoint::next_timeout`];
//! - after these and after any request: [`Endpoint::poll_transmit`] until there is nothing to send; for each
//!   packet find the payload ([`Endpoint::bytes`], or the memory that was lent) and [`Endpoint::seal`] it.

mod account;
mod buffers;
mod common;
mod config;
mod connection;
mod counters;
mod endpoint;

mod message;
mod mtu;
mod names;
mod progress;
mod rma;
mod secrets;
mod setup;
mod slab;
mod transmit;
mod upcalls;

pub use bcl_types::{Span, Time};
pub use config::Config;
pub use connection::receive_window::{ReceiveWindow, Standing};
pub use counters::{Depths, Drops, PeerInfo, Traffic, WhyNot};
pub use endpoint::{Endpoint, Entering, Told};
pub use mtu::MtuSearch;
pub use names::{Action, MessageId, NormalSend, Path, Rma, SystemHandle, Target, WindowPut};
pub use progress::{ConnectionState, Outcome};
pub use transmit::{INLINE_MAX, Own, Payload, Transmit};
pub use upcalls::Upcalls;

/// Length of the header of every packet.
pub const HEADER_BYTES: usize = bcl_wire::HEADER_LEN;
