//! Letting peers in: the accepting side of the handshake.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_node::fdpass::{self, FdPassError};
use bcl_node::handshake::{MAX_MESSAGE_BYTES, Nonce, Proved, Purpose, Reason, Server, refuse};
use bcl_node::{JobKey, peer_credentials};
use bcl_os::Fd;
use bcl_os::bell;
use bcl_os::memfd;
use bcl_rings::pair::{PairEnd, Side};
use bcl_tier::page::{Counter, PAGE_LEN, Page};
use bcl_types::Address;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::linked::{self, Linked, Parts};
use super::meet::RETRY;
use super::offer::Offer;
use super::state::{Entry, State, Token};
use super::{Notice, ShmShared, turn_away};
use crate::engine::link::Link;

/// Whoever has not proved itself by then is shown the door.
const PATIENCE: Duration = Duration::from_secs(5);
/// Strangers at the door at a time; more have to wait outside.
const GREETINGS_MAX: usize = 1024;
/// How long nobody listens when nobody can be accepted: at first, and when that goes on.
const SHORTEST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Somebody at the door, and how far that is.
#[derive(Debug)]
pub struct Greeting {
    visitor: Visitor,
    stage: Stage,
}

#[derive(Debug)]
struct Visitor {
    port: Address,
    sock: Fd,
    /// To be shown the door then.
    deadline: Instant,
}

#[derive(Debug)]
enum Stage {
    Hello,
    Prove(Server),
    /// Too many descriptors are on their way for ours to join them: a timer will try again.
    Welcome(Box<Welcome>),
}

/// A connection that is made but for the peer to be told.
#[derive(Debug)]
struct Welcome {
    bytes: Vec<u8>,
    pidfd: Option<Fd>,
    linked: Linked,
    link: Link,
}

impl Greeting {
    /// The port that is to be reached.
    pub fn port(&self) -> Address {
        self.visitor.port
    }
}

impl Visitor {
    fn refuse(&self, (reason, detail): Refused) {
        let _ = fdpass::send(&self.sock, &refuse(reason, detail), &[]);
    }
}

fn keep(state: &mut State, token: Token, visitor: Visitor, stage: Stage) {
    let greeting = Greeting { visitor, stage };
    state.entries.insert(token, Entry::Greeting(greeting));
}

/// Accepts all who have connected to the port behind the listener.
pub fn accept(state: &mut State, token: Token) {
    loop {
        let Some((port, listener)) = listener(state, token) else {
            return;
        };
        match next_caller(listener) {
            Ok(sock) => welcome_or_refuse(state, port, sock),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return listen_again(state, token),
            // The kernel looks for a free descriptor before it looks for a caller.
            Err(Errno::MFILE) if !has_caller(listener) => return listen_again(state, token),
            // With a full table nobody could even be told so, here.
            Err(errno @ Errno::MFILE) => match turn_away::all_waiting(listener, errno) {
                Ok(()) => return listen_again(state, token),
                Err(_) => return rest(state, token),
            },
            Err(_) => return rest(state, token),
        }
    }
}

fn next_caller(listener: BorrowedFd<'_>) -> Result<Fd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Fd::make(|| rustix::net::accept_with(listener, flags))
}

fn listener(state: &State, token: Token) -> Option<(Address, BorrowedFd<'_>)> {
    let Some(Entry::Listener { port, .. }) = state.entries.get(&token) else {
        return None;
    };
    let bound = &state.ports.get(port)?.bound;
    Some((*port, bound.listener()))
}

/// Whether somebody is there, as far as can be seen: with a limit of no descriptors `poll` is refused.
fn has_caller(listener: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(listener, PollFlags::IN)];
    rustix::event::poll(&mut fds, Some(&Timespec::default())) != Ok(0)
}

/// Nobody can be accepted, not even to be refused. The listener would go on to say that somebody is there, so nobody
/// listens to it for a while; a timer tries again.
fn rest(state: &mut State, token: Token) {
    let Some(Entry::Listener { rest, .. }) = state.entries.get_mut(&token) else {
        return;
    };
    let time = (*rest * 2).clamp(SHORTEST_REST, LONGEST_REST);
    *rest = time;
    heed(state, token, EventFlags::empty());
    state.wake_after(token, time);
}

