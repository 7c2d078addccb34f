//! The processes of a job on this host: what they write and say becomes reports, and what they are told reaches them.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::{Duration, Instant};

use bcl::job::NotStarted;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::process::{Setting, Start, Started, Starter, Streams};
use crate::roster::not_started;
use crate::site::{Order, Report, Site};

/// Bytes taken from a stream at a time, so that no process can keep the others waiting.
const PORTION: usize = 64 << 10;
/// How often to look whether a process has ended where nothing says so.
const LOOK: Duration = Duration::from_millis(20);

/// The processes that this host has of a job.
pub struct Crew {
    setting: Setting,
    streams: Streams,
    members: Vec<Member>,
    /// So many, ever.
    started: usize,
    /// Not reported yet.
    news: Vec<Report>,
    host: String,
    /// While it is set, what the processes write stays in their pipes.
    pub holds_output: bool,
}

struct Member {
    process: u32,
    child: Child,
    is_running: bool,
    /// Its pidfd, which says when it has ended: no signal of this process is needed for that.
    end: Option<OwnedFd>,
    wire: Wire,
    streams: Vec<Stream>,
    input: Option<OwnedFd>,
}

/// Our end of BCL_LAUNCH_FD.
struct Wire {
    socket: UnixStream,
    outbox: Vec<u8>,
    is_over: bool,
    is_dismissed: bool,
}

/// Output that is passed on.
struct Stream {
    from: OwnedFd,
    is_error: bool,
    is_open: bool,
}

impl Crew {
    /// Nobody yet.
    pub fn new(setting: Setting, streams: Streams) -> Self {
        Self {
            setting,
            streams,
            members: Vec::new(),
            started: 0,
            news: Vec::new(),
            host: crate::machine::host_name(),
            holds_output: false,
        }
    }

    fn start(&mut self, start: &Start) {
        let starter = Starter {
            setting: &self.setting,
            streams: &self.streams,
            start,
        };
        for (process, name) in start.processes() {
            let started = starter.start(process, name, self.started);
            let member = started.and_then(|started| Member::new(process, started));
            self.news.push(match member {
                Ok(member) => {
                    let pid = member.child.id();
                    self.members.push(member);
                    self.started += 1;
                    Report::Started { process, pid }
                }
                Err(why) => Report::NotStarted { process, why },
            });
        }
    }

    /// The pipe to the first process of the job, if it runs here and reads one.
    pub fn take_input(&mut self) -> Option<OwnedFd> {
        let mut members = self.members.iter_mut();
        members.find_map(|member| member.input.take())
    }

    fn talk_to(&mut self, process: u32, say: impl FnOnce(&mut Wire)) {
        let mut members = self.members.iter_mut();
        if let Some(member) = members.find(|member| member.process == process) {
            say(&mut member.wire);
            member.wire.flush();
        }
    }

    fn signal(&self, signal: i32) {
        // Whether each leads a process group.
        let has_groups = matches!(self.streams, Streams::Piped);
        for member in self.members.iter().filter(|member| member.is_running) {
            let pid = member.child.id() as libc::pid_t;
            // SAFETY: kill touches no memory. The number is that of a child not yet waited for, so nobody
            // else has it, be it as a process or as a group.
            let _ = unsafe { libc::kill(if has_groups { -pid } else { pid }, signal) };
        }
    }
}

impl Site for Crew {
    fn add_to<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        for member in &self.members {
            if !member.wire.is_over {
                let mut wanted = PollFlags::IN;
                wanted.set(PollFlags::OUT, !member.wire.outbox.is_empty());
                fds.push(PollFd::new(&member.wire.socket, wanted));
            }
            let is_wanted = |stream: &&Stream| stream.is_open && !self.holds_output;
            let streams = member.streams.iter().filter(is_wanted);
            fds.extend(streams.map(|stream| PollFd::new(&stream.from, PollFlags::IN)));
            let end = member.end.as_ref().filter(|_| member.is_running);
            fds.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
        }
    }

    fn next_time(&self) -> Option<Instant> {
        if !self.news.is_empty() {
            return Some(Instant::now());
        }
        let mut running = self.members.iter().filter(|member| member.is_running);
        let has_unwatched = running.any(|member| member.end.is_none());
        has_unwatched.then(|| Instant::now() + LOOK)
    }

    fn advance(&mut self, reports: &mut Vec<Report>) {
        reports.append(&mut self.news);
        for member in &mut self.members {
            if !self.holds_output {
                for stream in &mut member.streams {
                    stream.read(member.process, PORTION, reports);
                }
            }
            member.wire.read(member.process, reports);
            member.wire.flush();
            member.reap(reports);
        }
        self.members.retain(Member::is_of_use);
    }

    fn obey(&mut self, order: &Order) {
        match order {
            Order::Start(start) => self.start(start),
            Order::Signal(signal) => self.signal(*signal),
            Order::Answer { process, bytes } => self.talk_to(*process, |wire| {
                wire.outbox.extend_from_slice(bytes);
            }),
            Order::Dismiss { process } => {
                self.talk_to(*process, |wire| wire.is_dismissed = true);
            }
        }
    }

    fn is_running(&self) -> bool {
        !self.news.is_empty() || self.members.iter().any(|member| member.is_running)
    }

    fn release(&mut self) {}

    fn is_open(&self) -> bool {
        self.is_running()
    }

    fn abandon(&mut self) {
        self.signal(libc::SIGKILL);
        for member in &mut self.members {
            let _ = member.child.wait();
            member.is_running = false;
        }
        self.news.clear();
    }

    fn host(&self) -> &str {
        &self.host
    }
}

