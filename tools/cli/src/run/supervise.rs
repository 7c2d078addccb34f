//! Looking after the processes of a job: one loop that waits for signals, output and exchanges.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Arguments;
use super::exchange::Exchange;
use super::launch::{Launcher, Started};
use super::lines::Lines;
use super::outcome;
use super::signals::{Signal, Signals};
use crate::failure::{Failure, Result};

/// What a process that was told to end may take for it.
const GRACE: Duration = Duration::from_secs(2);
/// Status after `--timeout`, as `timeout(1)` has it.
const TIMED_OUT: u8 = 124;

/// See the module.
pub struct Supervisor {
    signals: Signals,
    ranks: Vec<Rank>,
    exchange: Exchange,
    /// When the job has lasted long enough.
    deadline: Option<Instant>,
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
    Killed,
}

struct Rank {
    child: Child,
    is_running: bool,
    launch: UnixStream,
    streams: Vec<Stream>,
}

/// Output that is passed on.
struct Stream {
    from: OwnedFd,
    lines: Lines,
    is_error: bool,
    is_open: bool,
}

impl Supervisor {
    pub fn new(arguments: &Arguments, signals: Signals) -> Self {
        Self {
            signals,
            ranks: Vec::new(),
            exchange: Exchange::new(arguments.processes as usize),
            deadline: arguments
                .timeout
                .and_then(|timeout| Instant::now().checked_add(timeout)),
            status: 0,
            ending: Ending::No,
        }
    }

    /// Starts all processes and returns when the last has ended, with the status of the job.
    pub fn run(mut self, launcher: &Launcher<'_>) -> Result<u8> {
        let outcome = self.start_all(launcher).and_then(|()| {
            while self.ranks.iter().any(|rank| rank.is_running) {
                self.turn()?;
            }
            self.finish_output()
        });
        if outcome.is_err() {
            self.kill_all();
            for rank in &mut self.ranks {
                let _ = rank.child.wait();
            }
        }
        outcome.map(|()| self.status)
    }

    fn start_all(&mut self, launcher: &Launcher<'_>) -> Result<()> {
        for rank in 0..self.exchange.size() {
            let started = launcher.start(rank as u32)?;
            self.ranks.push(Rank::new(rank, started)?);
        }
        Ok(())
    }

