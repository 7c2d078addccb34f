//! A port that the agent has opened for this process.

use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;

use bcl_agent_messages::{Answer, Connection, Key, Progress, Request, Window};
use bcl_node::fdpass::FdPassError;
use bcl_os::Fd;
use rustix::io::Errno;

use crate::agent::{Agent, descriptors};
use crate::error::AgentError;
use crate::line::{Line, PATIENCE, Reply, unexpected};
use crate::queue::RequestQueue;

/// What a port is to be.
#[derive(Debug, Clone)]
pub struct OpenPort<'a> {
    /// A UDP socket, bound to the address of an interface that has the MCP and to the UDP port of the port's number ([WIRE-1.1]).
    pub socket: BorrowedFd<'a>,
    /// Size of its ring, a power of two from 64 KiB to 16 MiB, or 1 MiB.
    pub ring_bytes: Option<u32>,
    /// Secret of the job's packets ([WIRE-3.3]).
    pub secret: [u8; 32],
}

/// A new port and its descriptors.
#[derive(Debug)]
pub struct Opened {
    /// To ask for more with. Dropping it closes the port.
    pub port: AgentPort,
    /// Datagrams that were sent together may come to the interface program as one, which it cannot read.
    pub singly: bool,
    /// The ring, to be mapped: [MCP-6.1].
    pub ring: Fd,
    /// The control page, to be mapped and written: [MCP-6.2].
    pub control: Fd,
    /// Counters, to be mapped and read.
    pub statistics: Fd,
}

/// A map that windows can be bound to.
#[derive(Debug)]
pub struct Memory {
    /// Number for [`AgentPort::bind`].
    pub number: u32,
    /// How much of the map may be used.
    pub bytes: u64,
    /// The map.
    pub map: Fd,
}

/// A port that the agent has opened: it ends with this, or with the process. Requests block until the agent answers,
/// usually some tens of microseconds, 10 seconds at most.
///
/// If the agent has ended, a request connects to the new one and resumes the port ([AGENT-8.3]). While there is no agent
/// requests fail with [`AgentError::NotThere`], and what was entered goes on. [`AgentError::Gone`]: it ended before it
/// answered, and may have done what it was asked for.
#[derive(Debug)]
pub struct AgentPort {
    line: Option<Line>,
    path: PathBuf,
    node: Ipv4Addr,
    number: u16,
    ring_bytes: u32,
}

impl AgentPort {
    pub(crate) fn open(agent: Agent, wish: &OpenPort<'_>) -> Result<Opened, AgentError> {
        let request = Request::Open {
            ring_bytes: wish.ring_bytes,
            secret: Key(wish.secret),
        };
        let (answer, fds) = agent.line.ask_with(&request, &[wish.socket])?;
        let Answer::Opened {
            node,
            number,
            ring_bytes,
            singly,
        } = answer
        else {
            return Err(unexpected(&answer));
        };
        let [ring, control, statistics] = descriptors(fds)?;
        let port = AgentPort {
            line: Some(agent.line),
            path: agent.path,
            node,
            number,
            ring_bytes,
        };
        Ok(Opened {
            port,
            singly,
            ring,
            control,
            statistics,
        })
    }

    /// The number of the port.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The size of its ring.
    pub fn ring_bytes(&self) -> u32 {
        self.ring_bytes
    }

    /// Asks from now on without waiting for answers.
    ///
    /// # Errors
    /// What the kernel says when a descriptor is made.
    pub fn into_queue(self) -> Result<RequestQueue, Errno> {
        RequestQueue::new(self.path, self.node, self.number, self.line)
    }

    /// From now on the MCP has this connection.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn enter(&mut self, connection: &Connection) -> Result<(), AgentError> {
        self.do_it(&Request::Enter(connection.clone()))
    }

    /// The MCP has the connection no longer; how far it has come. If it has `ended`, its peer is not told of the port's end.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn remove(&mut self, connection: u32, ended: bool) -> Result<Option<Progress>, AgentError> {
        match self
            .ask(&Request::Remove {
                connection,
                ended,
                unheard: false,
            })?
            .0
        {
            Answer::Removed { state } => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Makes memory for windows.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn make_memory(&mut self, bytes: u64) -> Result<Memory, AgentError> {
        let (answer, fds) = self.ask(&Request::Memory { bytes })?;
        let Answer::Memory { memory, bytes } = answer else {
            return Err(unexpected(&answer));
        };
        let [map] = descriptors(fds)?;
        Ok(Memory {
            number: memory,
            bytes,
            map,
        })
    }

    /// Gives memory back by its number. It must not be bound.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn free_memory(&mut self, memory: u32) -> Result<(), AgentError> {
        self.do_it(&Request::Free { memory })
    }

    /// Lets peers use a part of a memory as a window, instead of what was bound to the number before.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn bind(&mut self, window: &Window) -> Result<(), AgentError> {
        self.do_it(&Request::Bind(*window))
    }

    /// Peers may use the window no longer.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn unbind(&mut self, window: u16) -> Result<(), AgentError> {
        self.do_it(&Request::Unbind { window })
    }

    /// Ends the port, and waits until it is done; dropping the port does the same a little later.
    ///
    /// # Errors
    /// When the agent is gone or refuses.
    pub fn close(mut self) -> Result<(), AgentError> {
        self.do_it(&Request::Close {})
    }

    fn do_it(&mut self, request: &Request) -> Result<(), AgentError> {
        match self.ask(request)?.0 {
            Answer::Done {} => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, AgentError> {
        let had_one = self.line.is_some();
        let result = match self.line()?.ask(request) {
            // The agent ended since the last request.
            Err(AgentError::Socket(FdPassError::Closed)) if had_one => {
                self.line = None;
                self.line()?.ask(request)
            }
            result => result,
        };
        if result.as_ref().is_err_and(AgentError::is_end) {
            self.line = None;
        }
        result
    }

    /// The connection; a new one if there is none.
    fn line(&mut self) -> Result<&Line, AgentError> {
        let line = match self.line.take() {
            Some(line) => line,
            None => self.resume()?,
        };
        Ok(self.line.insert(line))
    }

    fn resume(&self) -> Result<Line, AgentError> {
        let (line, _) = Line::connect(&self.path, PATIENCE)?;
        let (answer, _) = line.ask(&Request::Resume {
            node: self.node,
            number: self.number,
        })?;
        match answer {
            Answer::Done {} => Ok(line),
            other => Err(unexpected(&other)),
        }
    }
}
