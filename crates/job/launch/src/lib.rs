//! Starts the processes of a job, on this host or on others, and looks after them to the end.
//!
//! A [`Launch`] says what the job is to be. Inside, a supervisor decides; the processes are at sites: a crew on this
//! host, or links to [helpers](helper) on others, each with a crew of its own.

mod cores;
mod crew;
mod error;
mod exchange;
pub mod helper;
mod hosts;
mod lines;
mod machine;
mod outcome;
mod outlet;
mod plan;
mod process;
pub mod signals;
mod site;
mod supervise;

pub use cores::allowed_cores;
pub use error::{Error, Result};
pub use hosts::{Host, MapBy, ParseHostError, RemoteProcess, RemoteShell, read_hosts};
pub use plan::{Launch, Output};
