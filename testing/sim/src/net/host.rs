//! A host: one process with one socket, which can be stopped, die and come back.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// What a host can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpec {
    /// How much its socket holds before it drops.
    pub inbox_bytes: usize,
    /// How long it takes to look at one datagram; a slow host is a full receiver.
    pub per_datagram_ns: u64,
}

impl HostSpec {
    /// A socket of Linux' default size and half a microsecond a datagram.
    pub const GOOD: Self = Self {
        inbox_bytes: 208 << 10,
        per_datagram_ns: 500,
    };
}

/// Whether the process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It runs.
    Running,
    /// It is stopped (SIGSTOP): datagrams gather in its socket.
    Stopped,
    /// It is gone: datagrams are dropped.
    Dead,
}

/// A datagram as a process gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// Whom it claims to be from.
    pub from: SocketAddr,
    /// Where it was sent to.
    pub to: SocketAddr,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Whether routers may cut it into fragments.
    pub may_be_cut: bool,
}

impl Datagram {
    /// One that must not be cut.
    pub fn new(from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self {
            from,
            to,
            bytes,
            may_be_cut: false,
        }
    }
}

/// A host at work.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) spec: HostSpec,
    pub(super) life: Life,
    inbox: VecDeque<Datagram>,
    inbox_bytes: usize,
    /// When the process is done with the datagram it took last.
    pub(super) busy_until_ns: u64,
    /// Whether a look into the socket is in the schedule already.
    pub(super) will_look: bool,
    /// Whether what comes is looked at before it goes to the socket.
    pub(super) is_watched: bool,
}

impl Host {
    pub(super) fn new(spec: HostSpec) -> Self {
        Self {
            spec,
            life: Life::Running,
            inbox: VecDeque::new(),
            inbox_bytes: 0,
            busy_until_ns: 0,
            will_look: false,
            is_watched: false,
        }
    }

    /// Puts a datagram into the socket; gives it back if there is no room.
    pub(super) fn receive(&mut self, datagram: Datagram) -> Result<(), Datagram> {
        let len_bytes = occupied_bytes(&datagram);
        if self.inbox_bytes + len_bytes > self.spec.inbox_bytes {
            return Err(datagram);
        }
        self.inbox_bytes += len_bytes;
        self.inbox.push_back(datagram);
        Ok(())
    }

    /// The process takes a datagram.
    pub(super) fn take(&mut self) -> Option<Datagram> {
        let datagram = self.inbox.pop_front()?;
        self.inbox_bytes -= occupied_bytes(&datagram);
        Some(datagram)
    }

    pub(super) fn has_datagrams(&self) -> bool {
        !self.inbox.is_empty()
    }
}

/// Linux charges a socket for its bookkeeping too; without it a million empty datagrams would fit.
fn occupied_bytes(datagram: &Datagram) -> usize {
    datagram.bytes.len() + 512
}
