//! The agent at work: one thread that waits for requests, deaths and signals.

mod door;
mod links;
mod session;
mod text;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bcl_agent_messages::{Answer, Code, Failure, InterfaceStatus, VERSION, write};
use bcl_daemon::Signals;
use bcl_node::fdpass::{self, FdPassError};
use bcl_node::peer_credentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use crate::LOG;
use crate::failure::failure;
use crate::limits::Resource;
use crate::registry::{Client, PortId, Registry};

pub use door::{Door, DoorError};
use links::LinkNews;
use session::{Session, Turn};

/// Connections of all users together; the least limit of open files that is common holds them.
const SESSIONS_MAX: usize = 8192;
/// How long the door stays shut when nobody can be let in: to look again at once would only burn a core.
const SHUT: Duration = Duration::from_millis(50);
/// An interface that has not the program is tried again after so long, news or not: its driver may have needed a while.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// The agent's one thread, and all that it waits for.
pub struct Server {
    registry: Registry,
    listener: OwnedFd,
    door: Door,
    signals: Signals,
    links: LinkNews,
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    /// When interfaces that have not the program are tried again.
    retry_at: Option<Instant>,
    /// Descriptors or memory had run out when somebody was last to be let in; the door is shut until then.
    shut_until: Option<Instant>,
}

impl Server {
    /// Serves whoever connects to `listener` and is let in by `door`.
    ///
    /// # Errors
    /// When the kernel does not tell of interfaces.
    pub fn new(
        registry: Registry,
        listener: OwnedFd,
        door: Door,
        signals: Signals,
    ) -> std::io::Result<Self> {
        Ok(Self {
            registry,
            listener,
            door,
            signals,
            links: LinkNews::listen()?,
            sessions: BTreeMap::new(),
            next_session: 0,
            retry_at: Some(Instant::now()),
            shut_until: None,
        })
    }

    /// Works until a signal says to end. Ports stay as they are.
    ///
    /// # Errors
    /// When waiting is impossible.
    pub fn run(mut self) -> std::io::Result<Registry> {
        loop {
            let ready = self.wait()?;
            if ready.signaled {
                return Ok(self.registry);
            }
            let is_time = self.retry_at.is_some_and(|at| at <= Instant::now());
            if ready.of_links || is_time {
                self.links.drain();
                let has_all = self.registry.follow_interfaces();
                self.retry_at = (!has_all).then(|| Instant::now() + TRY_AGAIN);
            }
            // The dead first: they may have what the living ask for.
            for port in ready.deaths {
                self.registry.end(port);
            }
            // Before requests, which may take their time; and after them, for a line may have ended.
            self.registry.tell(Instant::now());
            for id in ready.sessions {
                self.serve(id);
            }
            self.registry.tell(Instant::now());
            self.registry.clear_one();
            if ready.knocked {
                self.let_in();
            }
        }
    }

    fn wait(&self) -> std::io::Result<Ready> {
        let watched: Vec<_> = self.registry.watched().collect();
        let fixed: [_; FIXED] = [
            self.signals.as_fd(),
            self.listener.as_fd(),
            self.links.as_fd(),
        ];
        let wanted = fixed
            .into_iter()
            .chain(watched.iter().map(|(_, pidfd)| *pidfd))
            .chain(self.sessions.values().map(Session::as_fd));
        let mut fds: Vec<_> = wanted
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let shut = left(self.shut_until).filter(|left| !left.is_zero());
        if shut.is_some() {
            fds[LISTENER] = PollFd::new(&self.listener, PollFlags::empty());
        }
        let telling = left(self.registry.next_telling());
        let at_once = self.registry.has_to_clear().then_some(Duration::ZERO);
        let times = [shut, left(self.retry_at), telling, at_once];
        let first = times.into_iter().flatten().min();
        let timeout = first.and_then(|left| Timespec::try_from(left).ok());
        loop {
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        let is_ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (fixed, others) = is_ready.split_at(FIXED);
        let (deaths, sessions) = others.split_at(watched.len());
        Ok(Ready {
            signaled: fixed[0],
            knocked: fixed[LISTENER],
            of_links: fixed[LINKS],
            deaths: chosen(watched.iter().map(|(port, _)| *port), deaths),
            sessions: chosen(self.sessions.keys().copied(), sessions),
        })
    }

    /// One request of a session: the others have their turn before its next.
    fn serve(&mut self, id: u64) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        if session.turn(&mut self.registry) == Turn::Ended {
            let port = session.port();
            self.sessions.remove(&id);
            if let Some(port) = port {
                self.registry.end(port);
            }
        }
    }

    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = match rustix::net::accept_with(&self.listener, flags) {
            Ok(socket) => socket,
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => return,
            Err(errno) => {
                // Said once, however long it lasts.
                if self.shut_until.is_none() {
                    LOG.note(format_args!("cannot accept connections: {errno}"));
                }
                self.shut_until = Some(Instant::now() + SHUT);
                return;
            }
        };
        self.shut_until = None;
        match self.admit(&socket) {
            Ok(client) => {
                if greet(&socket, &self.ready()) {
                    self.sessions
                        .insert(self.next_session, Session::new(socket, client));
                    self.next_session += 1;
                }
            }
            Err(refusal) => {
                greet(&socket, &Answer::Failed(refusal));
            }
        }
    }

    fn admit(&self, socket: &OwnedFd) -> Result<Client, Failure> {
        let what = "use the agent";
        let peer = peer_credentials(socket)
            .map_err(|error| failure(Code::System, what, error, "try again"))?;
        self.door.check(socket, &peer)?;
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(failure(
                Code::NoRoom,
                what,
                format_args!("{SESSIONS_MAX} connections are open"),
                "close some",
            ));
        }
        let sessions = self.sessions.values();
        let own = sessions.filter(|session| session.uid() == peer.uid).count();
        self.registry
            .limits()
            .check(what, peer.uid, Resource::Clients, own as u64, 1)?;
        Ok(Client::new(socket, &peer))
    }

    fn ready(&self) -> Answer {
        let interfaces = self.registry.interfaces().into_iter();
        let attached = interfaces.filter(InterfaceStatus::is_attached);
        Answer::Ready {
            version: VERSION,
            agent: env!("CARGO_PKG_VERSION").to_owned(),
            interfaces: attached.map(|found| found.name).collect(),
        }
    }
}

/// What is always waited for, the signals first; where the listener stands, and the news of interfaces.
const FIXED: usize = 3;
const LISTENER: usize = 1;
const LINKS: usize = 2;

/// What has something to tell.
struct Ready {
    signaled: bool,
    knocked: bool,
    of_links: bool,
    deaths: Vec<PortId>,
    sessions: Vec<u64>,
}

/// Nothing if it is past.
fn left(until: Option<Instant>) -> Option<Duration> {
    Some(until?.saturating_duration_since(Instant::now()))
}

fn chosen<T>(all: impl Iterator<Item = T>, is_ready: &[bool]) -> Vec<T> {
    let pairs = all.zip(is_ready);
    pairs
        .filter(|(_, ready)| **ready)
        .map(|(one, _)| one)
        .collect()
}

/// Says something to a socket that nothing was said to yet. False if nobody listens.
fn greet(socket: &OwnedFd, answer: &Answer) -> bool {
    let sent = write(answer)
        .map_err(|_| FdPassError::Closed)
        .and_then(|datagram| fdpass::send(socket, &datagram, &[]));
    sent.is_ok()
}
