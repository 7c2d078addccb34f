//! The connection to the helper on a host: the streams of a remote shell.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use super::frame::{Begin, Down, Hello, Inbox, Message, Up};
use super::pulse::Pulse;
use crate::crew::unblocked;
use crate::error::{Error, Result};
use crate::name::Name;
use crate::process::Start;
use crate::site::{Order, Report, Site};

/// Bytes read at a time, so that no host can keep the others waiting.
const PORTION: usize = 1 << 20;
/// Input under way to rank 0: it may be slow to read, and nobody gathers what it does not want.
const INPUT_WINDOW: usize = 256 << 10;
/// How long a remote shell may take to end after its streams have.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process that is given the input.
const FIRST: u32 = 0;

/// A host's helper, by the shell that reaches it.
pub struct Link {
    /// As the user has named it.
    host: String,
    /// The command that was started, for messages.
    shell: String,
    child: Child,
    to: Option<OwnedFd>,
    from: OwnedFd,
    outbox: Vec<u8>,
    inbox: Inbox,
    is_open: bool,
    hello: Option<Hello>,
    /// All that were ever to be started there.
    processes: BTreeSet<u32>,
    /// Those that have not ended.
    left: BTreeMap<u32, Name>,
    /// Standard input, if it goes to rank 0 and rank 0 is there.
    has_input: bool,
    input_under_way: usize,
    /// Runs from the moment the processes are to start.
    pulse: Option<Pulse>,
}

impl Link {
    /// Starts the helper.
    pub fn open(host: &str, mut shell: Command) -> Result<Self> {
        let name = shell.get_program().to_string_lossy().into_owned();
        // In a process group of its own: a Ctrl-C is for the launcher, which passes it on.
        shell
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = shell.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Configuration(format!(
                "cannot start {name} to reach host {host}: there is no such program; install it (Debian: \
                 openssh-client), or name another one with --launcher or BCL_LAUNCHER"
            )),
            _ => Error::system(format_args!("start {name} to reach host {host}"), error),
        })?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for as pipes");
        };
        let (to, from) = (OwnedFd::from(to), OwnedFd::from(from));
        unblocked(&to)
            .and_then(|()| unblocked(&from))
            .map_err(|errno| Error::system("use a pipe to a remote shell", errno))?;
        Ok(Self {
            host: host.to_owned(),
            shell: name,
            child,
            to: Some(to),
            from,
            outbox: Vec::new(),
            inbox: Inbox::default(),
            is_open: true,
            hello: None,
            processes: BTreeSet::new(),
            left: BTreeMap::new(),
            has_input: false,
            input_under_way: 0,
            pulse: None,
        })
    }

    /// What the helper has said of itself, once it has.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.as_ref()
    }

    /// Tells the helper what it has to know before it starts anything.
    pub fn begin(&mut self, begin: Begin) {
        self.pulse = Some(Pulse::new(begin.patience));
        self.say(&Down::Begin(Box::new(begin)));
    }

    fn start(&mut self, start: &Start) {
        self.processes
            .extend(start.processes().map(|(process, _)| process));
        self.left.extend(start.processes());
        if start.processes().any(|(process, _)| process == FIRST) {
            self.has_input = true;
            if is_in_background() {
                self.end_input();
            }
        }
    }

    fn say(&mut self, message: &Down) {
        if self.to.is_some() {
            self.outbox.extend(message.to_frame());
            self.flush();
        }
    }

    fn flush(&mut self) {
        while let (Some(to), false) = (&self.to, self.outbox.is_empty()) {
            match rustix::io::write(to, &self.outbox) {
                Ok(len) => drop(self.outbox.drain(..len)),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                // Why, the other direction tells.
                Err(_) => {
                    self.outbox.clear();
                    self.to = None;
                }
            }
        }
    }

    fn wants_input(&self) -> bool {
        self.has_input && self.is_open && self.input_under_way < INPUT_WINDOW
    }

    /// Reads standard input if there is some. It may be a terminal, whose settings are not ours to change.
    fn pass_input_on(&mut self) {
        let mut bytes = [0; 16 << 10];
        let is_ready = self.wants_input() && {
            let mut fds = [PollFd::from_borrowed_fd(
                rustix::stdio::stdin(),
                PollFlags::IN,
            )];
            let now = rustix::event::Timespec::default();
            rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
        };
        if !is_ready {
            return;
        }
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(len @ 1..) => {
                self.input_under_way += len;
                self.say(&Down::Input(bytes[..len].to_vec()));
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(0) | Err(_) => self.end_input(),
        }
    }

    fn end_input(&mut self) {
        self.has_input = false;
        self.say(&Down::InputEnd);
    }

    fn read(&mut self, reports: &mut Vec<Report>) {
        let mut buffer = [0; 16 << 10];
        let mut total = 0;
        while self.is_open && total < PORTION {
            match rustix::io::read(&self.from, &mut buffer) {
                Ok(len @ 1..) => {
                    total += len;
                    if let Some(pulse) = &mut self.pulse {
                        pulse.hear();
                    }
                    self.inbox.push(&buffer[..len]);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Ok(0) | Err(_) => self.is_open = false,
            }
        }
        match self.inbox.take() {
            Ok(messages) if messages.iter().all(|message| self.may_say(message)) => messages
                .into_iter()
                .for_each(|message| self.on_message(message, reports)),
            _ => {
                self.is_open = false;
                reports.push(Report::Lost {
                    text: format!(
                        "host {} says something that is not from bcl run-remote",
                        self.host
                    ),
                });
            }
        }
        if !self.is_open {
            self.on_end(reports);
        }
    }

    /// Keeps the helper sure of us, and finds out if it or the way to it is gone.
    fn beat(&mut self, reports: &mut Vec<Report>) {
        let Some(pulse) = &mut self.pulse else {
            return;
        };
        if pulse.is_lost() {
            self.is_open = false;
            self.on_end(reports);
        } else if pulse.is_due() {
            self.say(&Down::Alive);
        }
    }

    /// Whether it speaks of its own processes only.
    fn may_say(&self, message: &Up) -> bool {
        let Up::Report(report) = message else {
            return true;
        };
        match report {
            Report::Output { process, .. }
            | Report::Said { process, .. }
            | Report::SaysNoMore { process }
            | Report::Started { process, .. }
            | Report::NotStarted { process, .. }
            | Report::Ended { process, .. } => self.processes.contains(process),
            Report::Lost { .. } => false,
        }
    }

    fn on_message(&mut self, message: Up, reports: &mut Vec<Report>) {
        match message {
            Up::Hello(hello) => self.hello = Some(hello),
            Up::Alive => {}
            Up::InputTaken(len) => {
                self.input_under_way = self.input_under_way.saturating_sub(len as usize);
            }
            Up::Report(mut report) => {
                if let Report::Ended { process, .. } | Report::NotStarted { process, .. } = &report
                {
                    self.left.remove(process);
                }
                if let Report::NotStarted { why, .. } = &mut report {
                    why.reason = format!("host {}: {}", self.host, why.reason);
                }
                reports.push(report);
            }
        }
    }

    /// The streams have ended: as they should, or not.
    fn on_end(&mut self, reports: &mut Vec<Report>) {
        self.to = None;
        let status = self.end_shell();
        if self.hello.is_none() {
            let shell = &self.shell;
            reports.push(Report::Lost {
                text: format!(
                    "cannot reach host {0}: {shell} ended with {status} before bcl answered there; does `{shell} {0} \
                     true` work, and is bcl installed there in the same place (else: --remote-bcl)?",
                    self.host
                ),
            });
        } else if !self.left.is_empty() {
            let ranks: Vec<_> = self.left.values().map(Name::to_string).collect();
            reports.push(Report::Lost {
                text: format!(
                    "the connection to host {} is lost ({} ended with {status}), and rank {} with it",
                    self.host,
                    self.shell,
                    ranks.join(", ")
                ),
            });
            self.left.clear();
        }
    }

    /// Waits a while for the end of the remote shell, then no longer.
    fn end_shell(&mut self) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return in_words(status),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return "no status".into();
                }
            }
        }
    }
}