/// All who were there have been accepted or refused.
fn listen_again(state: &mut State, token: Token) {
    let Some(Entry::Listener { rest, .. }) = state.entries.get_mut(&token) else {
        return;
    };
    if !std::mem::take(rest).is_zero() {
        heed(state, token, EventFlags::IN);
    }
}

fn heed(state: &State, token: Token, events: EventFlags) {
    if let Some((_, listener)) = listener(state, token) {
        state.heed(listener, token, events);
    }
}

fn welcome_or_refuse(state: &mut State, port: Address, sock: Fd) {
    let Some(shared) = state.ports.get(&port).map(|port| &port.shared) else {
        return;
    };
    let uid = peer_credentials(&sock).map(|peer| peer.uid);
    if !uid
        .as_ref()
        .is_ok_and(|uid| shared.port.allows(*uid, shared.port.key()))
    {
        let _ = fdpass::send(&sock, &refuse(Reason::Uid, uid.unwrap_or(u32::MAX)), &[]);
        state.count(port, Counter::RefusedUid);
        return;
    }
    let at_the_door = state
        .entries
        .values()
        .filter(|entry| matches!(entry, Entry::Greeting(_)))
        .count();
    if at_the_door >= GREETINGS_MAX {
        let _ = fdpass::send(
            &sock,
            &refuse(Reason::Limit, Errno::AGAIN.raw_os_error() as u32),
            &[],
        );
        return;
    }
    let token = state.new_token();
    let visitor = Visitor {
        port,
        sock,
        deadline: Instant::now() + PATIENCE,
    };
    if let Err(errno) = state.watch(visitor.sock.as_fd(), token) {
        return visitor.refuse(limit(errno));
    }
    keep(state, token, visitor, Stage::Hello);
    state.wake_after(token, PATIENCE);
}

/// Time is up, or descriptors may have got room.
pub fn on_timer(state: &mut State, token: Token) {
    let Some(Entry::Greeting(Greeting { visitor, stage })) = state.entries.remove(&token) else {
        return;
    };
    match (stage, Instant::now() >= visitor.deadline) {
        (Stage::Welcome(_), true) => visitor.refuse(limit(Errno::TOOMANYREFS)),
        (_, true) => {}
        (Stage::Welcome(welcome), false) => admit(state, token, visitor, welcome),
        (stage, false) => keep(state, token, visitor, stage),
    }
}

/// The next message of a handshake.
pub fn on_readable(state: &mut State, token: Token) {
    let Some(Entry::Greeting(Greeting { visitor, stage })) = state.entries.remove(&token) else {
        return;
    };
    let mut buffer = [0; MAX_MESSAGE_BYTES];
    let received = match fdpass::recv(&visitor.sock, &mut buffer) {
        Ok(received) if received.len_bytes > 0 => received,
        Err(FdPassError::WouldBlock) => return keep(state, token, visitor, stage),
        Err(FdPassError::NoDescriptors) => return visitor.refuse(limit(Errno::MFILE)),
        _ => return,
    };
    let bytes = &buffer[..received.len_bytes];
    match stage {
        Stage::Hello => {
            if let Ok(server) = on_hello(state, &visitor, bytes) {
                keep(state, token, visitor, Stage::Prove(server));
            }
        }
        Stage::Prove(server) => on_prove(state, token, visitor, server, bytes, received.fds),
        // There is nothing to say before the welcome but that it wants none.
        Stage::Welcome(_) => {}
    }
}

/// The handshake is over, and the peer, if it is still there, has been told.
struct Over;

