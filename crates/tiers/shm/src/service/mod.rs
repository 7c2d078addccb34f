//! The background thread: one a process, asleep in `epoll` unless something rare happens.
//!
//! It accepts and makes connections, notices deaths, hands out DMA buffers and serves one-sided operations on
//! ordinary memory, so that none of this depends on what the program does. It never touches the rings: what it
//! finds out goes to the port as a [`Notice`], which the next poll takes.

pub(crate) mod control;
mod greet;
mod jobs;
mod linked;
mod meet;
pub(crate) mod offer;
mod run;
mod shared;
mod state;
mod turn_away;

pub use shared::ShmShared;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use bcl_node::{Bound, Folder, JobKey};
use bcl_os::mapping::Mapping;
use bcl_tier::{Background, Body, RmaOp, Shared};
use bcl_types::{Address, Cause, OpError, OpId};
use rustix::io::Errno;

use crate::engine::link::Link;
use crate::engine::link::LinkId;
use crate::engine::rma::WindowInfo;

/// How long a process that exits waits until its peers have been told.
const FAREWELL: Duration = Duration::from_millis(200);

/// How long messages are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyMode {
    /// The quicker way of the two below, found out from the messages themselves.
    #[default]
    Auto,
    /// By the kernel in one copy where it is permitted, else pipelined through shared memory.
    Single,
    /// Always pipelined through shared memory.
    Stream,
}

impl CopyMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Single, Self::Stream];

    /// How `BCL_COPY` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Single => "single",
            Self::Stream => "stream",
        }
    }
}

/// What the thread tells a port.
#[derive(Debug)]
pub enum Notice {
    /// A connection is up.
    Connected {
        peer: Address,
        link: Box<Link>,
        initiated: bool,
    },
    /// A connection could not be made.
    Failed { peer: Address, error: OpError },
    /// A peer is gone.
    Gone { link: LinkId, cause: Cause },
    /// A peer's DMA buffer, mapped for reading, or `None` if it cannot be had.
    Region {
        link: LinkId,
        region: u64,
        mapping: Option<Mapping>,
    },
    /// How a peer's window can be reached; `None` if nothing is bound there. For as long as the page has this epoch.
    Window {
        link: LinkId,
        window: u16,
        epoch: u64,
        info: Option<WindowInfo>,
    },
    /// The owner's thread has served an operation.
    RmaDone {
        link: LinkId,
        op: OpId,
        result: Result<u64, OpError>,
    },
    /// This thread has written into a window that asks for notices.
    RmaArrived {
        peer: Address,
        window: u16,
        offset: u64,
        len_bytes: u64,
    },
}

/// What a port asks of the thread.
#[derive(Debug)]
enum Command {
    Open {
        shared: Arc<ShmShared>,
        bound: Bound,
        folder: Arc<Folder>,
    },
    Close {
        port: Address,
        done: SyncSender<()>,
    },
    /// With the key of the other port, as it was known when contact was wanted.
    Connect {
        port: Address,
        to: Address,
        key: JobKey,
    },
    AskRegion {
        link: LinkId,
        region: u64,
    },
    AskWindow {
        link: LinkId,
        window: u16,
    },
    Request {
        link: LinkId,
        op: RmaOp,
    },
    /// The process at the other end is not the peer any more.
    Lost {
        link: LinkId,
    },
    DropLink {
        link: LinkId,
        done: SyncSender<()>,
    },
    /// The process exits with this status: say so to everybody.
    Exit {
        status: i32,
        done: SyncSender<()>,
    },
}

/// How ports reach the thread.
type Mailbox = bcl_tier::Mailbox<Command>;

static THREAD: Background<Command> = Background::new("bcl-service", prepare, farewell);

fn prepare(mailbox: &Arc<Mailbox>) -> io::Result<Body> {
    let state = state::State::new(Arc::clone(mailbox))?;
    Ok(Box::new(move || run::run(state)))
}

/// Called when the process exits: tells the peers of all ports the status, and removes the names.
fn farewell(status: i32) {
    THREAD.ask_within(FAREWELL, |done| Command::Exit { status, done });
}

/// A port's way to the thread.
#[derive(Debug, Clone)]
pub struct Service {
    mailbox: Arc<Mailbox>,
}

impl Service {
    /// The running thread, or a new one, for one more port.
    pub(crate) fn join(port: &Arc<Shared>) -> io::Result<Self> {
        THREAD.join(port).map(|mailbox| Self { mailbox })
    }

    /// Hands a new port over.
    pub(crate) fn open_port(&self, shared: Arc<ShmShared>, bound: Bound, folder: Arc<Folder>) {
        self.mailbox.send(Command::Open {
            shared,
            bound,
            folder,
        });
    }

    /// Returns when the thread no longer touches anything of the port; the last port ends the thread.
    pub(crate) fn close_port(&self, shared: &Arc<ShmShared>) {
        let port = shared.port.address;
        self.mailbox.ask(|done| Command::Close { port, done });
        THREAD.leave(&self.mailbox, &shared.port);
    }

    pub(crate) fn connect(&self, shared: &ShmShared, to: Address) {
        self.mailbox.send(Command::Connect {
            port: shared.port.address,
            to,
            key: shared.port.key_of(to),
        });
    }

    pub(crate) fn ask_region(&self, link: LinkId, region: u64) {
        self.mailbox.send(Command::AskRegion { link, region });
    }

    pub(crate) fn ask_window(&self, link: LinkId, window: u16) {
        self.mailbox.send(Command::AskWindow { link, window });
    }

    /// Has the end of a connection told whose process is not the peer any more: it cannot go on, whoever holds its socket.
    pub(crate) fn lost(&self, link: LinkId) {
        self.mailbox.send(Command::Lost { link });
    }

    pub(crate) fn request(&self, link: LinkId, op: RmaOp) {
        self.mailbox.send(Command::Request { link, op });
    }

    /// Returns when the thread no longer touches memory of the connection's operations.
    pub(crate) fn drop_link(&self, link: LinkId) {
        self.mailbox.ask(|done| Command::DropLink { link, done });
    }
}

/// What an errno of making a connection means for the operations that wait for it.
fn op_error_of(errno: Errno) -> OpError {
    match errno {
        Errno::MFILE | Errno::NFILE => OpError::NoDescriptors,
        Errno::NOMEM | Errno::NOSPC | Errno::NOBUFS => OpError::NoMemory,
        _ => OpError::NoPort,
    }
}
