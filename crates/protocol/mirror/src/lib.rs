//! A region of reflective memory between nodes, `spec/reflect.md` from [REFLECT-7] on, as a machine without clock, sockets, pointers or
//! threads.
//!
//! What a member writes is a stream of bytes, its *log*: frames, each of which is one write. The log is the same on all hosts, which
//! write what it says into the region. All there is to do is to bring logs to where they are not yet.
//!
//! A [`Mirror`] is one host. The caller, called *driver* here, keeps the region and the logs ([`Memory`]), brings packets
//! and times, and takes packets, times and news. The same calls give the same results, so that a network of hosts can be simulated.
//!
//! Read on in `mirror`; then `greeting`, `beat` and `claim`: who is there; `sending`, `receiving` and `repair`: how a log travels, on
//! ways that `tree` and `group` tell; `following` and `fetching`: for those who come later; `saved`: for a process that goes on where
//! another has ended.

#![forbid(unsafe_code)]

mod beat;
mod claim;
mod fetching;
mod following;
mod frames;
mod gaps;
mod greeting;
mod group;
mod memory;
mod mirror;
mod names;
mod packet;
mod peer;
mod receiving;
mod repair;
mod saved;
mod sending;
mod stream;
mod tree;
#[cfg(test)]
mod wild;

pub use claim::Claimed;
pub use frames::{FRAME_HEADER_BYTES, Senseless, apply, frame_bytes, frame_header};
pub use memory::Memory;
pub use mirror::{Counts, Mirror, Outgoing};
pub use names::{Config, Ended, Event, Geometry, HostId};
pub use packet::Traffic;
pub use saved::{Before, Saved};
