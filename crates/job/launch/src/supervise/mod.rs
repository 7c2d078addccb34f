//! Looking after a job, wherever its processes run: exchanges, output, signals, and what happens when one fails.

mod spawn;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use bcl::job::{Child, NotStarted};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result, UNREACHED};
use crate::handle::{self, Desk, Handle};
use crate::launch::Launch;
use crate::name::Name;
use crate::notice::{Listener, Notice, Outcome};
use crate::outcome;
use crate::outlet::Outlet;
use crate::placement::Placement;
use crate::roster::{Roster, not_started};
use crate::signals::{Signal, Signals};
use crate::site::{Order, Report, Site};
use crate::talk::{Nonsense, Said};

/// What a process that was told to end may take for it.
pub const GRACE: Duration = Duration::from_secs(2);
/// Status after `--timeout`, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

/// Looks after a job from its start to its end, whatever sites its processes are at.
pub struct Supervisor {
    signals: Option<Signals>,
    listener: Listener,
    sites: Vec<Box<dyn Site>>,
    placement: Placement,
    roster: Roster,
    outlet: Outlet,
    desk: Desk,
    handle: Handle,
    /// When the job has lasted long enough.
    deadline: Option<Instant>,
    /// Whether a Ctrl-C reaches the processes without our help.
    share_terminal: bool,
    /// So far; the first failure counts.
    outcome: Outcome,
    ending: Ending,
    /// Whether the last process has ended.
    is_over: bool,
}

/// Whether the job is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// All were told; who is still there then is killed.
    KillAt(Instant),
    /// All were killed; whoever does not even say so then is given up.
    AbandonAt(Instant),
    Abandoned,
}

impl Supervisor {
    /// For processes at these sites, which are those of the placement.
    pub fn new(
        launch: Launch,
        sites: Vec<Box<dyn Site>>,
        placement: Placement,
        outlet: Outlet,
    ) -> Result<Self> {
        let (handle, desk) = handle::pair()?;
        Ok(Self {
            deadline: launch.deadline(),
            signals: launch.signals,
            listener: launch.listener,
            sites,
            placement,
            roster: Roster::default(),
            outlet,
            desk,
            handle,
            share_terminal: false,
            outcome: Outcome {
                status: 0,
                failure: None,
            },
            ending: Ending::No,
            is_over: false,
        })
    }

    /// The processes belong to the process group of the terminal, which signals all of them itself.
    pub fn sharing_the_terminal(mut self) -> Self {
        self.share_terminal = true;
        self
    }

    /// Has the first processes started.
    pub fn begin(&mut self, homes: &[usize], command: &[OsString]) -> Result<()> {
        self.outlet
            .add(self.roster.next_names(homes.len() as u32))?;
        let group = self.roster.add(homes);
        self.start(group, homes, command, &[]);
        Ok(())
    }

    /// For other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns when the last process has ended.
    pub fn run(&mut self) -> Result<Outcome> {
        while self.sites.iter().any(|site| site.is_running()) {
            self.turn()?;
        }
        self.is_over = true;
        self.sites.iter_mut().for_each(|site| site.release());
        while self.sites.iter().any(|site| site.is_open()) {
            self.turn()?;
        }
        self.outlet.finish()?;
        Ok(self.outcome.clone())
    }

