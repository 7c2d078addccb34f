//! Where processes of a job run: here, or behind a connection to another host. The supervisor knows no more of them.

use std::time::Instant;

use rustix::event::PollFd;

use crate::outcome::Ended;

/// What happens to a process of the job.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    /// It has written.
    Output {
        rank: u32,
        is_error: bool,
        bytes: Vec<u8>,
    },
    /// It has said this over BCL_LAUNCH_FD.
    Said { rank: u32, bytes: Vec<u8> },
    /// It has closed BCL_LAUNCH_FD.
    SaysNoMore { rank: u32 },
    /// It has ended. All that it wrote was reported before.
    Ended { rank: u32, pid: u32, how: Ended },
    /// It could not be started; the others of its host are ended.
    CannotStart { text: String, status: u8 },
    /// The connection to a host is lost, and what is left of the job there.
    Lost { text: String },
}

/// What a process of the job, or all of them, are to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Bytes for its BCL_LAUNCH_FD.
    Answer { rank: u32, bytes: Vec<u8> },
    /// Nobody will answer it any more.
    Dismiss { rank: u32 },
    /// A signal for all that still run.
    Signal(i32),
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
    /// Whether reports may still come.
    fn is_running(&self) -> bool;
    /// Ends what still runs, whatever that takes.
    fn abandon(&mut self);
    /// The host, for messages.
    fn host(&self) -> &str;
}
