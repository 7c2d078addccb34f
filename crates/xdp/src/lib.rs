//! The program's side of a port that the interface program serves ([MCP-6]): maps, and nothing that needs a privilege.
//!
//! Read it in this order: [`record`], what the interface program says of a packet; [`ring`], where it lies; [`control`],
//! what the program says to the interface program; [`counters`], what that has counted.
//!
//! No call here enters the kernel but those that map and unmap.

pub mod control;
pub mod counters;
pub mod record;
pub mod ring;

pub use control::{Control, GRANTS, Grant};
pub use counters::Counters;
pub use record::Record;
pub use ring::Ring;
