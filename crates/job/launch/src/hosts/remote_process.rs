//! One process on another host, for a command whose main thread has other things to do: a thread looks after it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bcl::{JobKey, Nodes};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::list::Host;
use super::remote_host::RemoteHost;
use super::shell::{RemoteShell, Shell};
use super::team::Team;
use crate::error::{Error, Result};
use crate::name::Name;
use crate::outcome;
use crate::process::Start;
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
        let shell = Shell::new(shell)?;
        let program = shell.helper.clone().into_os_string();
        let start = Start {
            command: std::iter::once(program).chain(arguments).collect(),
            environment: Vec::new(),
            group: 0,
            size: RANK + 1,
            first: 0,
            ranks: vec![RANK],
        };
        let team = Team {
            hosts: vec![host.clone()],
            shell,
            nodes: Nodes::load().map_err(Error::configuration)?,
            key: key.to_hex(),
            variables: Vec::new(),
            folder: None,
            is_bound: false,
            patience: PATIENCE,
            met: Mutex::new(BTreeMap::new()),
            begun_on: OnceLock::new(),
        };
        let team = Arc::new(team);
        let mut there = RemoteHost::new(&team, 0);
        super::connect(
            &team,
            std::slice::from_mut(&mut there),
            &BTreeSet::from([0]),
            || None,
        )?;
        there.obey(&Order::Start(Box::new(start)));
        let failed = |error| Error::system("look after a process on another host", error);
        let (stopped, stop) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()))?;
        let ended = Arc::default();
        let for_thread = Arc::clone(&ended);
        let thread = std::thread::Builder::new()
            .name("bcl-host".into())
            .spawn(move || look_after(there, &stopped, &for_thread))
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

fn look_after(mut there: RemoteHost, stopped: &OwnedFd, ended: &Mutex<Option<String>>) {
    let mut give_up_at: Option<Instant> = None;
    let mut reports = Vec::new();
    while there.is_running() && give_up_at.is_none_or(|at| Instant::now() < at) {
        let mut fds = Vec::new();
        there.add_to(&mut fds);
        if give_up_at.is_none() {
            fds.push(PollFd::new(stopped, PollFlags::IN));
        }
        let timeout = there
            .next_time()
            .into_iter()
            .chain(give_up_at)
            .min()
            .and_then(until);
        let _ = poll(&mut fds, timeout.as_ref());
        // Ours is always the last.
        let is_stopped =
            give_up_at.is_none() && fds.pop().is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if is_stopped {
            there.obey(&Order::Signal(libc::SIGTERM));
            give_up_at = Some(Instant::now() + GRACE);
        }
        there.advance(&mut reports);
        for report in reports.drain(..) {
            if let Some(how) = told(&there, report) {
                let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                ended.get_or_insert(how);
            }
        }
    }
    there.abandon();
}

/// Shows what it has to say; returns how it ended.
fn told(there: &RemoteHost, report: Report) -> Option<String> {
    match report {
        Report::Output {
            is_error, bytes, ..
        } => {
            if is_error {
                let _ = std::io::Write::write_all(&mut std::io::stderr(), &bytes);
            }
            None
        }
        Report::Said { .. } | Report::SaysNoMore { .. } | Report::Started { .. } => None,
        Report::Ended { process, pid, how } => {
            let name = Name {
                group: 0,
                rank: process,
            };
            Some(outcome::describe(name, there.host(), pid, how))
        }
        Report::NotStarted { why, .. } => Some(why.reason),
        Report::Lost { text } => Some(text),
    }
}
