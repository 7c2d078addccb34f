//! A source of packets: the UDP sockets of a port. What leaves goes by them as well.
//!
//! There is one for everybody, and one for each of the few peers that most packets come from or go to ([`lines`]), which [`census`] finds.

mod census;
mod lines;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::fork::outlast_children;
use bcl_proto::{Endpoint, Path, Time, Upcalls};
use bcl_udp::{BindError, Buffers, Datagram, Manner, SendError, Socket, Trouble};

use crate::engine::Look;
use lines::Lines;

/// Looks at the common socket after a peer got a socket of its own: what the peer had sent before comes first.
const LAST_LOOKS: usize = 64;

/// The UDP sockets of a port.
#[derive(Debug)]
pub struct UdpSource {
    /// For everybody.
    common: Socket,
    /// For some peers alone.
    lines: Option<Lines>,
    buffers: Buffers,
}

impl UdpSource {
    pub fn bind(ip: IpAddr, port: u16) -> Result<Self, BindError> {
        let is_taken = |error: &BindError| matches!(error, BindError::InUse { .. });
        Ok(Self {
            common: outlast_children(|| Socket::bind(ip, port), is_taken)?,
            lines: Lines::new().ok(),
            buffers: Buffers::new(),
        })
    }

    /// The socket for everybody.
    pub fn common(&self) -> BorrowedFd<'_> {
        self.common.as_fd()
    }

    /// Readable when there is something to receive; the second only while somebody [listens](Self::listen).
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let lines = self.lines.as_ref().map(Lines::descriptor);
        [self.common.as_fd()].into_iter().chain(lines)
    }

    /// Somebody is going to sleep on the descriptors.
    pub fn listen(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.listen();
        }
    }

    /// ... and does so no longer.
    pub fn stop_listening(&mut self) {
        if let Some(lines) = &mut self.lines {
            lines.stop_listening();
        }
    }

    /// Whether a peer has a socket of its own.
    pub fn has_line(&self, to: SocketAddr) -> bool {
        let lines = self.lines.as_ref();
        lines.is_some_and(|lines| lines.has(to))
    }

    /// Gives the protocol what one look finds: the packets that one system call takes, or one for each socket. Says how many.
    #[inline]
    pub fn receive(
        &mut self,
        now: Time,
        look: Look,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) -> usize {
        let mut take = Take {
            now,
            buffers: &mut self.buffers,
            endpoint: &mut *endpoint,
            up: &mut *up,
        };
        let Some(lines) = &mut self.lines else {
            return take
                .all_of(&mut self.common)
                .map_or(0, |(packets, _)| packets);
        };
        let mut look_at = |lines: &mut Lines, place| {
            let socket = lines.socket(place).unwrap_or(&mut self.common);
            let taken = take.all_of(socket);
            lines.note(place, taken.map(|(_, from)| from));
            taken.map_or(0, |(packets, _)| packets)
        };
        let first = lines.first_place();
        let mut packets = look_at(lines, first);
        for place in lines.other_places(first, look, packets > 0) {
            packets += look_at(lines, place);
        }
        if lines.are_due() {
            packets += self.choose_lines(now, endpoint, up);
        }
        packets
    }

    /// No peer's packets come this way: those that take them in front of it need them one by one.
    #[inline]
    pub fn stop_coalescing(&mut self) {
        self.sockets_mut().for_each(Socket::stop_coalescing);
    }

    /// Gives sockets of their own to peers that there is much traffic with, and takes them from those that do so no longer. What had come to
    /// those is received now.
    #[cold]
    fn choose_lines(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) -> usize {
        let Some(lines) = &mut self.lines else {
            return 0;
        };
        let is_peer = |address| {
            let mut peers = endpoint.peers().filter(|info| info.is_up);
            peers.any(|info| info.path.to == address)
        };
        let mut retired = lines.choose(now, &self.common, is_peer);
        let mut take = Take {
            now,
            buffers: &mut self.buffers,
            endpoint,
            up,
        };
        let mut packets = 0;
        for socket in retired.iter_mut().chain([&mut self.common]) {
            let found = std::iter::from_fn(|| take.all_of(socket)).take(LAST_LOOKS);
            packets += found.map(|(packets, _)| packets).sum::<usize>();
        }
        packets
    }

    /// Sends datagrams to one place; says how many the socket had room for.
    #[inline]
    pub fn send(
        &mut self,
        to: SocketAddr,
        batch: &[Datagram<'_>],
        manner: Manner,
    ) -> Result<usize, SendError> {
        let line = self.lines.as_mut().and_then(|lines| lines.send_to(to));
        line.unwrap_or(&mut self.common).send_as(to, batch, manner)
    }

    fn sockets_mut(&mut self) -> impl Iterator<Item = &mut Socket> {
        let lines = self.lines.iter_mut().flat_map(Lines::sockets_mut);
        lines.chain([&mut self.common])
    }

    #[inline]
    pub fn has_reports(&self) -> bool {
        let mut lines = self.lines.iter().flat_map(Lines::sockets);
        self.common.has_reports() || lines.any(Socket::has_reports)
    }

    /// What the network has said of packets that were sent. Not proof of anything: the protocol asks the peer.
    #[cold]
    pub fn take_reports(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) {
        for socket in self.sockets_mut() {
            while let Some(report) = socket.next_report() {
                match report.trouble {
                    Trouble::TooLarge { .. } => endpoint.on_route(now, report.to.ip(), up),
                    Trouble::PortUnreachable => {
                        let returned = report.returned.as_ref().map(<[u8; _]>::as_slice);
                        endpoint.unreachable(now, path(report.to), returned, up);
                    }
                    Trouble::Prohibited | Trouble::HostUnreachable | Trouble::Other(_) => {}
                }
            }
        }
    }
}

/// Who takes what has come.
struct Take<'a, U> {
    now: Time,
    buffers: &'a mut Buffers,
    endpoint: &'a mut Endpoint,
    up: &'a mut U,
}

impl<U: Upcalls> Take<'_, U> {
    /// What one system call finds: a packet, or many of one sender if the kernel has joined them. Says how many, and who.
    #[inline]
    fn all_of(&mut self, socket: &mut Socket) -> Option<(usize, SocketAddr)> {
        // Other errors than "nothing there" concern earlier datagrams, and are reported besides.
        let received = socket.receive(self.buffers).ok()??;
        let (packets, from) = (received.len(), received.from());
        let datagrams = received.map(|datagram| &*datagram);
        self.endpoint
            .handle_all(self.now, path(from), datagrams, self.up);
        Some((packets, from))
    }
}

fn path(to: SocketAddr) -> Path {
    Path { to, rail: 0 }
}
