//! An established connection as the thread sees it: its socket, its process, and what is asked over it.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use bcl_node::watch::PeerProcess;
use bcl_node::{fdpass, is_of_own_user, peer_credentials};
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU64, Ordering};
use bcl_os::{Fd, bpf_map, memfd};
use bcl_rings::pair::PairEnd;
use bcl_tier::Region;
use bcl_tier::page::{Counter, Page};
use bcl_types::{Address, Cause};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

use super::control::{Bound, DATA_MAX, HEAD_LEN, Packet};
use super::jobs::{self, Job};
use super::offer::Offer;
use super::state::{Entry, PROCESS_BIT, State, Token};
use super::{CopyMode, Notice, ShmShared};
use crate::cma::PeerMemory;
use crate::engine::link::Link;
use crate::engine::link::LinkId;
use crate::engine::rma::WindowInfo;

/// After its socket closed without a word, a process gets so long to show how it ended.
const LAST_WORDS: Duration = Duration::from_millis(40);
/// Packets waiting for room in the socket; a peer that lets more pile up is cut off.
const BACKLOG_MAX: usize = 1024;
/// Packets taken in one go: more than a socket holds, so that last words are among them, and no peer that
/// goes on sending keeps the thread from the others.
const PACKETS_PER_TURN: usize = 1024;

/// A packet on its way out.
#[derive(Debug)]
struct Outbound {
    bytes: Vec<u8>,
    /// Its descriptor travels with the packet.
    region: Option<(Arc<Region>, bool)>,
}

/// What a port has asked its peer.
#[derive(Debug, PartialEq, Eq)]
enum Question {
    Region(u64),
    Window(u16),
}

/// An established connection, without its rings.
#[derive(Debug)]
pub struct Linked {
    pub id: LinkId,
    pub port: Address,
    pub peer: Address,
    pub sock: Fd,
    is_of_own_user: bool,
    pub jobs: VecDeque<Job>,
    /// Questions that the peer has not answered. It answers nothing else, or our memory would be in its hands.
    asked: Vec<Question>,
    process: Option<PeerProcess>,
    outbound: VecDeque<Outbound>,
    /// The socket has closed; the process is expected to end.
    closed: bool,
}

/// What both sides of the handshake have in hand when it succeeds.
pub struct Parts {
    pub port: Address,
    pub peer: Address,
    pub sock: Fd,
    pub pidfd: Option<Fd>,
}

impl Linked {
    /// Splits a new connection into the thread's part and the port's.
    pub fn new(
        parts: Parts,
        shared: &ShmShared,
        pair: PairEnd,
        page: Page,
        ringer: Fd,
        offer: &Offer,
        segment_len: usize,
    ) -> (Self, Link) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut link = Link::new(id, pair, page, ringer, segment_len, shared.copy_mode);
        let credentials = peer_credentials(&parts.sock).map_err(|error| error.to_string());
        link.is_of_own_user = credentials
            .as_ref()
            .is_ok_and(|peer| is_of_own_user(peer.uid, geteuid().as_raw()));
        link.memory = match shared.copy_mode {
            CopyMode::Stream => Err("asked for (BCL_COPY=stream)".into()),
            CopyMode::Auto | CopyMode::Single => {
                credentials.and_then(|peer| PeerMemory::probe(peer.pid, offer.beacon))
            }
        };
        let process = PeerProcess::open(&parts.sock, parts.pidfd).ok();
        let linked = Self {
            id,
            port: parts.port,
            peer: parts.peer,
            sock: parts.sock,
            is_of_own_user: link.is_of_own_user,
            jobs: VecDeque::new(),
            asked: Vec::new(),
            process,
            outbound: VecDeque::new(),
            closed: false,
        };
        (linked, link)
    }

    /// Last words, as far as the socket takes them.
    pub fn say_goodbye(&mut self, cause: Cause) {
        let _ = fdpass::send(&self.sock, &Packet::Bye(cause).encode(), &[]);
    }

    /// Sends a packet with data, now or when there is room. False if the peer lets too much pile up.
    pub fn send(
        &mut self,
        packet: Packet,
        data: &[u8],
        region: Option<(Arc<Region>, bool)>,
    ) -> bool {
        let mut bytes = Vec::with_capacity(HEAD_LEN + data.len());
        bytes.extend_from_slice(&packet.encode());
        bytes.extend_from_slice(data);
        self.outbound.push_back(Outbound { bytes, region });
        self.flush();
        self.outbound.len() <= BACKLOG_MAX
    }

    fn flush(&mut self) {
        while let Some(next) = self.outbound.front_mut() {
            let fd = next
                .region
                .as_ref()
                .and_then(|(region, writable)| descriptor(region, *writable));
            let fds: &[BorrowedFd<'_>] = match &fd {
                Some(fd) => &[fd.as_fd()],
                None => &[],
            };
            match fdpass::send(&self.sock, &next.bytes, fds) {
                Err(fdpass::FdPassError::WouldBlock) => return,
                // Too many are on their way: an answer without its descriptor is one, and the peer has other ways.
                Err(fdpass::FdPassError::NoDescriptors) => next.region = None,
                // If the peer is gone, the socket or the process will say so.
                Ok(()) | Err(_) => drop(self.outbound.pop_front()),
            }
        }
    }
}

