//! The program's side of a port that the interface program knows ([MCP-6]): maps, and nothing that needs a privilege.
//!
//! Read it in this order: [`ring`], where lies what the interface program says of packets; [`control`], what the program
//! says to the interface program; [`counters`], what that has counted. Where each word stands is in [`bcl_layout`].
//!
//! No call here enters the kernel but those that map and unmap.

pub mod control;
pub mod counters;
pub mod ring;

pub use control::Control;
pub use counters::Counters;
pub use ring::Ring;