    /// Waits for something and deals with it.
    fn turn(&mut self) -> Result<()> {
        self.wait()?;
        while let Some(signal) = self.signals.as_ref().and_then(Signals::next) {
            match signal {
                Signal::Forward(signal) => self.tell_all(&Order::Signal(signal)),
                Signal::FromTerminal(signal) => self.on_terminal(signal),
            }
        }
        self.obey_handles();
        let mut reports = Vec::new();
        for home in 0..self.sites.len() {
            self.sites[home].advance(&mut reports);
            for report in reports.drain(..) {
                self.on_report(home, report)?;
            }
        }
        // Nobody has to wait in an exchange for a process that has ended.
        for process in self.roster.waiting_in_vain() {
            self.dismiss(process);
        }
        self.on_time();
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let of_sites = self.sites.iter().filter_map(|site| site.next_time());
        let timeout = of_sites.chain(self.next_time()).min().and_then(until);
        let mut fds = vec![PollFd::new(&self.desk, PollFlags::IN)];
        let signals = self.signals.iter();
        fds.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
        self.sites.iter().for_each(|site| site.add_to(&mut fds));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::system("wait for the processes", errno)),
        }
    }

    fn next_time(&self) -> Option<Instant> {
        match self.ending {
            Ending::No => self.deadline,
            Ending::KillAt(at) | Ending::AbandonAt(at) => Some(at),
            Ending::Abandoned => None,
        }
    }

    fn on_time(&mut self) {
        if self.next_time().is_none_or(|at| Instant::now() < at) {
            return;
        }
        match self.ending {
            Ending::No => {
                (self.listener)(&Notice::TimedOut);
                self.fail(TIMED_OUT, Notice::TimedOut.to_string());
            }
            Ending::KillAt(_) => self.kill_all(),
            Ending::AbandonAt(_) => {
                self.ending = Ending::Abandoned;
                self.sites.iter_mut().for_each(|site| site.abandon());
            }
            Ending::Abandoned => {}
        }
    }

    fn on_terminal(&mut self, signal: i32) {
        // Who asks twice means it.
        if signal == libc::SIGINT && self.ending != Ending::No {
            self.kill_all();
        } else if !self.share_terminal {
            self.tell_all(&Order::Signal(signal));
        }
    }

    fn on_report(&mut self, home: usize, report: Report) -> Result<()> {
        match report {
            Report::Output {
                process,
                is_error,
                bytes,
            } => self.outlet.write(process, is_error, &bytes)?,
            Report::Said { process, bytes } => {
                self.roster.process(process).talk.push(&bytes);
                if self.listen(process).is_err() {
                    let name = self.roster.process(process).name;
                    (self.listener)(&Notice::Nonsense {
                        process: format!("rank {name}"),
                    });
                    self.dismiss(process);
                }
            }
            Report::SaysNoMore { process } => self.end_exchange(process),
            Report::Started { process, pid } => {
                let host = self.sites[home].host().to_owned();
                self.settle(process, Ok(Child { host, pid }));
            }
            Report::NotStarted { process, why } => self.on_not_started(process, why),
            Report::Ended { process, pid, how } => {
                if how.status() != 0 {
                    let name = self.roster.process(process).name;
                    let who = outcome::describe(name, self.sites[home].host(), pid, how);
                    self.fail_first(who, how.status());
                }
            }
            Report::Lost { text } => {
                for process in self.roster.unsettled_at(home) {
                    self.settle(process, Err(not_started(UNREACHED, text.clone())));
                }
                self.fail_first(text, UNREACHED);
            }
        }
        Ok(())
    }

    /// Without one of those that it began with there is no job; a spawn is answered.
    fn on_not_started(&mut self, process: u32, why: NotStarted) {
        let is_of_the_first = self.roster.process(process).name.group == 0;
        self.settle(process, Err(why.clone()));
        if is_of_the_first {
            self.fail_first(why.reason, why.status);
        }
    }

    /// Takes in what a process has said.
    fn listen(&mut self, process: u32) -> std::result::Result<(), Nonsense> {
        while let Some(said) = self.roster.process(process).talk.next()? {
            match said {
                Said::Blob(blob) => self.exchange(process, blob),
                Said::Request { kind, payload } => self.on_request(process, kind, &payload)?,
            }
        }
        Ok(())
    }

    fn exchange(&mut self, process: u32, blob: Vec<u8>) {
        let Name { group, rank } = self.roster.process(process).name;
        let exchange = &mut self.roster.group(group).exchange;
        if let Some(all) = exchange.give(rank as usize, blob) {
            for process in self.roster.members(group) {
                self.tell(process, all.clone());
            }
        }
    }

    /// Nobody answers this process any more.
    fn dismiss(&mut self, process: u32) {
        self.end_exchange(process);
        let home = self.roster.process(process).home;
        self.sites[home].obey(&Order::Dismiss { process });
    }

    fn end_exchange(&mut self, process: u32) {
        let Name { group, rank } = self.roster.process(process).name;
        self.roster.group(group).exchange.end(rank as usize);
    }

    /// The first failure is the job's; those that follow from it are not worth a word.
    fn fail_first(&mut self, what: String, status: u8) {
        if self.ending == Ending::No {
            let ends_others = self.sites.iter().any(|site| site.is_running());
            (self.listener)(&Notice::Failed {
                what: what.clone(),
                ends_others,
            });
            self.fail(status, what);
        }
    }

    /// The job is lost: everybody is told to end.
    fn fail(&mut self, status: u8, what: String) {
        self.outcome = Outcome {
            status,
            failure: Some(what),
        };
        self.ending = Ending::KillAt(Instant::now() + GRACE);
        self.tell_all(&Order::Signal(libc::SIGTERM));
    }

    fn kill_all(&mut self) {
        self.ending = Ending::AbandonAt(Instant::now() + GRACE);
        self.tell_all(&Order::Signal(libc::SIGKILL));
    }

    /// Says something to a process.
    fn tell(&mut self, process: u32, bytes: Vec<u8>) {
        let home = self.roster.process(process).home;
        self.sites[home].obey(&Order::Answer { process, bytes });
    }

    fn tell_all(&mut self, order: &Order) {
        self.sites.iter_mut().for_each(|site| site.obey(order));
    }
}

impl Drop for Supervisor {
    /// Nothing of a job is left behind.
    fn drop(&mut self) {
        self.sites.iter_mut().for_each(|site| site.abandon());
    }
}

/// What is left of the time until then; `None` if that is for ever.
pub fn until(at: Instant) -> Option<Timespec> {
    Timespec::try_from(at.saturating_duration_since(Instant::now())).ok()
}
