//! Looking after a job, wherever its processes run: exchanges, output, signals, and what happens when one fails.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result, UNREACHED};
use crate::exchange::Exchange;
use crate::launch::Launch;
use crate::notice::{Listener, Notice, Outcome};
use crate::outcome;
use crate::outlet::Outlet;
use crate::signals::{Signal, Signals};
use crate::site::{Order, Report, Site};

/// What a process that was told to end may take for it.
pub const GRACE: Duration = Duration::from_secs(2);
/// Status after `--timeout`, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

/// See the module.
pub struct Supervisor {
    signals: Option<Signals>,
    listener: Listener,
    sites: Vec<Box<dyn Site>>,
    /// In which of them each rank runs.
    homes: Vec<usize>,
    exchange: Exchange,
    outlet: Outlet,
    /// When the job has lasted long enough.
    deadline: Option<Instant>,
    /// Whether a Ctrl-C reaches the processes without our help.
    share_terminal: bool,
    /// So far; the first failure counts.
    outcome: Outcome,
    ending: Ending,
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
    pub fn new(
        launch: Launch,
        sites: Vec<Box<dyn Site>>,
        homes: Vec<usize>,
        outlet: Outlet,
    ) -> Self {
        Self {
            deadline: launch.deadline(),
            signals: launch.signals,
            listener: launch.listener,
            sites,
            exchange: Exchange::new(homes.len()),
            homes,
            outlet,
            share_terminal: false,
            outcome: Outcome {
                status: 0,
                failure: None,
            },
            ending: Ending::No,
        }
    }

    /// The processes belong to the process group of the terminal, which signals all of them itself.
    pub fn sharing_the_terminal(mut self) -> Self {
        self.share_terminal = true;
        self
    }

    /// Returns when the last process has ended.
    pub fn run(&mut self) -> Result<Outcome> {
        while self.sites.iter().any(|site| site.is_running()) {
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
        let mut reports = Vec::new();
        for site in &mut self.sites {
            site.advance(&mut reports);
        }
        for report in reports {
            self.on_report(report)?;
        }
        self.answer();
        self.on_time();
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let of_sites = self.sites.iter().filter_map(|site| site.next_time());
        let timeout = of_sites.chain(self.next_time()).min().map(until);
        let signals = self.signals.iter();
        let mut fds: Vec<_> = signals
            .map(|signals| PollFd::new(signals, PollFlags::IN))
            .collect();
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

    fn on_report(&mut self, report: Report) -> Result<()> {
        match report {
            Report::Output {
                rank,
                is_error,
                bytes,
            } => self.outlet.write(rank as usize, is_error, &bytes)?,
            Report::Said { rank, bytes } => {
                let is_blob = self.exchange.take_in(rank as usize, &bytes);
                if is_blob.is_err() {
                    (self.listener)(&Notice::Nonsense {
                        process: format!("rank {rank}"),
                    });
                    self.dismiss(rank as usize);
                }
            }
            Report::SaysNoMore { rank } => self.exchange.end(rank as usize),
            Report::Ended { rank, pid, how } => {
                if how.status() != 0 {
                    let host = self.sites[self.homes[rank as usize]].host();
                    let who = outcome::describe(rank, host, pid, how);
                    self.fail_first(who, how.status());
                }
            }
            Report::CannotStart { text, status } => self.fail_first(text, status),
            Report::Lost { text } => self.fail_first(text, UNREACHED),
        }
        Ok(())
    }

    /// Sends what is to be sent in exchanges. Nobody has to wait there for a process that has ended.
    fn answer(&mut self) {
        for rank in 0..self.exchange.size() {
            if self.exchange.has_outbox(rank) {
                let bytes = std::mem::take(self.exchange.outbox(rank));
                self.tell(
                    rank,
                    &Order::Answer {
                        rank: rank as u32,
                        bytes,
                    },
                );
            }
        }
        for rank in self.exchange.waiting_in_vain() {
            self.dismiss(rank);
        }
    }

    fn dismiss(&mut self, rank: usize) {
        self.exchange.end(rank);
        self.tell(rank, &Order::Dismiss { rank: rank as u32 });
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

    fn tell(&mut self, rank: usize, order: &Order) {
        self.sites[self.homes[rank]].obey(order);
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

/// What is left of the time until then.
pub fn until(at: Instant) -> Timespec {
    let left = at.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}
