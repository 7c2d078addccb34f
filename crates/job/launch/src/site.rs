//! Where processes of a job run: here, or behind a connection to another host. The supervisor knows no more of them.

use std::time::Instant;

use bcl::job::NotStarted;
use rustix::event::PollFd;

use crate::outcome::Ended;
use crate::process::Start;

/// What happens to a process of the job. Processes have numbers: those of the first group its ranks, then as they are
/// spawned.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    /// It has written.
    Output {
        process: u32,
        is_error: bool,
        bytes: Vec<u8>,
    },
    /// It has said this over BCL_LAUNCH_FD.
    Said { process: u32, bytes: Vec<u8> },
    /// It has closed BCL_LAUNCH_FD.
    SaysNoMore { process: u32 },
    /// It has ended. All that it wrote was reported before.
    Ended { process: u32, pid: u32, how: Ended },
    /// It runs.
    Started { process: u32, pid: u32 },
    /// It could not be started.
    NotStarted { process: u32, why: NotStarted },
    /// The connection to a host is lost, and what is left of the job there.
    Lost { text: String },
}

/// What a process of the job, or all of them, are to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Bytes for its BCL_LAUNCH_FD.
    Answer { process: u32, bytes: Vec<u8> },
    /// Nobody will answer it any more.
    Dismiss { process: u32 },
    /// A signal for all that still run.
    Signal(i32),
    /// More processes, whose start is reported one by one.
    Start(Box<Start>),
}

/// Processes of a job at one place, by what they report and are ordered.
pub trait Site {
    /// What may bring news.
    fn add_to<'a>(&'a self, fds: &mut Vec<PollFd<'a>>);
    /// When to look here again even if nothing comes.
    fn next_time(&self) -> Option<Instant>;
    /// Takes in what has come.
    fn advance(&mut self, reports: &mut Vec<Report>);
    /// Does what it is told, as far as it can without waiting.
    fn obey(&mut self, order: &Order);
    /// Whether there are processes that run, or are about to.
    fn is_running(&self) -> bool;
    /// There will be no more processes: what serves them may go.
    fn release(&mut self);
    /// Whether something is left that serves processes.
    fn is_open(&self) -> bool;
    /// Ends what still runs, whatever that takes.
    fn abandon(&mut self);
    /// The host, for messages.
    fn host(&self) -> &str;
}