fn descriptor(region: &Region, writable: bool) -> Option<Arc<Fd>> {
    if writable {
        region.expose_to_writers()
    } else {
        region.expose_to_readers()
    }
}

/// Begins to watch a new connection under a token that it takes over.
pub fn establish(state: &mut State, token: Token, linked: Linked) -> Result<(), Errno> {
    state.watch(linked.sock.as_fd(), token)?;
    if let Some(fd) = linked.process.as_ref().and_then(PeerProcess::as_fd) {
        state.watch(fd, token | PROCESS_BIT)?;
    }
    state.links.insert(linked.id, token);
    let accepts_itself = linked.peer == linked.port
        && state
            .ports
            .get(&linked.port)
            .is_some_and(|port| port.peers.get(&linked.peer) != Some(&token));
    if !accepts_itself {
        if let Some(port) = state.ports.get_mut(&linked.port) {
            port.peers.insert(linked.peer, token);
        }
    }
    state.entries.insert(token, Entry::Linked(Box::new(linked)));
    Ok(())
}

/// The socket can be read or written.
pub fn on_ready(state: &mut State, token: Token, flags: EventFlags) {
    if flags.contains(EventFlags::OUT) {
        with(state, token, |linked| linked.flush());
    }
    read_all(state, token);
    update_interest(state, token);
}

fn update_interest(state: &mut State, token: Token) {
    if let Some(Entry::Linked(linked)) = state.entries.get(&token) {
        if !linked.closed {
            state.watch_room(linked.sock.as_fd(), token, !linked.outbound.is_empty());
        }
    }
}

/// Takes the packets that have arrived.
pub fn read_all(state: &mut State, token: Token) {
    let mut buffer = vec![0; HEAD_LEN + DATA_MAX];
    for _ in 0..PACKETS_PER_TURN {
        let Some(Entry::Linked(linked)) = state.entries.get(&token) else {
            return;
        };
        if linked.closed {
            return;
        }
        let received = match fdpass::recv(&linked.sock, &mut buffer) {
            Ok(received) if received.len_bytes > 0 => received,
            Err(fdpass::FdPassError::WouldBlock) => return,
            Err(fdpass::FdPassError::NoDescriptors) => {
                // Packets with a descriptor are only a head: without the descriptor, there is another way.
                if let Some((packet, _)) = Packet::decode(&buffer[..HEAD_LEN]) {
                    on_packet(state, token, packet, &[], None);
                }
                continue;
            }
            _ => return on_closed(state, token),
        };
        let Some((packet, data)) = Packet::decode(&buffer[..received.len_bytes]) else {
            return cut(state, token);
        };
        if let Packet::Bye(cause) = packet {
            return state.end_link(token, cause);
        }
        on_packet(state, token, packet, data, received.fds.into_iter().next());
    }
}

