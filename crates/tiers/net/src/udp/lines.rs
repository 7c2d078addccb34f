//! Sockets for the few peers that most packets come from or go to: what goes by a connected socket spares the kernel the routes.
//!
//! Each socket more is one more to look at, which costs each packet half a look. So only one that has a good part of all packets
//! gets one, and while packets come by one socket the others are looked at less often. What a peer sends may come past the sockets,
//! by the interface program: so both ways count.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::Fd;
use bcl_proto::{Span, Time};
use bcl_udp::Socket;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::census::Census;
use crate::engine::Look;

/// At most so many peers have one.
const LINES_MAX: usize = 2;
/// So many calls that have sent or received decide who has one: whoever has this part of them gets one, and who has less than
/// that loses it.
const WINDOW: u32 = 256;
const ENOUGH: u32 = WINDOW / 4;
const TOO_FEW: u32 = WINDOW / 16;
/// Making one takes some ten system calls, which shall be few beside those of the packets.
const PAUSE: Span = Span::from_ms(10);

/// After so many arrivals in a row at one socket the others are looked at less often ...
const IN_A_ROW: u32 = 32;
/// ... once in so many looks, ...
const LOOKS_PER_ROUND: u32 = 8;
/// ... or so many that have found something, whose packets shall not wait for looks in vain, ...
const FULL_LOOKS_PER_ROUND: u32 = 64;
/// ... until nothing has come for so many.
const QUIET_LOOKS: u32 = 64;

/// Where a socket is: 0 is the common one, and then come the lines.
pub type Place = usize;
const COMMON: Place = 0;

/// The sockets that are for one peer each, and where packets have come lately.
#[derive(Debug)]
pub struct Lines {
    lines: Vec<Line>,
    /// All of them are in it, while somebody listens. Else the kernel would have to tell it of each packet.
    epoll: Fd,
    listeners: u32,
    /// Where something has come last, and how often in a row.
    current: Place,
    in_a_row: u32,
    /// Since the others were looked at.
    looks: u32,
    quiet_looks: u32,
    /// Who uses the common socket.
    strangers: Census,
    /// Since the lines were chosen last.
    calls: u32,
    next_choice: Time,
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    peer: SocketAddr,
    calls: u32,
}