impl Member {
    fn new(process: u32, mut started: Started) -> Result<Self, NotStarted> {
        if let Err(errno) = started.unblock() {
            let _ = started.child.kill();
            let _ = started.child.wait();
            return Err(not_started(
                1,
                format!("cannot use a pipe to a process: {errno}"),
            ));
        }
        let outputs = [(started.stdout, false), (started.stderr, true)];
        let streams = outputs.into_iter().filter_map(|(from, is_error)| {
            Some(Stream {
                from: from?,
                is_error,
                is_open: true,
            })
        });
        Ok(Self {
            process,
            end: pidfd(&started.child),
            child: started.child,
            is_running: true,
            wire: Wire {
                socket: started.launch,
                outbox: Vec::new(),
                is_over: false,
                is_dismissed: false,
            },
            streams: streams.collect(),
            input: started.stdin,
        })
    }

    /// Whether anything may still come from it.
    fn is_of_use(&self) -> bool {
        self.is_running || !self.wire.is_over || self.streams.iter().any(|stream| stream.is_open)
    }

    /// Reports its end, and before it all that still lies in its pipes.
    fn reap(&mut self, reports: &mut Vec<Report>) {
        if !self.is_running {
            return;
        }
        let Ok(Some(ended)) = self.child.try_wait() else {
            return;
        };
        self.is_running = false;
        for stream in &mut self.streams {
            stream.read(self.process, usize::MAX, reports);
        }
        reports.push(Report::Ended {
            process: self.process,
            pid: self.child.id(),
            how: ended.into(),
        });
    }
}

impl Wire {
    fn read(&mut self, process: u32, reports: &mut Vec<Report>) {
        let mut bytes = [0; 4096];
        while !self.is_over {
            match self.socket.read(&mut bytes) {
                Ok(len @ 1..) => reports.push(Report::Said {
                    process,
                    bytes: bytes[..len].to_vec(),
                }),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    self.is_over = true;
                    reports.push(Report::SaysNoMore { process });
                }
            }
        }
    }

    fn flush(&mut self) {
        while !self.outbox.is_empty() {
            match self.socket.write(&self.outbox) {
                Ok(len) => drop(self.outbox.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // It has ended, which is told elsewhere.
                Err(_) => self.outbox.clear(),
            }
        }
        if self.is_dismissed {
            let _ = self.socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Stream {
    /// Reads what is there, but not much more than `limit` bytes.
    fn read(&mut self, process: u32, limit: usize, reports: &mut Vec<Report>) {
        let mut buffer = [0; 16 << 10];
        let mut total = 0;
        while self.is_open && total < limit {
            match rustix::io::read(&self.from, &mut buffer) {
                Ok(len @ 1..) => {
                    total += len;
                    reports.push(Report::Output {
                        process,
                        is_error: self.is_error,
                        bytes: buffer[..len].to_vec(),
                    });
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Ok(0) | Err(_) => self.is_open = false,
            }
        }
    }
}

/// A sandbox may refuse it.
fn pidfd(child: &Child) -> Option<OwnedFd> {
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

impl Started {
    fn unblock(&self) -> Result<(), Errno> {
        let pipes = [&self.stdin, &self.stdout, &self.stderr];
        pipes.into_iter().flatten().try_for_each(unblocked)
    }
}

/// Makes reads and writes return instead of waiting.
pub fn unblocked(pipe: &OwnedFd) -> Result<(), Errno> {
    let flags = rustix::fs::fcntl_getfl(pipe)?;
    rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)
}
