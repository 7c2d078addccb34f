//! What any process needs that serves others, whatever it serves them with.
//!
//! In the order in which such a process uses it: [`privileges`] it keeps only those that it needs, [`background`] it leaves
//! its terminal and says that it is ready, [`Signals`] tell it to end, [`Log`] has what it says, and a [`Watched`] process is
//! one that it serves and whose end it sees.
//!
//! What it is configured with, and whom it lets in, are its own.

pub mod background;
mod log;
pub mod privileges;
mod process;
mod signals;

pub use log::Log;
pub use process::{Process, Watched, boot, has_ended};
pub use signals::Signals;