impl Lines {
    /// None yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            lines: Vec::new(),
            epoll: Fd::make(|| epoll::create(CreateFlags::CLOEXEC))?,
            listeners: 0,
            current: COMMON,
            in_a_row: 0,
            looks: 0,
            quiet_looks: 0,
            strangers: Census::default(),
            calls: 0,
            next_choice: Time(0),
        })
    }

    /// Readable when something has come to one of them, while somebody listens.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub fn listen(&mut self) {
        self.listeners += 1;
        if self.listeners == 1 {
            self.sockets().for_each(|socket| self.watch(socket));
        }
    }

    pub fn stop_listening(&mut self) {
        self.listeners -= 1;
        if self.listeners == 0 {
            self.sockets().for_each(|socket| self.forget(socket));
        }
    }

    /// If the kernel has no room for it, whoever sleeps is woken by the timers of the protocol.
    fn watch(&self, socket: &Socket) {
        let data = EventData::new_u64(0);
        let _ = epoll::add(&self.epoll, socket, data, EventFlags::IN);
    }

    /// One that is not in the set need not be taken out.
    fn forget(&self, socket: &Socket) {
        let _ = epoll::delete(&self.epoll, socket);
    }

    pub fn has(&self, peer: SocketAddr) -> bool {
        self.lines.iter().any(|line| line.peer == peer)
    }

    /// Something is sent to `peer`: by which socket, if it has one of its own.
    #[inline]
    pub fn send_to(&mut self, peer: SocketAddr) -> Option<&mut Socket> {
        self.calls += 1;
        let mut lines = self.lines.iter_mut();
        let Some(line) = lines.find(|line| line.peer == peer) else {
            self.strangers.count(peer);
            return None;
        };
        line.calls += 1;
        Some(&mut line.socket)
    }

    pub fn sockets(&self) -> impl Iterator<Item = &Socket> + Clone {
        self.lines.iter().map(|line| &line.socket)
    }

    pub fn sockets_mut(&mut self) -> impl Iterator<Item = &mut Socket> {
        self.lines.iter_mut().map(|line| &mut line.socket)
    }

    /// `None` is the common one.
    #[inline]
    pub fn socket(&mut self, place: Place) -> Option<&mut Socket> {
        let line = self.lines.get_mut(place.checked_sub(1)?)?;
        Some(&mut line.socket)
    }

    /// Where to look first: where something has come last.
    #[inline]
    pub fn first_place(&self) -> Place {
        self.current
    }

    /// Where to look besides, of all places but the `first`, which has been looked at and where something has been found or not.
    #[inline]
    pub fn other_places(
        &mut self,
        first: Place,
        look: Look,
        found: bool,
    ) -> impl Iterator<Item = Place> + use<> {
        let count = self.lines.len() + 1;
        let others = match count > 1 && self.are_others_due(look, found) {
            true => 0..count,
            false => 0..0,
        };
        others.filter(move |place| *place != first)
    }

    fn are_others_due(&mut self, look: Look, found: bool) -> bool {
        self.looks += 1;
        let enough = match found {
            false => LOOKS_PER_ROUND,
            true => FULL_LOOKS_PER_ROUND,
        };
        let are_due = look == Look::Everywhere
            || self.in_a_row < IN_A_ROW
            || self.quiet_looks >= QUIET_LOOKS
            || self.looks >= enough;
        if are_due {
            self.looks = 0;
        }
        are_due
    }

    /// What a look has found: something of one sender, or nothing.
    #[inline]
    pub fn note(&mut self, place: Place, from: Option<SocketAddr>) {
        let Some(from) = from else {
            self.quiet_looks += u32::from(place == self.current);
            return;
        };
        self.quiet_looks = 0;
        self.in_a_row = match place == self.current {
            true => self.in_a_row.saturating_add(1),
            false => 0,
        };
        self.current = place;
        self.calls += 1;
        match place.checked_sub(1).and_then(|at| self.lines.get_mut(at)) {
            Some(line) => line.calls += 1,
            None => self.strangers.count(from),
        }
    }

    /// Whether enough has come and gone for the lines to be chosen anew.
    #[inline]
    pub fn are_due(&self) -> bool {
        self.calls >= WINDOW
    }

    /// Chooses, of those whom packets have come from or gone to since the last time, who has a line from now on; returns the sockets of those who have
    /// none any more. Nothing new comes to these.
    pub fn choose(
        &mut self,
        now: Time,
        common: &Socket,
        is_peer: impl Fn(SocketAddr) -> bool,
    ) -> Vec<Socket> {
        self.calls = 0;
        let stranger = self.strangers.take_first();
        let mut retired = self.retire(|line| line.calls < TOO_FEW);
        if let Some((peer, votes)) = stranger
            && votes >= ENOUGH
            && now >= self.next_choice
            && !self.has(peer)
            && is_peer(peer)
        {
            self.next_choice = now + PAUSE;
            if self.lines.len() == LINES_MAX {
                let least = self.lines.iter().map(|line| line.calls).min();
                retired.extend(self.retire(|line| Some(line.calls) == least && line.calls < votes));
            }
            if self.lines.len() < LINES_MAX {
                self.make(common, &retired, peer);
            }
        }
        self.lines.iter_mut().for_each(|line| line.calls = 0);
        retired
    }

    /// If there can be none, as for want of descriptors, the common socket does as well.
    fn make(&mut self, common: &Socket, retired: &[Socket], peer: SocketAddr) {
        let there = [common].into_iter().chain(self.sockets()).chain(retired);
        let Ok(socket) = Socket::connect_beside(there, peer) else {
            return;
        };
        if self.listeners > 0 {
            self.watch(&socket);
        }
        self.lines.push(Line {
            socket,
            peer,
            calls: 0,
        });
    }

    fn retire(&mut self, is_too_many: impl Fn(&Line) -> bool) -> Vec<Socket> {
        let lines = std::mem::take(&mut self.lines).into_iter();
        let (retired, kept) = lines.partition(|line| is_too_many(line));
        self.lines = kept;
        self.current = COMMON;
        let retired: Vec<Line> = retired;
        let sockets = retired.into_iter().map(|line| line.socket);
        sockets
            .inspect(Socket::retire)
            .inspect(|socket| self.forget(socket))
            .collect()
    }
}
