//! Packets between nodes: their formats, and the keyed check that each carries ([WIRE-1] to [WIRE-3]).
//!
//! Read [`Header`] (the 64 bytes that every packet begins with), [`Kind`] (what it says), [`body`] (payloads with a
//! form of their own) and [`check`](JobKeys) (why a packet is believed). Whatever comes from the network is first
//! a checked view, then plain values; nothing panics on any input.

#![no_std]
#![deny(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod body;
pub mod bytes;
mod gone;
mod header;
mod keys;
mod kind;
mod nh;
mod parse;
mod rules;
mod seal;
pub mod serial;
mod siphash;
pub mod udp_port;
#[cfg(test)]
mod vectors;

pub use gone::{End, gone_packet};
pub use header::{
    HEADER_LEN, Header, MAGIC, PAYLOAD_MAX, PIECE_UNIT, PUSHED_MAX, READ_MAX, SLOTS, VERSION,
};
pub use keys::{CheckKey, ConnectionKeys, JobKeys, Transcript};
pub use kind::{Answerer, Death, FinStatus, Flags, Kind, NakReason, RefuseReason, RmaStatus};
pub use parse::{ParseError, Preamble, parse, parse_header, version_detail, versions_of_detail};
pub use seal::{seal, verify};
pub use siphash::siphash24;
