//! Asks the node's agent, `bcld`, for ports of the interface program: `spec/agent.md`.
//!
//! - [`Agent`]: a connection to the agent. [`Agent::open`] makes it a [`AgentPort`] and hands out its descriptors.
//! - [`AgentPort`]: enters connections and windows; finds a restarted agent again by itself.
//! - [`RequestQueue`]: the same for those who cannot wait for an answer.
//! - [`message`]: what is said.
//!
//! Nothing here needs privileges or knows of BPF: the descriptors are for who maps them.

#![forbid(unsafe_code)]

mod agent;
mod error;
mod line;
mod port;
mod queue;

pub use agent::Agent;
pub use bcl_agent_messages as message;
pub use bcl_agent_messages::{
    DEFAULT_SOCKET, InterfaceStatus, Key, PortStatus, SOCKET_VARIABLE, Status, default_socket,
};
pub use error::AgentError;
pub use port::{AgentPort, Memory, OpenPort, Opened};
pub use queue::{Outcome, RequestQueue, Unanswered};