fn on_hello(state: &State, visitor: &Visitor, bytes: &[u8]) -> Result<Server, Over> {
    let port = state.ports.get(&visitor.port).ok_or(Over)?;
    // Counters are for whoever may attach by uid; only connections ask for the key of the job.
    let stat_key = JobKey::of_user(rustix::process::geteuid().as_raw());
    let wants_stat = Purpose::of_hello(bytes) == Some(Purpose::Stat);
    if wants_stat && !may_see_counters(&visitor.sock, &port.shared, &stat_key) {
        state.count(visitor.port, Counter::RefusedUid);
        visitor.refuse((Reason::Uid, u32::MAX));
        return Err(Over);
    }
    let key = if wants_stat {
        &stat_key
    } else {
        port.shared.port.key()
    };
    let nonce = Nonce::random().map_err(|_| Over)?;
    match Server::on_hello(key, visitor.port, nonce, bytes) {
        Ok((server, challenge)) => {
            fdpass::send(&visitor.sock, &challenge, &[]).map_err(|_| Over)?;
            Ok(server)
        }
        Err(failure) => {
            fail(state, visitor, &failure);
            Err(Over)
        }
    }
}

/// By the key of the job somebody may have been let in whose uid says nothing: who wants counters does not prove that key.
fn may_see_counters(sock: &Fd, shared: &ShmShared, stat_key: &JobKey) -> bool {
    peer_credentials(sock).is_ok_and(|peer| shared.port.allows(peer.uid, stat_key))
}

fn fail(state: &State, visitor: &Visitor, failure: &bcl_node::handshake::Failure) {
    let counter = match failure.refusal.reason {
        Reason::Key => Counter::RefusedKey,
        Reason::Version => Counter::RefusedVersion,
        Reason::Uid => Counter::RefusedUid,
        _ => Counter::ProtocolErrors,
    };
    state.count(visitor.port, counter);
    if let Some(reply) = &failure.reply {
        let _ = fdpass::send(&visitor.sock, reply, &[]);
    }
}

fn on_prove(
    state: &mut State,
    token: Token,
    visitor: Visitor,
    mut server: Server,
    bytes: &[u8],
    fds: Vec<Fd>,
) {
    let proved = match server.on_prove(bytes) {
        Ok(proved) => proved,
        Err(failure) => return fail(state, &visitor, &failure),
    };
    if proved.purpose == Purpose::Stat {
        return show_counters(state, &visitor, server);
    }
    match prepare(state, &visitor, server, &proved, fds) {
        Ok(welcome) => admit(state, token, visitor, Box::new(welcome)),
        Err(refused) => turn_away(state, &visitor, refused),
    }
}

type Refused = (Reason, u32);

fn turn_away(state: &State, visitor: &Visitor, refused: Refused) {
    if refused.0 == Reason::Protocol {
        state.count(visitor.port, Counter::ProtocolErrors);
    }
    visitor.refuse(refused);
}

fn show_counters(state: &State, visitor: &Visitor, server: Server) {
    let Some(port) = state.ports.get(&visitor.port) else {
        return visitor.refuse((Reason::Closing, 0));
    };
    let page = [port.shared.port.page_fd.as_fd()];
    if let Err(FdPassError::NoDescriptors) =
        fdpass::send(&visitor.sock, &server.welcome(&[]), &page)
    {
        visitor.refuse(limit(Errno::TOOMANYREFS));
    }
}

