//! Reaching peers: the connecting side of the handshake.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl_node::fdpass::{self, FdPassError};
use bcl_node::handshake::{Client, Failure, MAX_MESSAGE_BYTES, Nonce, Purpose, Reason, Side as By};
use bcl_node::{ConnectError, JobKey, peer_credentials, watch};
use bcl_os::Fd;
use bcl_os::bell;
use bcl_os::memfd::{self, Writers};
use bcl_rings::pair::{Geometry, PairEnd, Side};
use bcl_tier::page::LAYOUT_VERSION;
use bcl_tier::page::{Counter, PAGE_LEN, Page};
use bcl_types::{Address, OpError};
use rustix::io::Errno;

use super::linked::{self, Linked, Parts};
use super::offer::Offer;
use super::state::{Entry, State, Token};
use super::{Notice, ShmShared, op_error_of};

/// Between two attempts at what is busy: a port with too many at its door, a user with too many descriptors on their way.
pub const RETRY: Duration = Duration::from_millis(2);
/// A peer whose own attempt is to stay, but does not come through by then, is called again.
const CROSSED_PATIENCE: Duration = Duration::from_secs(1);
/// How long descriptors wait for others of this user to be taken out of sockets, less than the peer waits for them
/// ([HSK-3.6]).
const SHORTAGE: Duration = Duration::from_secs(4);

/// Who has not answered by then and is not stopped has no descriptor to accept us with ([HSK-3.7]).
const NO_ANSWER: Duration = Duration::from_secs(10);
/// Between two looks at a peer that is stopped.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// An attempt at a connection.
#[derive(Debug)]
pub struct Calling {
    pub port: Address,
    pub to: Address,
    /// Of the port that is called.
    key: JobKey,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nothing under way: a timer will try again.
    Resting,
    /// The peer is to answer by then.
    Challenge(Fd, Client, Instant),
    /// Too many descriptors are on their way for ours to join them: a timer will try again.
    Proof(Fd, Client, Box<Proof>),
    Welcome(Fd, Client, Box<PairEnd>),
}

/// What the peer is to answer.
enum Sent {
    /// To be answered by then.
    Hello(Instant),
    Proof(Box<PairEnd>),
}

/// What is to be sent once the peer has proved itself.
#[derive(Debug)]
struct Proof {
    bytes: Vec<u8>,
    pair: PairEnd,
    segment: Fd,
    pidfd: Option<Fd>,
    /// To be given up then.
    deadline: Instant,
}

/// Starts to connect, unless that is under way.
pub fn call(state: &mut State, port: Address, to: Address, key: JobKey) {
    let token = state.new_token();
    let Some(own) = state.ports.get_mut(&port) else {
        return;
    };
    if let Some(linked) = own.peers.get(&to).filter(|_| to != port) {
        // The peer was faster, and the port will hear of it.
        debug_assert!(state.entries.contains_key(linked));
        return;
    }
    own.peers.insert(to, token);
    state.entries.insert(
        token,
        Entry::Calling(Calling {
            port,
            to,
            key,
            stage: Stage::Resting,
        }),
    );
    dial(state, token);
}

/// A rest is over, a crossing peer has not come through, or descriptors may have got room.
pub fn on_timer(state: &mut State, token: Token) {
    let Some(Entry::Calling(call)) = state.entries.get_mut(&token) else {
        return;
    };
    match std::mem::replace(&mut call.stage, Stage::Resting) {
        Stage::Resting => dial(state, token),
        Stage::Proof(sock, client, proof) => {
            let shown = show(state, token, sock, client, proof);
            conclude(state, token, shown);
        }
        Stage::Challenge(sock, client, by) if Instant::now() >= by => {
            if !watch::is_peer_stopped(&sock) {
                return state.fail_call(token, OpError::NoDescriptors);
            }
            call.stage = Stage::Challenge(sock, client, by);
            state.wake_after(token, LOOK_AGAIN);
        }
        other => call.stage = other,
    }
}

fn dial(state: &mut State, token: Token) {
    let Some(Entry::Calling(Calling { port, to, key, .. })) = state.entries.get(&token) else {
        return;
    };
    let (port, to, key) = (*port, *to, key.clone());
    let Some(own) = state.ports.get(&port) else {
        return;
    };
    let error = match own.folder.connect(to) {
        // Whoever holds the name must be a user we allow: a name is not proof ([HSK-3.4]).
        Ok(sock) if !is_allowed(&sock, &own.shared, &key) => {
            state.count(port, Counter::RefusedUid);
            OpError::NotAllowed
        }
        Ok(sock) => match hello(state, token, (port, to), &key, sock) {
            Ok(()) => return,
            Err(errno) => op_error_of(errno),
        },
        Err(ConnectError::Busy { .. }) => return state.wake_after(token, RETRY),
        Err(ConnectError::NotAllowed { .. }) => OpError::NotAllowed,
        Err(ConnectError::NoDescriptors { .. }) => OpError::NoDescriptors,
        Err(ConnectError::NoPort { .. }) if to.node != port.node => OpError::Unreachable,
        Err(ConnectError::NoPort { .. } | ConnectError::System { .. }) => OpError::NoPort,
    };
    state.fail_call(token, error);
}

