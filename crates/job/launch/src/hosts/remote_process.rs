//! One process on another host, for a command whose main thread has other things to do: a thread looks after it.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bcl::{JobKey, Nodes};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::frame::Begin;
use super::link::Link;
use super::list::Host;
use super::shell::{RemoteShell, Shell};
use crate::error::{Error, Result};
use crate::outcome;
use crate::process::Task;
use crate::site::{Order, Report, Site};
use crate::supervise::{GRACE, until};

/// How long the host may be silent.
const PATIENCE: Duration = Duration::from_secs(60);
/// Rank 0 is whoever starts it.
const RANK: u32 = 1;

/// A process on another host, and the thread that looks after it. It never outlives this one: dropping it ends it.
pub struct RemoteProcess {
    host: String,
    ended: Arc<Mutex<Option<String>>>,
    /// Closing it wakes the thread, which then ends the process.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl RemoteProcess {
    /// Starts the helper's program (`bcl`) there with these arguments, silent but for its errors.
    pub fn start(
        host: &Host,
        shell: &RemoteShell,
        arguments: impl IntoIterator<Item = OsString>,
        key: &JobKey,
    ) -> Result<Self> {
        let nodes = Nodes::load().map_err(Error::configuration)?;
        let shell = Shell::new(shell)?;
        let (mut links, numbers) =
            super::connect(std::slice::from_ref(host), &shell, &nodes, || None)?;
        let (Some(mut link), Some(number)) = (links.pop(), numbers.first()) else {
            unreachable!("there is a link for each host");
        };
        let program = std::iter::once(shell.helper.into_os_string()).chain(arguments);
        link.begin(Begin {
            task: Task {
                program: program.collect(),
                size: RANK + 1,
                key: key.to_hex(),
                environment: super::environment_on(*number),
                folder: None,
                is_bound: false,
            },
            ranks: vec![RANK],
            patience: PATIENCE,
        });
        let failed = |error| Error::system("look after a process on another host", error);
        let (stopped, stop) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        let ended = Arc::default();
        let for_thread = Arc::clone(&ended);
        let thread = std::thread::Builder::new()
            .name("bcl-host".into())
            .spawn(move || look_after(link, &stopped, &for_thread))
            .map_err(failed)?;
        Ok(Self {
            host: host.name.clone(),
            ended,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<String> {
        let ended = self.ended.lock();
        ended.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where it runs, as the user has named it.
    pub fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look_after(mut link: Link, stopped: &OwnedFd, ended: &Mutex<Option<String>>) {
    let mut give_up_at: Option<Instant> = None;
    let mut reports = Vec::new();
    while link.is_running() && give_up_at.is_none_or(|at| Instant::now() < at) {
        let mut fds = Vec::new();
        link.add_to(&mut fds);
        if give_up_at.is_none() {
            fds.push(PollFd::new(stopped, PollFlags::IN));
        }
        let timeout = link
            .next_time()
            .into_iter()
            .chain(give_up_at)
            .min()
            .map(until);
        let _ = poll(&mut fds, timeout.as_ref());
        // Ours is always the last.
        let is_stopped =
            give_up_at.is_none() && fds.pop().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if is_stopped {
            link.obey(&Order::Signal(libc::SIGTERM));
            give_up_at = Some(Instant::now() + GRACE);
        }
        link.advance(&mut reports);
        for report in reports.drain(..) {
            if let Some(how) = told(&link, report) {
                let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                ended.get_or_insert(how);
            }
        }
    }
    link.abandon();
}

/// Shows what it has to say; returns how it ended.
fn told(link: &Link, report: Report) -> Option<String> {
    match report {
        Report::Output {
            is_error, bytes, ..
        } => {
            if is_error {
                let _ = std::io::Write::write_all(&mut std::io::stderr(), &bytes);
            }
            None
        }
        Report::Said { .. } | Report::SaysNoMore { .. } => None,
        Report::Ended { rank, pid, how } => Some(outcome::describe(rank, link.host(), pid, how)),
        Report::CannotStart { text, .. } | Report::Lost { text } => Some(text),
    }
}