/// Looks at what the visitor has brought, and makes the connection of it.
fn prepare(
    state: &State,
    visitor: &Visitor,
    server: Server,
    proved: &Proved,
    fds: Vec<Fd>,
) -> Result<Welcome, Refused> {
    let offer =
        Offer::decode(&proved.offer).ok_or((Reason::Version, bcl_tier::page::LAYOUT_VERSION))?;
    let mut fds = fds.into_iter();
    let (Some(segment), Some(page), Some(ringer), pidfd, None) =
        (fds.next(), fds.next(), fds.next(), fds.next(), fds.next())
    else {
        return Err((Reason::Protocol, 0));
    };
    let port = state.ports.get(&visitor.port);
    let shared = &port.ok_or((Reason::Closing, 0))?.shared;

    let adopt = |fd: &Fd, len, writable| {
        memfd::adopt(fd.as_fd(), len, writable).map_err(|error| refusal_of(&error))
    };
    let segment_len = offer.geometry.segment_len();
    let pair = PairEnd::new(
        adopt(&segment, segment_len, true)?,
        offer.geometry,
        Side::Acceptor,
    );
    let page = Page::new(adopt(&page, PAGE_LEN, false)?);
    if !bell::is_ringer(ringer.as_fd()) {
        return Err((Reason::Protocol, 0));
    }
    let sock = Fd::second(&visitor.sock).map_err(limit)?;
    let own_pidfd = bcl_node::watch::own_pidfd().map_err(|_| (Reason::Limit, 0))?;
    let parts = Parts {
        port: visitor.port,
        peer: proved.client,
        sock,
        pidfd,
    };
    let (linked, link) = Linked::new(parts, shared, pair, page, ringer, &offer, segment_len);
    Ok(Welcome {
        bytes: server.welcome(&Offer::mine().encode()),
        pidfd: own_pidfd,
        linked,
        link,
    })
}

/// Lets the visitor in, as soon as there is room for the descriptors that it gets.
fn admit(state: &mut State, token: Token, visitor: Visitor, welcome: Box<Welcome>) {
    let peer = welcome.linked.peer;
    if let Err(refused) = make_way(state, visitor.port, peer) {
        return turn_away(state, &visitor, refused);
    }
    let Some(port) = state.ports.get(&visitor.port) else {
        return visitor.refuse((Reason::Closing, 0));
    };
    let shared = Arc::clone(&port.shared);
    let mut fds = vec![shared.port.page_fd.as_fd(), shared.port.bell.ringer()];
    fds.extend(welcome.pidfd.as_ref().map(AsFd::as_fd));
    match fdpass::send(&visitor.sock, &welcome.bytes, &fds) {
        Ok(()) => {}
        Err(FdPassError::NoDescriptors) => {
            state.wake_after(token, RETRY);
            return keep(state, token, visitor, Stage::Welcome(welcome));
        }
        Err(_) => return visitor.refuse((Reason::Closing, 0)),
    }
    let Welcome { linked, link, .. } = *welcome;
    state.unwatch(visitor.sock.as_fd());
    if let Err(errno) = linked::establish(state, token, linked) {
        return visitor.refuse(limit(errno));
    }
    shared.notify(Notice::Connected {
        peer,
        link: Box::new(link),
        initiated: false,
    });
}

fn limit(errno: Errno) -> Refused {
    (Reason::Limit, errno.raw_os_error() as u32)
}

fn refusal_of(error: &memfd::Error) -> Refused {
    match error {
        memfd::Error::Unsafe(_) => (Reason::Protocol, 0),
        memfd::Error::NoMemory { .. } => limit(Errno::NOMEM),
        memfd::Error::NoDescriptors(errno) | memfd::Error::System { errno, .. } => limit(*errno),
    }
}

/// There is one connection between two ports. If there is one already, or we are making one ourselves, decide
/// which stays ([SHM-7.2]).
fn make_way(state: &mut State, port: Address, client: Address) -> Result<(), Refused> {
    if client == port {
        return Ok(());
    }
    let Some(old) = state
        .ports
        .get(&port)
        .and_then(|port| port.peers.get(&client))
        .copied()
    else {
        return Ok(());
    };
    match state.entries.get(&old) {
        // Both connect at once: the attempt of the lower address stays.
        Some(Entry::Calling(_)) if port < client => Err((Reason::Crossed, 0)),
        Some(Entry::Calling(_)) => {
            state.entries.remove(&old);
            Ok(())
        }
        // The number has been opened anew; the news of its former owner's end is still on the way.
        Some(Entry::Linked(_)) => {
            linked::read_all(state, old);
            if !state.entries.contains_key(&old) {
                return Ok(());
            }
            if linked::is_dead(state, old) {
                linked::on_process_end(state, old);
                return Ok(());
            }
            Err((Reason::Protocol, 0))
        }
        _ => Ok(()),
    }
}