impl Site for Link {
    fn add_to<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        if self.is_open {
            fds.push(PollFd::new(&self.from, PollFlags::IN));
        }
        if let (Some(to), false) = (&self.to, self.outbox.is_empty()) {
            fds.push(PollFd::from_borrowed_fd(to.as_fd(), PollFlags::OUT));
        }
        if self.wants_input() {
            fds.push(PollFd::from_borrowed_fd(
                rustix::stdio::stdin(),
                PollFlags::IN,
            ));
        }
    }

    fn next_time(&self) -> Option<Instant> {
        let pulse = self.pulse.as_ref().filter(|_| self.is_open);
        pulse.map(Pulse::next_time)
    }

    fn advance(&mut self, reports: &mut Vec<Report>) {
        if self.is_open {
            self.flush();
            self.read(reports);
            self.pass_input_on();
        }
        if self.is_open {
            self.beat(reports);
        }
    }

    fn obey(&mut self, order: &Order) {
        self.say(&Down::Order(order.clone()));
        if let Order::Start(start) = order {
            self.start(start);
        }
    }

    fn is_running(&self) -> bool {
        self.is_open && !self.left.is_empty()
    }

    fn release(&mut self) {
        self.say(&Down::End);
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    /// The helper ends its processes when its launcher is gone; the shell on our side ends now.
    fn abandon(&mut self) {
        self.to = None;
        if self.is_open {
            self.is_open = false;
            let _ = self.end_shell();
        }
    }

    fn host(&self) -> &str {
        match &self.hello {
            Some(hello) => &hello.host,
            None => &self.host,
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Whether a terminal is ours to watch, but not to read: whoever reads it from the background is stopped.
fn is_in_background() -> bool {
    let stdin = rustix::stdio::stdin();
    rustix::termios::tcgetpgrp(stdin).is_ok_and(|group| group != rustix::process::getpgrp())
}
/// `status 255`, `signal 9`.
fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => format!("signal {signal}"),
        (code, _) => format!("status {}", code.unwrap_or(1)),
    }
}
