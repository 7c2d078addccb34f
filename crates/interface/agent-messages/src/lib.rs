//! What programs and the agent of their node, `bcld`, say to each other: `spec/agent.md`.
//!
//! - [`Request`] and [`Answer`]: the messages. Keys in them are [`Key`]s, which nothing prints.
//! - [`read`] and [`write()`]: datagrams. Everything that arrives is checked while it is read.
//! - [`Status`]: what an answer to [`Request::Status`] holds.
//! - [`default_socket`]: where they meet.

#![forbid(unsafe_code)]

mod answer;
mod datagram;
mod key;
mod outcome;
mod place;
mod request;
mod status;

pub use answer::{Answer, Code, Failure, Progress, Refused};
pub use datagram::{MAX_BYTES, Message, Unreadable, read, write};
pub use key::Key;
pub use outcome::Outcome;
pub use place::{DEFAULT_SOCKET, SOCKET_VARIABLE, default_socket};
pub use request::{
    Connection, DEFAULT_RING_BYTES, MEMORY_BLOCK_BYTES, MEMORY_MAX_BYTES, RING_BYTES, Request,
    Window,
};
pub use status::{InterfaceStatus, PortStatus, Status};

/// Version of the document that both sides follow.
pub const VERSION: u32 = 1;