/// The peer does not keep to the protocol.
fn cut(state: &mut State, token: Token) {
    if let Some(Entry::Linked(linked)) = state.entries.get(&token) {
        let port = linked.port;
        state.count(port, Counter::ProtocolErrors);
        state.end_link(token, Cause::Protocol);
    }
}

/// The socket has closed without a word: the process is dying, or has closed its descriptors.
fn on_closed(state: &mut State, token: Token) {
    let Some(Entry::Linked(linked)) = state.entries.get_mut(&token) else {
        return;
    };
    linked.closed = true;
    if linked.process.as_ref().is_some_and(PeerProcess::has_exited) {
        return on_process_end(state, token);
    }
    let sock = linked.sock.as_fd();
    let _ = rustix::event::epoll::delete(&state.epoll, sock);
    state.wake_after(token, LAST_WORDS);
}

/// The port has found out by itself that the process is not there any more.
pub fn lost(state: &mut State, link: LinkId) {
    let Some(token) = state.links.get(&link).copied() else {
        return;
    };
    // Its last words may be there and not be read.
    read_all(state, token);
    if matches!(state.entries.get(&token), Some(Entry::Linked(linked)) if !linked.closed) {
        on_closed(state, token);
    }
}

/// A process whose socket closed has not ended in time, or cannot be watched.
pub fn on_timer(state: &mut State, token: Token) {
    if matches!(state.entries.get(&token), Some(Entry::Linked(linked)) if linked.closed) {
        state.end_link(token, Cause::Vanished);
    }
}

/// The process has ended.
pub fn on_process_end(state: &mut State, token: Token) {
    // Its last words, if it said any, are more exact than what the kernel knows.
    if matches!(state.entries.get(&token), Some(Entry::Linked(linked)) if !linked.closed) {
        read_all(state, token);
    }
    let Some(Entry::Linked(linked)) = state.entries.get(&token) else {
        return;
    };
    let cause = linked.process.as_ref().map(PeerProcess::cause);
    state.end_link(token, cause.map_or(Cause::Vanished, Cause::from));
}

/// Whether the process at the other end is known to have ended.
pub fn is_dead(state: &State, token: Token) -> bool {
    match state.entries.get(&token) {
        Some(Entry::Linked(linked)) => {
            linked.closed || linked.process.as_ref().is_some_and(PeerProcess::has_exited)
        }
        _ => true,
    }
}

fn with<T>(state: &mut State, token: Token, act: impl FnOnce(&mut Linked) -> T) -> Option<T> {
    match state.entries.get_mut(&token) {
        Some(Entry::Linked(linked)) => Some(act(linked)),
        _ => None,
    }
}

/// Sends a packet; a peer that does not take its packets is cut off.
pub fn send(
    state: &mut State,
    token: Token,
    packet: Packet,
    data: &[u8],
    region: Option<(Arc<Region>, bool)>,
) {
    if with(state, token, |linked| linked.send(packet, data, region)) == Some(false) {
        state.end_link(token, Cause::Vanished);
    }
    update_interest(state, token);
}

/// A port wants a peer's DMA buffer.
pub fn ask_region(state: &mut State, link: LinkId, region: u64) {
    if let Some(token) = state.links.get(&link).copied() {
        ask(state, token, Question::Region(region));
    }
}

/// A port wants to know how to reach a peer's window.
pub fn ask_window(state: &mut State, link: LinkId, window: u16) {
    if let Some(token) = state.links.get(&link).copied() {
        ask(state, token, Question::Window(window));
    }
}

fn ask(state: &mut State, token: Token, question: Question) {
    let packet = match question {
        Question::Region(region) => Packet::RegionAsk(region),
        Question::Window(window) => Packet::WindowAsk(window),
    };
    with(state, token, |linked| linked.asked.push(question));
    send(state, token, packet, &[], None);
}

/// Whether a packet answers a question, if it is an answer; a question has one.
fn was_asked(linked: &mut Linked, packet: &Packet) -> bool {
    let question = match *packet {
        Packet::Region { region, .. } => Question::Region(region),
        Packet::Window { window, .. } => Question::Window(window),
        _ => return true,
    };
    let place = linked.asked.iter().position(|other| *other == question);
    place.map(|place| linked.asked.swap_remove(place)).is_some()
}

