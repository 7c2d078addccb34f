//! Looking after a job, wherever its processes run: exchanges, output, signals, and what happens when one fails.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::error::{Error, Result, UNREACHED};
use crate::exchange::Exchange;
use crate::outcome;
use crate::outlet::Outlet;
use crate::signals::{Signal, Signals};
use crate::site::{Order, Report, Site};

/// What a process that was told to end may take for it.
pub const GRACE: Duration = Duration::from_secs(2);
/// Status after `--timeout`, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

/// A job from its start to its end, whatever sites its processes are at.
pub struct Supervisor<'a> {
    signals: &'a Signals,
    sites: Vec<Box<dyn Site>>,
    /// In which of them each rank runs.
    homes: Vec<usize>,
    exchange: Exchange,
    outlet: Outlet,
    /// When the job has lasted long enough.
    deadline: Option<Instant>,
    /// Whether a Ctrl-C reaches the processes without our help.
    share_terminal: bool,
    /// What the job is worth so far; the first failure counts.
    status: u8,
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

impl<'a> Supervisor<'a> {
    pub fn new(
        deadline: Option<Instant>,
        signals: &'a Signals,
        sites: Vec<Box<dyn Site>>,
        homes: Vec<usize>,
        outlet: Outlet,
    ) -> Self {
        Self {
            signals,
            sites,
            exchange: Exchange::new(homes.len()),
            homes,
            outlet,
            deadline,
            share_terminal: false,
            status: 0,
            ending: Ending::No,
        }
    }

    /// The processes belong to the process group of the terminal, which signals all of them itself.
    pub fn sharing_the_terminal(self) -> Self {
        Self {
            share_terminal: true,
            ..self
        }
    }

    /// Returns when the last process has ended, with the status of the job.
    pub fn run(mut self) -> Result<u8> {
        let outcome = self.run_to_end();
        if outcome.is_err() {
            self.sites.iter_mut().for_each(|site| site.abandon());
        }
        outcome.map(|()| self.status)
    }

    fn run_to_end(&mut self) -> Result<()> {
        while self.sites.iter().any(|site| site.is_running()) {
            self.turn()?;
        }
        self.outlet.finish()
    }

    /// Waits for something and deals with it.
    fn turn(&mut self) -> Result<()> {
        self.wait()?;
        let mut has_child_ended = false;
        while let Some(signal) = self.signals.next() {
            match signal {
                Signal::Child => has_child_ended = true,
                Signal::Forward(signal) => self.tell_all(&Order::Signal(signal)),
                Signal::FromTerminal(signal) => self.on_terminal(signal),
            }
        }
        let mut reports = Vec::new();
        for site in &mut self.sites {
            site.advance(has_child_ended, &mut reports)?;
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
        let mut fds = vec![PollFd::new(self.signals, PollFlags::IN)];
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
                eprintln!("bcl: the job has reached its --timeout; ending it");
                self.fail(TIMED_OUT);
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
                    eprintln!("bcl: rank {rank} uses BCL_LAUNCH_FD for something else");
                    self.dismiss(rank as usize);
                }
            }
            Report::SaysNoMore { rank } => self.exchange.end(rank as usize),
            Report::Ended { rank, pid, how } => {
                if how.status() != 0 {
                    let host = self.sites[self.homes[rank as usize]].host();
                    let who = outcome::describe(rank, host, pid, how);
                    self.fail_first(&who, how.status());
                }
            }
            Report::CannotStart { text, status } => self.fail_first(&text, status),
            Report::Lost { text } => self.fail_first(&text, UNREACHED),
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
    fn fail_first(&mut self, what: &str, status: u8) {
        if self.ending == Ending::No {
            let others = self.sites.iter().any(|site| site.is_running());
            let then = if others { "; ending the others" } else { "" };
            eprintln!("bcl: {what}{then}");
            self.fail(status);
        }
    }

    /// The job is lost: everybody is told to end.
    fn fail(&mut self, status: u8) {
        self.status = status;
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

/// What is left of the time until then.
pub fn until(at: Instant) -> Timespec {
    let left = at.saturating_duration_since(Instant::now());
    Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}
