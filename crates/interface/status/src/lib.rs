//! Which nodes are alive: what the agents of all nodes tell each other. No clock, no socket: [`Watch`] takes times and
//! messages, and says what is to be sent and what has changed. The rules are in `spec/nodes.md`.
//!
//! Read it in this order: [`standing`], what is known of a node, and which of two reports holds; [`message`], how reports
//! travel; `ring`, who watches whom; `probing`, the watch over one node; `rumours`, reports on their way;
//! [`watch`], all of it together.

pub mod message;
pub mod standing;
pub mod watch;

mod probing;
mod ring;
mod rumours;

pub use standing::{Report, Standing, State};
pub use watch::{Action, Config, Watch};

/// A node: its IPv4 form as a number, as in [WIRE-2.4].
pub type Node = u32;
