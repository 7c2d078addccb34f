//! One connection to the agent: a request, its answer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use bcl_agent_messages::{Answer, MAX_BYTES, Request, VERSION};
use bcl_node::fdpass::{self, FdPassError};
use bcl_node::peer_credentials;
use bcl_os::Fd;
use bcl_os::ready::wait_for;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::AgentError;

/// Making a gigabyte of memory takes the kernel most of a second; beyond this somebody is stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A socket at whose other end is an agent that may be told secrets.
#[derive(Debug)]
pub(crate) struct Line {
    socket: Fd,
}

/// An answer, with what came beside it.
pub(crate) type Reply = (Answer, Vec<Fd>);

impl Line {
    /// Connects, and hears that the agent is ready, and at which interfaces.
    ///
    /// An agent at work greets at once, whatever it takes to do what it is asked for then.
    pub fn connect(path: &Path, patience: Duration) -> Result<(Line, Vec<String>), AgentError> {
        let line = Line::dial(path, Some(patience))?;
        let interfaces = check_greeting(line.hear(patience)?.0)?;
        Ok((line, interfaces))
    }

    /// Connects, if the agent takes the connection at once; it speaks first.
    pub fn dial_at_once(path: &Path) -> Result<Line, AgentError> {
        Line::dial(path, None)
    }

    fn dial(path: &Path, patience: Option<Duration>) -> Result<Line, AgentError> {
        let not_there = |source: io::Error| AgentError::NotThere {
            path: path.to_owned(),
            source,
        };
        let socket = match (dial(path, patience), patience) {
            // Others wait as well for it to take a connection.
            (Err(Errno::AGAIN), Some(time)) => return Err(AgentError::Silent { time }),
            (dialled, _) => dialled.map_err(|errno| not_there(errno.into()))?,
        };
        let uid = peer_credentials(&socket).map_err(not_there)?.uid;
        // AGENT-1.2
        if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            let path = path.to_owned();
            return Err(AgentError::Stranger { path, uid });
        }
        Ok(Line { socket })
    }

    /// Asks, and waits for the answer. [`FdPassError::Closed`] means that the agent has not seen the request.
    pub fn ask(&self, request: &Request) -> Result<Reply, AgentError> {
        self.ask_with(request, &[])
    }

    /// The same with descriptors beside the request.
    pub fn ask_with(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<Reply, AgentError> {
        self.say_with(request, fds)?;
        match self.hear(PATIENCE)? {
            (Answer::Failed(failure), _) => Err(AgentError::Refused(failure)),
            reply => Ok(reply),
        }
    }

    /// Sends a request; [`FdPassError::WouldBlock`] if there is no room for it.
    pub fn say(&self, request: &Request) -> Result<(), AgentError> {
        self.say_with(request, &[])
    }

    fn say_with(&self, request: &Request, fds: &[BorrowedFd<'_>]) -> Result<(), AgentError> {
        let datagram = bcl_agent_messages::write(request)?;
        Ok(fdpass::send(&self.socket, &datagram, fds)?)
    }

    /// What the agent has said, if it has.
    pub fn hear_at_once(&self) -> Result<Option<Reply>, AgentError> {
        let mut buffer = [0; MAX_BYTES];
        match fdpass::recv(&self.socket, &mut buffer) {
            Ok(received) if received.len_bytes == 0 => Err(AgentError::Gone),
            Ok(received) => {
                let answer = bcl_agent_messages::read(&buffer[..received.len_bytes])?;
                Ok(Some((answer, received.fds)))
            }
            Err(FdPassError::WouldBlock) => Ok(None),
            Err(FdPassError::Closed) => Err(AgentError::Gone),
            Err(error) => Err(error.into()),
        }
    }

    fn hear(&self, patience: Duration) -> Result<Reply, AgentError> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(reply) = self.hear_at_once()? {
                return Ok(reply);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(AgentError::Silent { time: patience });
            }
            wait_for([self.socket.as_fd()], Some(left)).map_err(FdPassError::System)?;
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Whether the agent is one that can be talked to; its interfaces.
pub(crate) fn check_greeting(greeting: Answer) -> Result<Vec<String>, AgentError> {
    match greeting {
        Answer::Ready {
            version: VERSION,
            interfaces,
            ..
        } => Ok(interfaces),
        Answer::Ready { version, agent, .. } => Err(AgentError::Version { agent, version }),
        Answer::Failed(failure) => Err(AgentError::Refused(failure)),
        other => Err(unexpected(&other)),
    }
}

/// An answer that does not belong to the request.
pub(crate) fn unexpected(answer: &Answer) -> AgentError {
    AgentError::Answer(format!("it does not belong to the request: {answer:?}"))
}

fn dial(path: &Path, patience: Option<Duration>) -> Result<Fd, Errno> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    let flags = match patience {
        Some(_) => SocketFlags::CLOEXEC,
        None => SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
    };
    let socket = Fd::make(|| rustix::net::socket_with(family, kind, flags, None))?;
    if patience.is_some() {
        set_socket_timeout(&socket, Timeout::Send, patience)?;
    }
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// An agent's socket, for so many connections that were not accepted.
#[cfg(test)]
pub(crate) fn listen_at(path: &Path, backlog: i32) -> std::os::fd::OwnedFd {
    let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::NONBLOCK);
    let listener = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(path).unwrap()).unwrap();
    rustix::net::listen(&listener, backlog).unwrap();
    listener
}

/// As one that is stopped: it says nothing, and then takes no connection either.
#[test]
fn an_agent_that_hangs_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.sock");
    let _listener = listen_at(&path, 0);
    let patience = Duration::from_millis(20);
    let begin = Instant::now();
    let waiting = std::iter::from_fn(|| Line::dial_at_once(&path).ok()).take(10);
    let waiting: Vec<Line> = waiting.collect();
    for _ in 0..2 {
        let silent = Line::connect(&path, patience).map(drop);
        assert!(
            matches!(silent, Err(AgentError::Silent { .. })),
            "{silent:?}"
        );
    }
    assert!(waiting.len() < 10 && begin.elapsed() < PATIENCE);
}