fn is_allowed(sock: &Fd, shared: &ShmShared, key: &JobKey) -> bool {
    peer_credentials(sock).is_ok_and(|peer| shared.port.allows(peer.uid, key))
}

fn hello(
    state: &mut State,
    token: Token,
    (port, to): (Address, Address),
    key: &JobKey,
    sock: Fd,
) -> Result<(), Errno> {
    let nonce = Nonce::random().map_err(|_| Errno::CONNREFUSED)?;
    let (client, hello) = Client::start(key, Purpose::Connect, port, to, nonce);
    match fdpass::send(&sock, &hello, &[]) {
        // A peer that has closed already may have said why.
        Ok(()) | Err(FdPassError::Closed) => {}
        Err(_) => return Err(Errno::CONNREFUSED),
    }
    state.watch(sock.as_fd(), token)?;
    if let Some(Entry::Calling(call)) = state.entries.get_mut(&token) {
        call.stage = Stage::Challenge(sock, client, Instant::now() + NO_ANSWER);
        state.wake_after(token, NO_ANSWER);
    }
    Ok(())
}

/// The next message of a handshake.
pub fn on_readable(state: &mut State, token: Token) {
    let Some(Entry::Calling(call)) = state.entries.get_mut(&token) else {
        return;
    };
    let stage = std::mem::replace(&mut call.stage, Stage::Resting);
    let (sock, mut client, sent) = match stage {
        Stage::Resting => return,
        // There is nothing to say before it has our proof: it has closed the port, or lost patience.
        Stage::Proof(..) => return state.fail_call(token, OpError::NoPort),
        Stage::Challenge(sock, client, by) => (sock, client, Sent::Hello(by)),
        Stage::Welcome(sock, client, pair) => (sock, client, Sent::Proof(pair)),
    };
    let mut buffer = [0; MAX_MESSAGE_BYTES];
    let received = match fdpass::recv(&sock, &mut buffer) {
        Ok(received) if received.len_bytes > 0 => received,
        Err(FdPassError::NoDescriptors) => {
            return state.fail_call(token, OpError::NoDescriptors);
        }
        Err(FdPassError::WouldBlock) => {
            if let Some(Entry::Calling(call)) = state.entries.get_mut(&token) {
                call.stage = match sent {
                    Sent::Hello(by) => Stage::Challenge(sock, client, by),
                    Sent::Proof(pair) => Stage::Welcome(sock, client, pair),
                };
            }
            return;
        }
        // It closed the port before it let us in, or died.
        _ => return state.fail_call(token, OpError::NoPort),
    };
    let bytes = &buffer[..received.len_bytes];
    let outcome = match sent {
        Sent::Hello(_) => prove(state, token, &sock, &mut client, bytes)
            .and_then(|proof| show(state, token, sock, client, Box::new(proof))),
        Sent::Proof(pair) => match client.on_welcome(bytes) {
            Ok(offer) => connected(state, token, sock, *pair, &offer, received.fds),
            Err(failure) => Err(refused(state, token, &sock, &failure)),
        },
    };
    conclude(state, token, outcome);
}

fn conclude(state: &mut State, token: Token, outcome: Result<(), Option<OpError>>) {
    match outcome {
        Ok(()) => {}
        Err(Some(error)) => state.fail_call(token, error),
        // Crossed: the peer's own attempt will come through, or we try again.
        Err(None) => state.wake_after(token, CROSSED_PATIENCE),
    }
}

/// Checks that the peer knows the key, and makes our proof and the segment.
fn prove(
    state: &mut State,
    token: Token,
    sock: &Fd,
    client: &mut Client,
    bytes: &[u8],
) -> Result<Proof, Option<OpError>> {
    let challenged = client.on_challenge(bytes);
    let challenged = match challenged {
        Ok(challenged) => challenged,
        Err(failure) => return Err(refused(state, token, sock, &failure)),
    };
    let geometry = Geometry::DEFAULT;
    let (segment, mapping) = memfd::create("bcl-pair", geometry.segment_len(), Writers::Anybody)
        .map_err(|error| {
            Some(match error {
                memfd::Error::NoDescriptors(_) => OpError::NoDescriptors,
                _ => OpError::NoMemory,
            })
        })?;
    let pair = PairEnd::new(mapping, geometry, Side::Connector);
    pair.label(LAYOUT_VERSION, geometry);
    let pidfd = watch::own_pidfd().map_err(|_| Some(OpError::NoDescriptors))?;
    Ok(Proof {
        bytes: challenged.prove(&Offer::mine().encode()),
        pair,
        segment,
        pidfd,
        deadline: Instant::now() + SHORTAGE,
    })
}

