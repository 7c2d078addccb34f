//! Letting peers in: the accepting side of the handshake.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use bcl_node::handshake::{MAX_MESSAGE_BYTES, Nonce, Proved, Purpose, Reason, Server, refuse};
use bcl_node::{Address, JobKey, fdpass, peer_credentials, uid_allowed};
use bcl_shm::bell;
use bcl_shm::memfd;
use bcl_shm::page::{Counter, PAGE_LEN, Page};
use bcl_shm::pair::{PairEnd, Side};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::Notice;
use super::linked::{self, Linked, Parts};
use super::offer::Offer;
use super::state::{Entry, State, Token, spare};

/// Whoever has not proved itself by then is shown the door.
const PATIENCE: Duration = Duration::from_secs(5);
/// Strangers at the door at a time; more have to wait outside.
const GREETINGS_MAX: usize = 1024;

/// Somebody at the door.
#[derive(Debug)]
pub struct Greeting {
    pub port: Address,
    sock: OwnedFd,
    /// After HELLO.
    server: Option<Server>,
}

/// Accepts all who have connected to the port.
pub fn accept(state: &mut State, port: Address) {
    loop {
        let Some(listener) = state.ports.get(&port).map(|port| port.bound.listener()) else {
            return;
        };
        match rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(sock) => welcome_or_refuse(state, port, sock),
            Err(Errno::MFILE | Errno::NFILE) => {
                if !refuse_for_want_of_descriptors(state, port) {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// With a full table nobody could even be told so; the spare descriptor makes room for one refusal. False if
/// nobody was there: the kernel looks for a free descriptor before it looks for a caller.
fn refuse_for_want_of_descriptors(state: &mut State, port: Address) -> bool {
    drop(state.spare.take());
    let mut refused = false;
    if let Some(listener) = state.ports.get(&port).map(|port| port.bound.listener()) {
        if let Ok(sock) =
            rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let _ = fdpass::send(
                &sock,
                &refuse(Reason::Limit, Errno::MFILE.raw_os_error() as u32),
                &[],
            );
            refused = true;
        }
    }
    state.spare = spare();
    refused
}

fn welcome_or_refuse(state: &mut State, port: Address, sock: OwnedFd) {
    let Some(shared) = state.ports.get(&port).map(|port| &port.shared) else {
        return;
    };
    let own_uid = rustix::process::geteuid().as_raw();
    let uid = peer_credentials(&sock).map(|peer| peer.uid);
    if !uid
        .as_ref()
        .is_ok_and(|uid| uid_allowed(*uid, own_uid, &shared.allow_uids))
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
    if state.watch(sock.as_fd(), token).is_ok() {
        state.entries.insert(
            token,
            Entry::Greeting(Greeting {
                port,
                sock,
                server: None,
            }),
        );
        state.wake_after(token, PATIENCE);
    }
}

/// The next message of a handshake.
pub fn on_readable(state: &mut State, token: Token) {
    let Some(Entry::Greeting(mut greeting)) = state.entries.remove(&token) else {
        return;
    };
    let mut buffer = [0; MAX_MESSAGE_BYTES];
    let received = match fdpass::recv(&greeting.sock, &mut buffer) {
        Ok(received) if received.len_bytes > 0 => received,
        Err(fdpass::FdPassError::WouldBlock) => {
            state.entries.insert(token, Entry::Greeting(greeting));
            return;
        }
        _ => return,
    };
    let bytes = &buffer[..received.len_bytes];
    let outcome = match greeting.server.take() {
        None => on_hello(state, &mut greeting, bytes).map(|()| Some(greeting)),
        Some(server) => {
            on_prove(state, token, greeting, server, bytes, received.fds).map(|()| None)
        }
    };
    if let Ok(Some(greeting)) = outcome {
        state.entries.insert(token, Entry::Greeting(greeting));
    }
}

/// The handshake is over, and the peer, if it is still there, has been told.
struct Over;

fn on_hello(state: &State, greeting: &mut Greeting, bytes: &[u8]) -> Result<(), Over> {
    let port = state.ports.get(&greeting.port).ok_or(Over)?;
    // Counters are for whoever may attach by uid; only connections ask for the key of the job.
    let stat_key = JobKey::of_user(rustix::process::geteuid().as_raw());
    let wants_stat = Purpose::of_hello(bytes) == Some(Purpose::Stat);
    let key = if wants_stat {
        &stat_key
    } else {
        &port.shared.key
    };
    let nonce = Nonce::random().map_err(|_| Over)?;
    match Server::on_hello(key, greeting.port, nonce, bytes) {
        Ok((server, challenge)) => {
            greeting.server = Some(server);
            fdpass::send(&greeting.sock, &challenge, &[]).map_err(|_| Over)
        }
        Err(failure) => {
            fail(state, greeting, &failure);
            Err(Over)
        }
    }
}

fn fail(state: &State, greeting: &Greeting, failure: &bcl_node::handshake::Failure) {
    let counter = match failure.refusal.reason {
        Reason::Key => Counter::RefusedKey,
        Reason::Version => Counter::RefusedVersion,
        Reason::Uid => Counter::RefusedUid,
        _ => Counter::ProtocolErrors,
    };
    state.count(greeting.port, counter);
    if let Some(reply) = &failure.reply {
        let _ = fdpass::send(&greeting.sock, reply, &[]);
    }
}

fn on_prove(
    state: &mut State,
    token: Token,
    greeting: Greeting,
    mut server: Server,
    bytes: &[u8],
    fds: Vec<OwnedFd>,
) -> Result<(), Over> {
    let proved = match server.on_prove(bytes) {
        Ok(proved) => proved,
        Err(failure) => {
            fail(state, &greeting, &failure);
            return Err(Over);
        }
    };
    let refused = match proved.purpose {
        Purpose::Stat => show_counters(state, &greeting, server),
        Purpose::Connect => connect(state, token, &greeting, server, &proved, fds),
    };
    if let Err((reason, detail)) = refused {
        if reason == Reason::Protocol {
            state.count(greeting.port, Counter::ProtocolErrors);
        }
        let _ = fdpass::send(&greeting.sock, &refuse(reason, detail), &[]);
    }
    Ok(())
}

type Refused = (Reason, u32);

fn show_counters(state: &State, greeting: &Greeting, server: Server) -> Result<(), Refused> {
    let port = state
        .ports
        .get(&greeting.port)
        .ok_or((Reason::Closing, 0))?;
    let welcome = server.welcome(&[]);
    let _ = fdpass::send(&greeting.sock, &welcome, &[port.shared.page_fd.as_fd()]);
    Ok(())
}

fn connect(
    state: &mut State,
    token: Token,
    greeting: &Greeting,
    server: Server,
    proved: &Proved,
    fds: Vec<OwnedFd>,
) -> Result<(), Refused> {
    make_way(state, greeting.port, proved.client)?;
    let offer =
        Offer::decode(&proved.offer).ok_or((Reason::Version, bcl_shm::pair::LAYOUT_VERSION))?;
    let [segment, page, ringer, pidfd]: [OwnedFd; 4] =
        fds.try_into().map_err(|_| (Reason::Protocol, 0))?;
    let shared = state
        .ports
        .get(&greeting.port)
        .map(|port| port.shared.clone())
        .ok_or((Reason::Closing, 0))?;

    let adopt = |fd: &OwnedFd, len, writable| {
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
    let sock = rustix::io::fcntl_dupfd_cloexec(&greeting.sock, 3).map_err(limit)?;
    let own_pidfd = bcl_node::watch::own_pidfd().map_err(|_| (Reason::Limit, 0))?;
    let parts = Parts {
        port: greeting.port,
        peer: proved.client,
        sock,
        pidfd: Some(pidfd),
    };
    let (linked, link) = Linked::new(parts, &shared, pair, page, ringer, &offer, segment_len);

    let welcome = server.welcome(&Offer::mine().encode());
    let fds = [
        shared.page_fd.as_fd(),
        shared.bell.ringer(),
        own_pidfd.as_fd(),
    ];
    fdpass::send(&greeting.sock, &welcome, &fds).map_err(|_| (Reason::Closing, 0))?;
    state.unwatch(greeting.sock.as_fd());
    linked::establish(state, token, linked).map_err(limit)?;
    shared.notify(Notice::Connected {
        peer: proved.client,
        link: Box::new(link),
        initiated: false,
    });
    Ok(())
}

fn limit(errno: Errno) -> Refused {
    (Reason::Limit, errno.raw_os_error() as u32)
}

fn refusal_of(error: &memfd::Error) -> Refused {
    match error {
        memfd::Error::Unsafe(_) => (Reason::Protocol, 0),
        memfd::Error::NoMemory { errno, .. }
        | memfd::Error::NoDescriptors(errno)
        | memfd::Error::System { errno, .. } => limit(*errno),
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
