//! Starts the processes of a job, on this host or on others, and looks after them to the end.
//!
//! A [`Launch`] says what the job is to be, [`start`](Launch::start)s it, and gives a [`Running`] to wait for. What happens
//! meanwhile is told as a [`Notice`], and what became of it all as an [`Outcome`]. A
//! process of the job may have more started (`bcl::Job::spawn`), and so may whoever has a [`Handle`]. The command `bcl run` adds arguments and
//! words to that, and no more.
//!
//! Hosts are reached by a [`RemoteShell`], which starts a [helper] there. Inside, a supervisor decides; the processes are at
//! sites: a crew on this host, or links to helpers on others, each with a crew of its own. Read on in `launch`,
//! `supervise`, `site`, `crew`, `hosts`.

mod cores;
mod crew;
mod error;
mod exchange;
mod handle;
pub mod helper;
mod hosts;
mod launch;
mod lines;
mod machine;
mod name;
mod notice;
mod outcome;
mod outlet;
mod placement;
mod process;
mod roster;
mod running;
pub mod signals;
mod site;
mod supervise;
mod talk;

pub use cores::allowed_cores;
pub use error::{Error, Result};
pub use handle::Handle;
pub use hosts::{Host, MapBy, ParseHostError, RemoteProcess, RemoteShell, read_hosts};
pub use launch::{Launch, Output};
pub use notice::{Notice, Outcome};
pub use running::Running;