/// Sends our proof, with the segment and what else the peer needs of us.
///
/// A user's descriptors that are on their way are counted, all processes' together, and held against the limit of the
/// process that sends more (unix(7), ETOOMANYREFS). Where many processes connect at once, some have to wait a moment
/// ([HSK-3.6]).
fn show(
    state: &mut State,
    token: Token,
    sock: Fd,
    client: Client,
    proof: Box<Proof>,
) -> Result<(), Option<OpError>> {
    let shared = calling_port(state, token).ok_or(Some(OpError::NoPort))?;
    let mut fds = vec![
        proof.segment.as_fd(),
        shared.port.page_fd.as_fd(),
        shared.port.bell.ringer(),
    ];
    fds.extend(proof.pidfd.as_ref().map(AsFd::as_fd));
    let stage = match fdpass::send(&sock, &proof.bytes, &fds) {
        Ok(()) | Err(FdPassError::Closed) => Stage::Welcome(sock, client, Box::new(proof.pair)),
        Err(FdPassError::NoDescriptors) if Instant::now() < proof.deadline => {
            state.wake_after(token, RETRY);
            Stage::Proof(sock, client, proof)
        }
        Err(FdPassError::NoDescriptors) => return Err(Some(OpError::NoDescriptors)),
        Err(_) => return Err(Some(OpError::NoPort)),
    };
    if let Some(Entry::Calling(call)) = state.entries.get_mut(&token) {
        call.stage = stage;
    }
    Ok(())
}

fn connected(
    state: &mut State,
    token: Token,
    sock: Fd,
    pair: PairEnd,
    offer: &[u8],
    fds: Vec<Fd>,
) -> Result<(), Option<OpError>> {
    let Some(Entry::Calling(Calling { port, to, .. })) = state.entries.get(&token) else {
        return Ok(());
    };
    let (port, peer) = (*port, *to);
    let offer = Offer::decode(offer).ok_or(Some(OpError::VersionMismatch {
        ours: LAYOUT_VERSION,
        theirs: 0,
    }))?;
    let mut fds = fds.into_iter();
    let (Some(page), Some(ringer), pidfd, None) = (fds.next(), fds.next(), fds.next(), fds.next())
    else {
        return Err(Some(OpError::Protocol));
    };
    let page = memfd::adopt(page.as_fd(), PAGE_LEN, false).map_err(|error| {
        Some(match error {
            memfd::Error::NoMemory { .. } => OpError::NoMemory,
            _ => OpError::Protocol,
        })
    })?;
    if !bell::is_ringer(ringer.as_fd()) {
        return Err(Some(OpError::Protocol));
    }
    let Some(shared) = calling_port(state, token) else {
        return Ok(());
    };
    let parts = Parts {
        port,
        peer,
        sock,
        pidfd,
    };
    let segment_len = Geometry::DEFAULT.segment_len();
    let (linked, link) = Linked::new(
        parts,
        &shared,
        pair,
        Page::new(page),
        ringer,
        &offer,
        segment_len,
    );
    state.unwatch(linked.sock.as_fd());
    linked::establish(state, token, linked).map_err(|errno| Some(op_error_of(errno)))?;
    shared.notify(Notice::Connected {
        peer,
        link: Box::new(link),
        initiated: true,
    });
    Ok(())
}

fn calling_port(state: &State, token: Token) -> Option<std::sync::Arc<super::ShmShared>> {
    let Some(Entry::Calling(call)) = state.entries.get(&token) else {
        return None;
    };
    state.ports.get(&call.port).map(|port| port.shared.clone())
}

/// `None`: the peer's own attempt stays.
fn refused(state: &State, token: Token, sock: &Fd, failure: &Failure) -> Option<OpError> {
    if let Some(reply) = &failure.reply {
        let _ = fdpass::send(sock, reply, &[]);
    }
    let refusal = &failure.refusal;
    if let (Some(Entry::Calling(call)), By::Us) = (state.entries.get(&token), refusal.by) {
        if refusal.reason == Reason::Key {
            state.count(call.port, Counter::RefusedKey);
        }
    }
    match refusal.reason {
        Reason::Crossed => None,
        Reason::Key => Some(OpError::KeyMismatch),
        Reason::Uid => Some(OpError::NotAllowed),
        Reason::Version => {
            let ours = u32::from(bcl_node::handshake::VERSION);
            Some(OpError::VersionMismatch {
                ours,
                theirs: u32::from(refusal.version),
            })
        }
        Reason::Limit => Some(limit_of(refusal.detail)),
        Reason::NoPort | Reason::Closing => Some(OpError::NoPort),
        _ => Some(OpError::Protocol),
    }
}

/// Which limit the peer has met. The number is whatever the peer wrote, so that it is only compared.
fn limit_of(detail: u32) -> OpError {
    let known = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOSPC,
        Errno::NOBUFS,
    ];
    let named = known
        .into_iter()
        .find(|errno| errno.raw_os_error().unsigned_abs() == detail);
    op_error_of(named.unwrap_or(Errno::MFILE))
}
