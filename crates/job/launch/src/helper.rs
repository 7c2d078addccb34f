//! What a launcher starts on another host, as `bcl run-remote`. It starts the processes there, reports what happens
//! to them on its output, takes orders from its input, and ends them when its launcher is gone.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Instant;

use bcl::{Folder, detect_node};
use bcl_daemon::privileges::raise_descriptor_limit;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::crew::{Crew, unblocked};
use crate::error::{Error, Result};
use crate::hosts::frame::{Begin, Down, GREETING, Hello, Inbox, Message, Up};
use crate::hosts::pulse::Pulse;
use crate::process::Streams;
use crate::signals::Signals;
use crate::site::{Order, Site};
use crate::supervise::{GRACE, until};

/// Bytes that wait for a slow launcher before the processes' output stays in their pipes.
const BACKLOG_MAX: usize = 1 << 20;

/// Serves one launcher, over the standard streams, to the end. Call from the main thread, before any other starts.
pub fn serve() -> Result<()> {
    raise_descriptor_limit();
    let signals = Signals::take()?;
    let (from, to) = (own(rustix::stdio::stdin())?, own(rustix::stdio::stdout())?);
    let mut helper = Helper {
        signals,
        from: Some(from),
        to: Some(to),
        inbox: Inbox::greeted(),
        outbox: GREETING.to_vec(),
        crew: None,
        folder: Folder::default_path(),
        input: Input::default(),
        pulse: None,
        kill_at: None,
        is_done: false,
    };
    helper.say(&Up::Hello(Hello {
        version: env!("CARGO_PKG_VERSION").into(),
        host: crate::machine::host_name(),
        node: detect_node()
            .map(|(node, _)| node.to_string())
            .map_err(|error| error.to_string()),
    }));
    while !helper.is_over() {
        helper.turn()?;
    }
    if let Ok(folder) = Folder::open(&helper.folder) {
        // What was killed could not take its names with it. That some may stay is no reason to fail.
        let _ = folder.sweep();
    }
    Ok(())
}

struct Helper {
    signals: Signals,
    /// From the launcher, until it is gone.
    from: Option<OwnedFd>,
    to: Option<OwnedFd>,
    inbox: Inbox,
    outbox: Vec<u8>,
    crew: Option<Crew>,
    /// Where the ports of the processes are.
    folder: PathBuf,
    input: Input,
    /// Runs from the moment the processes are to start.
    pulse: Option<Pulse>,
    /// When those that were told to end are killed.
    kill_at: Option<Instant>,
    /// Whether the launcher will want nothing more.
    is_done: bool,
}

/// What rank 0 is given to read.
#[derive(Default)]
struct Input {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Helper {
    fn is_over(&self) -> bool {
        let is_running = self.crew.as_ref().is_some_and(Site::is_running);
        match self.to {
            Some(_) => self.is_done && !is_running && self.outbox.is_empty(),
            None => !is_running,
        }
    }

