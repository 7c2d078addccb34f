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

use std::collections::BTreeSet;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bcl_node::{Bound, Folder};
use bcl_os::PerProcess;
use bcl_os::mapping::Mapping;
use bcl_tier::{RmaOp, exit};
use bcl_types::{Address, Cause, OpError, OpId};
use rustix::io::Errno;

use crate::engine::link::Link;
use crate::engine::link::LinkId;
use crate::engine::rma::WindowInfo;
use crate::open::OpenError;

/// How long messages are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyMode {
    /// By the kernel in one copy where it is permitted, else pipelined through shared memory.
    #[default]
    Auto,
    /// Always pipelined through shared memory.
    Stream,
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
    /// How a peer's window can be reached; `None` if nothing is bound there.
    Window {
        link: LinkId,
        window: u16,
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
    Connect {
        port: Address,
        to: Address,
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
    Stop,
}

/// How ports reach the thread.
type Mailbox = bcl_tier::background::Mailbox<Command>;

/// A port's way to the thread.
#[derive(Debug, Clone)]
pub struct Service {
    mailbox: Arc<Mailbox>,
}

/// The thread of this process, while any port is open.
struct Running {
    service: Service,
    thread: Option<JoinHandle<()>>,
    ports: BTreeSet<Address>,
}

static RUNNING: PerProcess<Mutex<Option<Running>>> = PerProcess::new(Mutex::default);

fn running() -> MutexGuard<'static, Option<Running>> {
    RUNNING.get().lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// The running thread, or a new one, for one more port. The thread tells ports apart by their address, so
    /// that two with the same, in different folders, are refused.
    pub(crate) fn join(address: Address) -> Result<Self, OpenError> {
        exit::at_exit(farewell);
        let mut current = running();
        // One that has died does nothing for anybody: its ports know, and another begins.
        drop(current.take_if(|running| running.service.mailbox.has_ended()));
        if current.is_none() {
            *current = Some(Running::start().map_err(OpenError::Thread)?);
        }
        match current.as_mut() {
            Some(running) => {
                if !running.ports.insert(address) {
                    return Err(OpenError::Twice(address));
                }
                Ok(running.service.clone())
            }
            None => {
                let error = std::io::Error::other("the service thread did not start");
                Err(OpenError::Thread(error))
            }
        }
    }

    /// Hands a new port over.
    pub(crate) fn open_port(&self, shared: Arc<ShmShared>, bound: Bound, folder: Arc<Folder>) {
        self.mailbox.enroll(&shared.port);
        self.mailbox.send(Command::Open {
            shared,
            bound,
            folder,
        });
    }

    /// Returns when the thread no longer touches anything of the port; the last port ends the thread.
    pub(crate) fn close_port(&self, shared: &Arc<ShmShared>) {
        self.mailbox.dismiss(&shared.port);
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        self.mailbox.send(Command::Close {
            port: shared.port.address,
            done,
        });
        let _ = wait.recv();
        self.leave(shared.port.address);
    }

    /// One port fewer.
    fn leave(&self, port: Address) {
        let mut current = running();
        let Some(running) = current
            .as_mut()
            .filter(|running| Arc::ptr_eq(&running.service.mailbox, &self.mailbox))
        else {
            return;
        };
        running.ports.remove(&port);
        if running.ports.is_empty() {
            let mut last = current.take();
            drop(current);
            self.mailbox.send(Command::Stop);
            if let Some(thread) = last.as_mut().and_then(|running| running.thread.take()) {
                let _ = thread.join();
            }
        }
    }

    pub(crate) fn connect(&self, shared: &ShmShared, to: Address) {
        self.mailbox.send(Command::Connect {
            port: shared.port.address,
            to,
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
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        self.mailbox.send(Command::DropLink { link, done });
        let _ = wait.recv();
    }
}

impl Running {
    fn start() -> Result<Self, std::io::Error> {
        let mailbox = Mailbox::new("bcl-service")?;
        let state = state::State::new(Arc::clone(&mailbox))?;
        let thread = mailbox.spawn(move || run::run(state))?;
        Ok(Self {
            service: Service { mailbox },
            thread: Some(thread),
            ports: BTreeSet::new(),
        })
    }
}

/// Called when the process exits: tells the peers of all ports the status, and removes the names.
fn farewell(status: i32) {
    let service = match RUNNING.get().try_lock() {
        Ok(current) => current.as_ref().map(|running| running.service.clone()),
        Err(_) => None,
    };
    let Some(service) = service else {
        return;
    };
    let (done, wait) = std::sync::mpsc::sync_channel(1);
    service.mailbox.send(Command::Exit { status, done });
    let _ = wait.recv_timeout(Duration::from_millis(200));
}

/// What an errno of making a connection means for the operations that wait for it.
fn op_error_of(errno: Errno) -> OpError {
    match errno {
        Errno::MFILE | Errno::NFILE => OpError::NoDescriptors,
        Errno::NOMEM | Errno::NOSPC | Errno::NOBUFS => OpError::NoMemory,
        _ => OpError::NoPort,
    }
}