fn on_packet(state: &mut State, token: Token, packet: Packet, data: &[u8], fd: Option<Fd>) {
    let Some(Entry::Linked(linked)) = state.entries.get_mut(&token) else {
        return;
    };
    if !was_asked(linked, &packet) {
        return cut(state, token);
    }
    let (link, peer, is_of_own_user) = (linked.id, linked.peer, linked.is_of_own_user);
    let Some(shared) = state
        .ports
        .get(&linked.port)
        .map(|port| port.shared.clone())
    else {
        return;
    };
    match packet {
        Packet::Bye(_) => {}
        Packet::RegionAsk(region) => {
            let found = region_to_show(region, is_of_own_user);
            let len_bytes = found
                .as_ref()
                .map_or(0, |region| region.mapped_bytes() as u64);
            send(
                state,
                token,
                Packet::Region { region, len_bytes },
                &[],
                found.map(|region| (region, false)),
            );
        }
        Packet::Region { region, len_bytes } => {
            let mapping = fd.and_then(|fd| adopt(&fd, len_bytes, false));
            shared.notify(Notice::Region {
                link,
                region,
                mapping,
            });
        }
        Packet::WindowAsk(window) => show_window(state, token, &shared, window),
        Packet::Window {
            window,
            epoch,
            bound,
        } => {
            let info = bound.map(|bound| WindowInfo {
                len_bytes: bound.len_bytes,
                access: bound.access,
                mapping: fd
                    .and_then(|fd| adopt(&fd, bound.len_bytes, bound.access.lets_write()))
                    .map(Arc::new),
                address: bound.address,
            });
            shared.notify(Notice::Window {
                link,
                window,
                epoch,
                info,
            });
        }
        Packet::Rma {
            token: job,
            window,
            offset,
            request,
        } => {
            let (answer, data) = jobs::serve(&shared, peer, window, offset, request, data);
            send(
                state,
                token,
                Packet::RmaDone {
                    token: job,
                    result: answer,
                },
                &data,
                None,
            );
        }
        Packet::RmaDone { token: job, result } => {
            jobs::on_done(state, token, &shared, job, result, data)
        }
    }
}

/// The buffer that a peer asks for, if it may be shown to it ([SHM-7.4]).
fn region_to_show(region: u64, is_of_own_user: bool) -> Option<Arc<Region>> {
    let may_be_shown = |region: &Arc<Region>| is_of_own_user || !region.is_for_own_user();
    Region::by_id(region).filter(may_be_shown)
}

fn adopt(fd: &Fd, len_bytes: u64, writable: bool) -> Option<Mapping> {
    let (fd, len_bytes) = (fd.as_fd(), usize::try_from(len_bytes).ok()?);
    let memory = memfd::adopt(fd, len_bytes, writable);
    memory
        .or_else(|_| bpf_map::adopt(fd, len_bytes, writable))
        .ok()
}

fn show_window(state: &mut State, token: Token, shared: &ShmShared, window: u16) {
    let windows = shared.port.windows();
    // Both under the lock, so that one belongs to the other.
    let epoch = shared
        .port
        .page
        .window_epoch(window)
        .load(Ordering::Relaxed);
    let offer = windows.get(window).map(bcl_tier::Window::offer);
    drop(windows);
    let packet = Packet::Window {
        window,
        epoch,
        bound: offer.as_ref().map(|offer| Bound {
            len_bytes: offer.len_bytes,
            access: offer.access,
            address: offer.address,
        }),
    };
    let region = offer.and_then(|offer| Some((offer.direct?, offer.access.lets_write())));
    send(state, token, packet, &[], region);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_the_own_user_is_shown_to_nobody_else() {
        let buffer = Region::allocate(4096).expect("memory");
        let stage = Region::allocate_for_own_user(4096).expect("memory");
        let is_shown =
            |region: &Region, is_of_own_user| region_to_show(region.id(), is_of_own_user).is_some();
        assert!(is_shown(&buffer, true) && is_shown(&buffer, false));
        assert!(is_shown(&stage, true) && !is_shown(&stage, false));
    }
}