    fn turn(&mut self) -> Result<()> {
        self.wait()?;
        while self.signals.next().is_some() {
            self.lose_launcher();
        }
        self.read();
        self.beat();
        self.advance_crew();
        self.feed();
        self.flush();
        if self.kill_at.is_some_and(|at| Instant::now() >= at) {
            self.kill_at = None;
            self.order(&Order::Signal(libc::SIGKILL));
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        let is_behind = self.outbox.len() >= BACKLOG_MAX;
        let mut fds = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if let Some(from) = &self.from {
            fds.push(PollFd::new(from, PollFlags::IN));
        }
        if let (Some(to), false) = (&self.to, self.outbox.is_empty()) {
            fds.push(PollFd::new(to, PollFlags::OUT));
        }
        if let (Some(pipe), false) = (&self.input.pipe, self.input.bytes.is_empty()) {
            fds.push(PollFd::new(pipe, PollFlags::OUT));
        }
        if let Some(crew) = &mut self.crew {
            crew.holds_output = is_behind;
        }
        let crew = self.crew.as_ref();
        if let Some(crew) = crew {
            crew.add_to(&mut fds);
        }
        let beat = self.pulse.as_ref().filter(|_| self.to.is_some());
        let times = [
            self.kill_at,
            beat.map(Pulse::next_time),
            crew.and_then(Site::next_time),
        ];
        let timeout = times.into_iter().flatten().min().and_then(until);
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::system("wait for the processes", errno)),
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; 16 << 10];
        while let Some(from) = &self.from {
            match rustix::io::read(from, &mut buffer) {
                Ok(len @ 1..) => {
                    self.inbox.push(&buffer[..len]);
                    if let Some(pulse) = &mut self.pulse {
                        pulse.hear();
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // What it said before it went, nobody waits for.
                Ok(0) | Err(_) => return self.lose_launcher(),
            }
        }
        match self.inbox.take() {
            Ok(messages) => messages
                .into_iter()
                .for_each(|message| self.on_message(message)),
            Err(_) => self.lose_launcher(),
        }
    }

    fn beat(&mut self) {
        let Some(pulse) = &mut self.pulse else {
            return;
        };
        if pulse.is_lost() {
            self.lose_launcher();
        } else if pulse.is_due() {
            self.say(&Up::Alive);
        }
    }

    fn on_message(&mut self, message: Down) {
        match message {
            Down::Alive => {}
            Down::Begin(begin) if self.crew.is_none() => self.begin(*begin),
            Down::Begin(_) => self.lose_launcher(),
            Down::Order(order) => self.order(&order),
            Down::Input(bytes) => self.input.bytes.extend(bytes),
            Down::InputEnd => self.input.has_ended = true,
            Down::End => self.is_done = true,
        }
    }

    fn begin(&mut self, begin: Begin) {
        self.pulse = Some(Pulse::new(begin.patience));
        let folder = begin
            .setting
            .environment
            .iter()
            .find(|(name, _)| name == "BCL_DIR");
        if let Some((_, folder)) = folder {
            self.folder = folder.into();
        }
        self.crew = Some(Crew::new(begin.setting, Streams::Piped));
    }

    fn advance_crew(&mut self) {
        let Some(crew) = &mut self.crew else {
            return;
        };
        let mut reports = Vec::new();
        crew.advance(&mut reports);
        for report in reports {
            self.say(&Up::Report(report));
        }
    }

    /// Gives rank 0 its input. What it does not want is thrown away.
    fn feed(&mut self) {
        let input = &mut self.input;
        let mut taken = 0;
        while !input.bytes.is_empty() {
            let written = match &input.pipe {
                Some(pipe) => rustix::io::write(pipe, &input.bytes),
                None => Ok(input.bytes.len()),
            };
            match written {
                Ok(len) => {
                    input.bytes.drain(..len);
                    taken += len as u32;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => input.pipe = None,
            }
        }
        if input.has_ended && input.bytes.is_empty() {
            input.pipe = None;
        }
        if taken > 0 {
            self.say(&Up::InputTaken(taken));
        }
    }

    fn order(&mut self, order: &Order) {
        if let Some(crew) = &mut self.crew {
            crew.obey(order);
            if let Some(pipe) = crew.take_input() {
                self.input.pipe = Some(pipe);
            }
        }
    }

    fn say(&mut self, message: &Up) {
        if self.to.is_some() {
            self.outbox.extend(message.to_frame());
        }
    }

    fn flush(&mut self) {
        while let (Some(to), false) = (&self.to, self.outbox.is_empty()) {
            match rustix::io::write(to, &self.outbox) {
                Ok(len) => drop(self.outbox.drain(..len)),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => self.lose_launcher(),
            }
        }
    }

    /// Without its launcher the job is over: the processes are told to end, and killed if they do not.
    fn lose_launcher(&mut self) {
        if self.to.take().is_some() {
            self.from = None;
            self.outbox.clear();
            self.kill_at = Some(Instant::now() + GRACE);
            self.order(&Order::Signal(libc::SIGTERM));
        }
    }
}

/// A standard stream that does not make us wait.
fn own(stream: BorrowedFd<'_>) -> Result<OwnedFd> {
    let own = stream.as_fd().try_clone_to_owned();
    let own = own.map_err(|error| Error::system("use a standard stream", error))?;
    unblocked(&own).map_err(|errno| Error::system("use a standard stream", errno))?;
    Ok(own)
}
