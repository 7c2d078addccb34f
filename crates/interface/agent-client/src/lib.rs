//! Asks the node's agent, `bcld`, for ports of the interface program: `spec/agent.md`.
//!
//! - [`Agent`]: a connection to the agent. [`Agent::open`] makes it a [`Port`] and hands out its descriptors.
//! - [`Port`]: enters connections and windows; finds a restarted agent again by itself.
//! - [`RequestQueue`]: the same for those who cannot wait for an answer.
//! - [`message`]: what is said, for both sides. Everything that arrives is checked while it is read.
//!
//! Nothing here needs privileges or knows of BPF: the descriptors are for who maps them.

#![forbid(unsafe_code)]

mod agent;
mod error;
mod hex;
mod line;
pub mod message;
mod place;
mod port;
mod queue;
mod status;

pub use agent::Agent;
pub use error::AgentError;
pub use hex::Key;
pub use place::{DEFAULT_SOCKET, SOCKET_VARIABLE, default_socket};
pub use port::{Memory, OpenPort, Opened, Port};
pub use queue::{Outcome, RequestQueue, Unanswered};
pub use status::{InterfaceStatus, PortStatus, Status};
