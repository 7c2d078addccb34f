//! What the thread knows: ports, and everything it waits for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_node::{Bound, Folder};
use bcl_os::Fd;
use bcl_os::sync::bump;
use bcl_tier::page::Counter;
use bcl_types::{Address, Cause, OpError};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::greet::Greeting;
use super::linked::Linked;
use super::meet::Calling;
use super::{Mailbox, Notice, ShmShared};
use crate::engine::link::LinkId;

/// Names something the thread waits for; never reused.
pub type Token = u64;

/// Set in the event data of a link's process, beside the link's token.
pub const PROCESS_BIT: u64 = 1 << 63;
/// The event data of the mailbox.
pub const MAILBOX: Token = 0;

/// Something that has a descriptor in the epoll set.
#[derive(Debug)]
pub enum Entry {
    /// A port's socket in the folder.
    Listener {
        port: Address,
        /// For how long nobody listens to it; zero if somebody does.
        rest: Duration,
    },
    /// Somebody who has connected to one of our ports and has not been let in yet.
    Greeting(Greeting),
    /// A connection that one of our ports makes.
    Calling(Calling),
    /// An established connection.
    Linked(Box<Linked>),
}

/// One of our ports.
#[derive(Debug)]
pub struct OwnPort {
    pub shared: Arc<ShmShared>,
    pub bound: Bound,
    pub folder: Arc<Folder>,
    /// The connection, or the attempt at one, with each peer.
    pub peers: HashMap<Address, Token>,
}

/// Everything that the thread has to do with.
#[derive(Debug)]
pub struct State {
    pub epoll: Fd,
    pub mailbox: Arc<Mailbox>,
    pub ports: HashMap<Address, OwnPort>,
    pub entries: HashMap<Token, Entry>,
    pub links: HashMap<LinkId, Token>,
    timers: BinaryHeap<Reverse<(Instant, Token)>>,
    next_token: Token,
}

impl State {
    pub fn new(mailbox: Arc<Mailbox>) -> Result<Self, Errno> {
        let epoll = Fd::make(|| epoll::create(CreateFlags::CLOEXEC))?;
        epoll::add(
            &epoll,
            mailbox.as_ref(),
            EventData::new_u64(MAILBOX),
            EventFlags::IN,
        )?;
        Ok(Self {
            epoll,
            mailbox,
            ports: HashMap::new(),
            entries: HashMap::new(),
            links: HashMap::new(),
            timers: BinaryHeap::new(),
            next_token: MAILBOX + 1,
        })
    }

    pub fn new_token(&mut self) -> Token {
        self.next_token += 1;
        self.next_token
    }

    pub fn watch(&self, fd: BorrowedFd<'_>, data: u64) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, EventData::new_u64(data), EventFlags::IN)
    }

    /// Also wake up when more can be written, or no longer.
    pub fn watch_room(&self, fd: BorrowedFd<'_>, data: u64, room: bool) {
        let flags = if room {
            EventFlags::IN | EventFlags::OUT
        } else {
            EventFlags::IN
        };
        self.heed(fd, data, flags);
    }

    /// Wake up for these events of a watched descriptor, and for no others.
    pub fn heed(&self, fd: BorrowedFd<'_>, data: u64, flags: EventFlags) {
        let _ = epoll::modify(&self.epoll, fd, EventData::new_u64(data), flags);
    }

    pub fn unwatch(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Has `on_timer` called for the entry.
    pub fn wake_after(&mut self, token: Token, delay: Duration) {
        self.timers.push(Reverse((Instant::now() + delay, token)));
    }

    /// The next timer that is due.
    pub fn due(&mut self, now: Instant) -> Option<Token> {
        let Reverse((at, _)) = self.timers.peek()?;
        if *at > now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, token))| token)
    }

    /// How long the thread may sleep.
    pub fn patience(&self, now: Instant) -> Option<Duration> {
        self.timers
            .peek()
            .map(|Reverse((at, _))| at.saturating_duration_since(now))
    }

    /// Counts something for a port.
    pub fn count(&self, port: Address, counter: Counter) {
        if let Some(port) = self.ports.get(&port) {
            bump(port.shared.port.page.counter(counter), 1);
        }
    }

    /// An attempt at a connection has failed for good.
    pub fn fail_call(&mut self, token: Token, error: OpError) {
        let Some(Entry::Calling(call)) = self.entries.remove(&token) else {
            return;
        };
        let Some(port) = self.ports.get_mut(&call.port) else {
            return;
        };
        if port.peers.get(&call.to) == Some(&token) {
            port.peers.remove(&call.to);
        }
        port.shared.notify(Notice::Failed {
            peer: call.to,
            error,
        });
    }

    /// An established connection has ended.
    pub fn end_link(&mut self, token: Token, cause: Cause) {
        let Some(linked) = self.drop_link(token) else {
            return;
        };
        if let Some(port) = self.ports.get(&linked.port) {
            port.shared.notify(Notice::Gone {
                link: linked.id,
                cause,
            });
            if cause != Cause::Closed {
                let _ = port.folder.sweep_one(linked.peer);
            }
        }
    }

    /// Forgets an established connection without a word.
    pub fn drop_link(&mut self, token: Token) -> Option<Box<Linked>> {
        let Some(Entry::Linked(linked)) = self.entries.remove(&token) else {
            return None;
        };
        self.links.remove(&linked.id);
        if let Some(port) = self.ports.get_mut(&linked.port) {
            if port.peers.get(&linked.peer) == Some(&token) {
                port.peers.remove(&linked.peer);
            }
        }
        Some(linked)
    }
}