    /// Waits for something and deals with it.
    fn turn(&mut self) -> Result<()> {
        self.wait()?;
        while let Some(signal) = self.signals.next() {
            self.on_signal(signal);
        }
        for rank in 0..self.ranks.len() {
            self.pass_output_on(rank)?;
            self.talk(rank);
        }
        self.release_the_hopeless();
        self.on_time();
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let timeout = self.next_time().map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            }
        });
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        for (number, rank) in self.ranks.iter().enumerate() {
            if !self.exchange.is_over(number) {
                let mut wanted = PollFlags::IN;
                wanted.set(PollFlags::OUT, self.exchange.has_outbox(number));
                fds.push(PollFd::new(&rank.launch, wanted));
            }
            let open = rank.streams.iter().filter(|stream| stream.is_open);
            fds.extend(open.map(|stream| PollFd::new(&stream.from, PollFlags::IN)));
        }
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Failure::system("wait for the processes", errno)),
        }
    }

    fn next_time(&self) -> Option<Instant> {
        match self.ending {
            Ending::No => self.deadline,
            Ending::KillAt(at) => Some(at),
            Ending::Killed => None,
        }
    }

    fn on_time(&mut self) {
        let is_due = self.next_time().is_some_and(|at| Instant::now() >= at);
        match self.ending {
            Ending::No if is_due => {
                eprintln!("bcl: the job has reached its --timeout; ending it");
                self.fail(TIMED_OUT);
            }
            Ending::KillAt(_) if is_due => self.kill_all(),
            _ => {}
        }
    }

    fn on_signal(&mut self, signal: Signal) {
        match signal {
            Signal::Child => self.reap(),
            Signal::Forward(signal) => self.signal_all(signal),
            // Who asks twice means it.
            Signal::FromTerminal(libc::SIGINT) if self.ending != Ending::No => self.kill_all(),
            Signal::FromTerminal(_) => {}
        }
    }

    fn reap(&mut self) {
        for number in 0..self.ranks.len() {
            let rank = &mut self.ranks[number];
            if !rank.is_running {
                continue;
            }
            let Ok(Some(ended)) = rank.child.try_wait() else {
                continue;
            };
            rank.is_running = false;
            if !ended.success() && self.ending == Ending::No {
                let who = outcome::describe(number, self.ranks[number].child.id(), ended);
                let others = self.ranks.iter().any(|rank| rank.is_running);
                let then = if others { "; ending the others" } else { "" };
                eprintln!("bcl: {who}{then}");
                self.fail(outcome::status(ended));
            }
        }
    }

    /// The job is lost: everybody is told to end.
    fn fail(&mut self, status: u8) {
        self.status = status;
        self.ending = Ending::KillAt(Instant::now() + GRACE);
        self.signal_all(libc::SIGTERM);
    }

    fn kill_all(&mut self) {
        self.ending = Ending::Killed;
        self.signal_all(libc::SIGKILL);
    }

    fn signal_all(&self, signal: libc::c_int) {
        for rank in self.ranks.iter().filter(|rank| rank.is_running) {
            // SAFETY: kill touches no memory. The number is that of a child not yet waited for, so nobody
            // else has it.
            let _ = unsafe { libc::kill(rank.child.id() as libc::pid_t, signal) };
        }
    }

    fn pass_output_on(&mut self, rank: usize) -> Result<()> {
        let streams = &mut self.ranks[rank].streams;
        streams.iter_mut().try_for_each(Stream::pass_on)
    }

    /// What processes wrote just before they ended still lies in the pipes.
    fn finish_output(&mut self) -> Result<()> {
        let mut streams = self.ranks.iter_mut().flat_map(|rank| &mut rank.streams);
        streams.try_for_each(|stream| {
            stream.pass_on()?;
            let rest = stream.lines.finish();
            stream.show(&rest)
        })
    }

    /// Exchanges bytes with a process as far as its socket takes and has them.
    fn talk(&mut self, rank: usize) {
        let exchange = &mut self.exchange;
        if exchange.is_over(rank) {
            return;
        }
        let mut launch = &self.ranks[rank].launch;
        let mut bytes = [0; 4096];
        let is_over = loop {
            match launch.read(&mut bytes) {
                Ok(0) => break true,
                Ok(len) => {
                    if exchange.take_in(rank, &bytes[..len]).is_err() {
                        eprintln!("bcl: rank {rank} uses BCL_LAUNCH_FD for something else");
                        break true;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break error.kind() != ErrorKind::WouldBlock,
            }
        };
        if is_over {
            exchange.end(rank);
        }
        for rank in 0..self.ranks.len() {
            let outbox = exchange.outbox(rank);
            while !outbox.is_empty() {
                match (&self.ranks[rank].launch).write(outbox) {
                    Ok(len) => drop(outbox.drain(..len)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // It has ended, which is told elsewhere.
                    Err(_) => outbox.clear(),
                }
            }
        }
    }

    /// Nobody has to wait in an exchange for a process that has ended.
    fn release_the_hopeless(&mut self) {
        for rank in self.exchange.waiting_in_vain() {
            let _ = self.ranks[rank].launch.shutdown(std::net::Shutdown::Both);
            self.exchange.end(rank);
        }
    }
}

impl Rank {
    fn new(rank: usize, started: Started) -> Result<Self> {
        let stream =
            |from: Option<OwnedFd>, is_error| from.map(|from| Stream::new(rank, from, is_error));
        let streams = [stream(started.stdout, false), stream(started.stderr, true)];
        Ok(Self {
            child: started.child,
            is_running: true,
            launch: started.launch,
            streams: streams.into_iter().flatten().collect::<Result<_>>()?,
        })
    }
}

impl Stream {
    fn new(rank: usize, from: OwnedFd, is_error: bool) -> Result<Self> {
        rustix::fs::fcntl_getfl(&from)
            .and_then(|flags| rustix::fs::fcntl_setfl(&from, flags | OFlags::NONBLOCK))
            .map_err(|errno| Failure::system("read the output of a process", errno))?;
        Ok(Self {
            from,
            lines: Lines::new(rank),
            is_error,
            is_open: true,
        })
    }

    /// Reads what is there and shows the lines that are whole.
    fn pass_on(&mut self) -> Result<()> {
        let mut bytes = [0; 16 << 10];
        while self.is_open {
            match rustix::io::read(self.from.as_fd(), &mut bytes) {
                Ok(0) => self.is_open = false,
                Ok(len) => {
                    let ready = self.lines.push(&bytes[..len]);
                    self.show(&ready)?;
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(_) => self.is_open = false,
            }
        }
        Ok(())
    }

    fn show(&self, ready: &[u8]) -> Result<()> {
        let written = match self.is_error {
            true => std::io::stderr().lock().write_all(ready),
            false => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(ready).and_then(|()| stdout.flush())
            }
        };
        written.map_err(crate::failure::output)
    }
}
