//! One connection to the agent: a request, its answer.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use bcl_node::fdpass::{self, FdPassError};
use bcl_node::peer_credentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::AgentError;
use crate::message::{self, Answer, MAX_ANSWER_BYTES, Request, VERSION};

/// Making a gigabyte of memory takes the kernel most of a second; beyond this somebody is stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug)]
pub(crate) struct Line {
    socket: OwnedFd,
}

/// An answer, with what came beside it.
pub(crate) type Reply = (Answer, Vec<OwnedFd>);

impl Line {
    /// Connects, and hears that the agent is ready.
    pub fn connect(path: &Path) -> Result<Line, AgentError> {
        let not_there = |errno: Errno| AgentError::NotThere {
            path: path.to_owned(),
            source: io::Error::from(errno),
        };
        let socket = dial(path).map_err(not_there)?;
        let uid = peer_credentials(&socket)
            .map_err(|source| AgentError::NotThere {
                path: path.to_owned(),
                source,
            })?
            .uid;
        // AGENT-1.2
        if uid != 0 && uid != rustix::process::geteuid().as_raw() {
            let path = path.to_owned();
            return Err(AgentError::Stranger { path, uid });
        }
        let line = Line { socket };
        match line.hear()?.0 {
            Answer::Ready {
                version: VERSION, ..
            } => Ok(line),
            Answer::Ready { version, agent, .. } => Err(AgentError::Version { agent, version }),
            Answer::Failed(failure) => Err(AgentError::Refused(failure)),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks, and waits for the answer. [`FdPassError::Closed`] means that the agent has not seen the request.
    pub fn ask(&self, request: &Request) -> Result<Reply, AgentError> {
        let datagram = message::write(request)?;
        fdpass::send(&self.socket, &datagram, &[])?;
        match self.hear()? {
            (Answer::Failed(failure), _) => Err(AgentError::Refused(failure)),
            reply => Ok(reply),
        }
    }

    fn hear(&self) -> Result<Reply, AgentError> {
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = [0; MAX_ANSWER_BYTES];
        loop {
            match fdpass::recv(&self.socket, &mut buffer) {
                Ok(received) if received.len_bytes == 0 => return Err(AgentError::Gone),
                Ok(received) => {
                    let answer = message::read(&buffer[..received.len_bytes])?;
                    return Ok((answer, received.fds));
                }
                Err(FdPassError::WouldBlock) => self.await_answer(deadline)?,
                Err(FdPassError::Closed) => return Err(AgentError::Gone),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn await_answer(&self, deadline: Instant) -> Result<(), AgentError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = PATIENCE.as_secs();
            return Err(AgentError::Silent { seconds });
        }
        let timeout = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(FdPassError::System(errno).into()),
        }
    }
}

/// An answer that does not belong to the request.
pub(crate) fn unexpected(answer: &Answer) -> AgentError {
    AgentError::Answer(format!("it does not belong to the request: {answer:?}"))
}

fn dial(path: &Path) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}
