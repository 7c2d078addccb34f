//! One connection of a program: reads a request, does it, answers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bcl_agent_messages::{Answer, Code, Failure, MAX_BYTES, Request, read, write};
use bcl_node::fdpass::{self, FdPassError, MAX_FDS};

use super::text;
use crate::failure::failure;
use crate::metrics;
use crate::registry::{Client, PortId, PortWish, Registry};

/// The connection of a program, with the port that it has opened, if any.
pub(super) struct Session {
    socket: OwnedFd,
    client: Client,
    /// The port that the connection has ([AGENT-1.4]).
    port: Option<PortId>,
}

/// Whether the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Goes,
    Ended,
}

/// An answer and what goes beside it.
type Reply = (Answer, Vec<OwnedFd>);

impl Session {
    pub fn new(socket: OwnedFd, client: Client) -> Self {
        Self {
            socket,
            client,
            port: None,
        }
    }

    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub fn uid(&self) -> u32 {
        self.client.uid
    }

    pub fn port(&self) -> Option<PortId> {
        self.port
    }

    /// One request, if there is one.
    pub fn turn(&mut self, registry: &mut Registry) -> Turn {
        let mut buffer = [0; MAX_BYTES];
        let received = match fdpass::recv(&self.socket, &mut buffer) {
            Ok(received) if received.len_bytes == 0 => return Turn::Ended,
            Ok(received) => received,
            Err(FdPassError::WouldBlock) => return Turn::Goes,
            Err(error @ (FdPassError::TooLong { .. } | FdPassError::TooManyFds)) => {
                return self.refuse_for_good(error);
            }
            Err(_) => return Turn::Ended,
        };
        let request = match read::<Request>(&buffer[..received.len_bytes]) {
            Ok(request) => request,
            Err(error) => return self.refuse_for_good(error),
        };
        let (count, right) = (received.fds.len(), request.descriptors());
        if count != right {
            let why = format!("{count} descriptors came beside it, and {right} belong to it");
            return self.refuse_for_good(why);
        }
        match self.carry_out(request, &received.fds, registry) {
            Ok((answer, fds)) => self.answer(&answer, &fds),
            Err(refusal) => self.answer(&Answer::Failed(refusal), &[]),
        }
    }

    /// As many descriptors as belong to the request.
    fn carry_out(
        &mut self,
        request: Request,
        fds: &[impl AsFd],
        registry: &mut Registry,
    ) -> Result<Reply, Failure> {
        match request {
            Request::Open { ring_bytes, secret } => {
                self.has_none("open a port")?;
                let wish = PortWish::new(fds, ring_bytes, secret.0)?;
                let new = registry.open(&self.client, &wish)?;
                self.port = Some(new.id);
                Ok((new.answer, new.fds))
            }
            Request::Resume { node, number } => {
                self.has_none("resume a port")?;
                self.port = Some(registry.resume(&self.client, node, number)?);
                done()
            }
            Request::Enter(connection) => {
                registry.enter_connection(self.own("enter a connection")?, &connection)?;
                done()
            }
            Request::Remove {
                connection,
                ended,
                unheard,
            } => {
                let port = self.own("remove a connection")?;
                let removed = registry.remove_connection(port, connection, ended, unheard)?;
                Ok((removed, Vec::new()))
            }
            Request::Memory { bytes } => {
                let port = self.own("make window memory")?;
                let (answer, map) = registry.make_memory(port, bytes)?;
                Ok((answer, vec![map]))
            }
            Request::Free { memory } => {
                registry.free_memory(self.own("free window memory")?, memory)?;
                done()
            }
            Request::Bind(window) => {
                registry.bind_window(self.own("bind a window")?, &window)?;
                done()
            }
            Request::Unbind { window } => {
                registry.unbind_window(self.own("unbind a window")?, window)?;
                done()
            }
            Request::Close {} => {
                registry.close(self.own("close the port")?);
                self.port = None;
                done()
            }
            Request::Status {} => {
                let status = registry.status()?;
                let status = serde_json::to_string(&status);
                text::reply(&status.map_err(|error| not_told(&error))?)
            }
            Request::Metrics {} => text::reply(&metrics::text(&registry.status()?)),
        }
    }

    /// The port of the connection.
    fn own(&self, what: &str) -> Result<PortId, Failure> {
        self.port.ok_or_else(|| {
            let why = "this connection has no port";
            failure(Code::Unknown, what, why, "open one first")
        })
    }

    fn has_none(&self, what: &str) -> Result<(), Failure> {
        match self.port {
            None => Ok(()),
            Some(_) => {
                let why = "this connection has a port already";
                Err(failure(Code::InUse, what, why, "connect again for another"))
            }
        }
    }

    /// What cannot be read is no mistake that a program could go on after ([AGENT-2.3]).
    fn refuse_for_good(&self, why: impl ToString) -> Turn {
        let refusal = failure(
            Code::Invalid,
            "read a request",
            why,
            "use a library of the agent's release",
        );
        self.answer(&Answer::Failed(refusal), &[]);
        Turn::Ended
    }

    /// Who does not take answers is not waited for ([AGENT-1.3]).
    fn answer(&self, answer: &Answer, fds: &[OwnedFd]) -> Turn {
        debug_assert!(fds.len() <= MAX_FDS);
        let fds: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        let sent = write(answer)
            .map_err(|_| FdPassError::Closed)
            .and_then(|datagram| fdpass::send(&self.socket, &datagram, &fds));
        match sent {
            Ok(()) => Turn::Goes,
            Err(_) => Turn::Ended,
        }
    }
}

fn done() -> Result<Reply, Failure> {
    Ok((Answer::Done {}, Vec::new()))
}

pub(super) fn not_told(error: impl ToString) -> Failure {
    failure(Code::System, "tell the status", error, "try again")
}
