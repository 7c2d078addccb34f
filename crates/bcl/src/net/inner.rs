//! The protocol of a port, its socket, and the memory lent to it. Whoever holds the lock drives it.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bcl_node::{JobKey, Nodes};
use bcl_port::{Action, LinkInfo, MessageId, RmaOp, Shared, Source, SystemHandle, Target};
use bcl_proto::{self as proto, Config, Endpoint, Payload, Span, Time, Transmit};
use bcl_shm::page::{CONNECTIONS, Counter};
use bcl_shm::sync::{Ordering, bump};
use bcl_types::{Address, OpId};
use bcl_udp::{BindError, Buffers, Datagram, SendError, Socket, Trouble};
use bcl_wire::udp_port;
use rustix::io::Errno;

use super::books::Books;
use super::clock::now_ns;
use super::deferred::{Deferred, Hearer};
use super::lent::{Lent, Memory};
use super::translate;
use crate::error::Error;

/// Packets that go out with one system call.
const BATCH: usize = 64;
/// Turns that the background thread takes in a row.
const TURNS_MAX: usize = 64;
/// Packets after which a turn takes no more of them.
const TURN_PACKETS: usize = 32;

/// See the module.
#[derive(Debug)]
pub struct Inner {
    endpoint: Endpoint,
    socket: Socket,
    buffers: Buffers,
    lent: Lent,
    deferred: Deferred,
    shared: Arc<Shared>,
    nodes: Nodes,
    /// Where our packets come from.
    ip: IpAddr,
    /// Whether the last turn has found packets.
    is_busy: bool,
    /// Packets taken from the protocol for which the socket had no room.
    unsent: Vec<Transmit>,
    /// The socket has said that datagrams to there are too long.
    too_long: Option<IpAddr>,
}

/// The port's books as the protocol sees them, borrowed apart from the protocol.
macro_rules! books {
    ($self:ident, $up:expr) => {
        &mut Books {
            up: $up,
            lent: &mut $self.lent,
            shared: &$self.shared,
            nodes: &$self.nodes,
            ip: $self.ip,
        }
    };
}

fn now() -> Time {
    Time(now_ns())
}

impl Inner {
    /// Binds the UDP port that belongs to the port's number, at the node's address.
    pub fn open(
        key: &JobKey,
        dead_after: Duration,
        shared: &Arc<Shared>,
        nodes: Nodes,
    ) -> Result<Self, Error> {
        let own = shared.address;
        let Some(port) = udp_port::of_port(own.port) else {
            return Err(Error::invalid(format!(
                "port {} cannot be reached from other nodes: ask for one up to {}, or set BCL_DEVICE=shm",
                own.port,
                udp_port::LAST_PORT
            )));
        };
        let ip = nodes.addresses(own.node).first().copied();
        let ip = ip.unwrap_or(IpAddr::V4(own.node.0));
        let socket = Socket::bind(ip, port).map_err(bind_error)?;
        let mut config = Config::new(own, wall_clock_ns(), seed()?);
        config.dead_after = Span(dead_after.as_nanos() as u64);
        Ok(Self {
            endpoint: Endpoint::new(config, &crate::net_info::packet_secret(key)),
            socket,
            buffers: Buffers::new(),
            lent: Lent::default(),
            deferred: Deferred::default(),
            shared: Arc::clone(shared),
            nodes,
            ip,
            is_busy: false,
            unsent: Vec::with_capacity(BATCH),
            too_long: None,
        })
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Connections, and attempts at one.
    pub fn peers(&self) -> u32 {
        self.endpoint.peer_count() as u32
    }

    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.endpoint.next_timeout().map(|time| time.0)
    }

    pub fn knows(&self, peer: Address) -> bool {
        self.endpoint.knows(peer)
    }

    /// Tells the port what has happened while its program was away.
    #[inline]
    pub fn replay(&mut self, up: &mut impl Hearer) {
        let mut deferred = std::mem::take(&mut self.deferred);
        let mut matched = Vec::new();
        deferred.replay(up, |message, target| matched.push((message, target)));
        for (message, target) in matched {
            self.accept(message, target, up);
        }
        let books = books!(self, up);
        self.endpoint.see_off(now(), books);
    }

    pub fn send_system<U: Hearer>(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        let now = now();
        let books = books!(self, up);
        let done = self
            .endpoint
            .send_system(now, to, data, books, |books| name(books.up));
        if done {
            self.count_sent(data);
        }
        self.flush(now, up);
        done
    }

    fn count_sent(&self, data: &[u8]) {
        bump(self.shared.page.counter(Counter::SystemSent), 1);
        let bytes = self.shared.page.counter(Counter::BytesSent);
        bump(bytes, data.len() as u64);
    }

    pub fn unreliable_max(&mut self, to: Address) -> usize {
        self.endpoint.unreliable_max(to)
    }

    /// False if it was dropped; the error is the longest that the peer can be sent now.
    pub fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Hearer,
    ) -> Result<bool, usize> {
        let limit = self.unreliable_max(to);
        if data.len() > limit {
            return Err(limit);
        }
        let now = now();
        let books = books!(self, up);
        let was_taken = self.endpoint.send_unreliable(now, to, data, books);
        if was_taken {
            self.count_sent(data);
        }
        self.flush(now, up);
        Ok(was_taken)
    }

    pub fn send_normal(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        op: OpId,
        up: &mut impl Hearer,
    ) {
        let now = now();
        let memory = Memory::Source(source.start, source.len_bytes);
        self.lent.lend(op, memory);
        let len_bytes = source.len_bytes as u64;
        let books = books!(self, up);
        self.endpoint
            .send_normal(now, to, channel, op, len_bytes, books);
        self.flush(now, up);
    }

    pub fn rma(&mut self, peer: Address, op: RmaOp, up: &mut impl Hearer) {
        let now = now();
        bump(self.shared.page.counter(Counter::RmaOut), 1);
        match op.action {
            Action::Put { from, len_bytes } => {
                self.lent.lend(op.op, Memory::Source(from, len_bytes));
            }
            Action::Get { to, len_bytes } => self.lent.lend(op.op, Memory::Target(to, len_bytes)),
            Action::Atomic(_) => {}
        }
        let books = books!(self, up);
        self.endpoint.rma(now, peer, translate::rma(&op), books);
        self.flush(now, up);
    }

    pub fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Hearer) -> bool {
        let now = now();
        let memory = Memory::Target(target.start, target.capacity_bytes);
        self.lent.lend(target.op, memory);
        let message = translate::message_to_proto(message);
        let posted = proto::Target {
            op: target.op,
            capacity_bytes: target.capacity_bytes as u64,
        };
        let books = books!(self, up);
        let found = self.endpoint.accept(now, message, posted, books);
        if !found {
            self.lent.give_back(target.op);
        }
        self.flush(now, up);
        found
    }

    /// A system message that the program holds; empty if it does not.
    pub fn data(&self, message: &SystemHandle) -> &[u8] {
        translate::handle_to_proto(message).map_or(&[], |handle| self.endpoint.data(&handle))
    }

    pub fn release(&mut self, message: &SystemHandle) -> bool {
        translate::handle_to_proto(message).is_some_and(|handle| self.endpoint.release(&handle))
    }

    /// A turn: what has arrived, what time has brought, and what is to be sent.
    ///
    /// One system call takes a packet, or many if the kernel has joined them. Where packets come faster than turns,
    /// one turn takes several, so that they are acknowledged together; a lone packet does not wait for a second look.
    #[inline]
    pub fn work(&mut self, up: &mut impl Hearer) -> bool {
        let mut at = now();
        let mut packets = self.receive(at, up);
        let moved = packets > 0;
        if moved && self.is_busy {
            while packets < TURN_PACKETS {
                match self.receive(at, up) {
                    0 => break,
                    more => packets += more,
                }
            }
            at = now();
        }
        self.is_busy = moved;
        self.look_at_clock(at, up);
        self.flush(at, up);
        if self.socket.has_reports() {
            self.take_reports(at, up);
            self.flush(at, up);
        }
        moved
    }

    /// The background thread's turn; true if there is news for the program.
    pub fn serve(&mut self) -> bool {
        let mut deferred = std::mem::take(&mut self.deferred);
        for _ in 0..TURNS_MAX {
            if !self.work(&mut deferred) {
                break;
            }
        }
        let books = books!(self, &mut deferred);
        self.endpoint.see_off(now(), books);
        self.deferred = deferred;
        !self.deferred.is_empty()
    }

    /// Takes what one system call gives; says how many packets.
    #[inline]
    fn receive(&mut self, now: Time, up: &mut impl Hearer) -> usize {
        // Other errors than "nothing there" concern earlier datagrams, and are reported besides.
        let Ok(Some(received)) = self.socket.receive(&mut self.buffers) else {
            return 0;
        };
        let packets = received.len();
        let from = proto::Path {
            to: received.from(),
            rail: 0,
        };
        let books = books!(self, up);
        for datagram in received {
            self.endpoint.handle(now, from, datagram, books);
        }
        packets
    }

    #[inline]
    fn look_at_clock(&mut self, now: Time, up: &mut impl Hearer) {
        if self.endpoint.next_timeout().is_some_and(|time| time <= now) {
            let books = books!(self, up);
            self.endpoint.on_timeout(now, books);
        }
    }

    /// What the network has said of packets that were sent. Not proof of anything: the protocol asks the peer.
    #[cold]
    fn take_reports(&mut self, now: Time, up: &mut impl Hearer) {
        while let Some(report) = self.socket.next_report() {
            match report.trouble {
                Trouble::TooLarge { .. } => {
                    let books = books!(self, up);
                    self.endpoint.on_route(now, report.to.ip(), books);
                }
                Trouble::PortUnreachable => {
                    let path = proto::Path {
                        to: report.to,
                        rail: 0,
                    };
                    let books = books!(self, up);
                    self.endpoint.unreachable(now, path, books);
                }
                Trouble::Prohibited | Trouble::HostUnreachable | Trouble::Other(_) => {}
            }
        }
    }

    /// Sends what the protocol has to send, as far as the socket has room.
    #[inline]
    fn flush(&mut self, now: Time, up: &mut impl Hearer) {
        loop {
            let books = books!(self, up);
            while self.unsent.len() < BATCH
                && let Some(transmit) = self.endpoint.poll_transmit(now, books)
            {
                self.unsent.push(transmit);
            }
            if self.unsent.is_empty() || !self.send_run() {
                return;
            }
            if let Some(ip) = self.too_long.take() {
                let books = books!(self, up);
                self.endpoint.on_route(now, ip, books);
            }
        }
    }

    /// Sends the first packets that go the same way; false if the socket has no room for them.
    fn send_run(&mut self) -> bool {
        let path = self.unsent[0].path;
        let run = match self.unsent[0].is_alone() {
            true => 1,
            false => self
                .unsent
                .iter()
                .take_while(|transmit| transmit.path == path && !transmit.is_alone())
                .count(),
        };
        let (endpoint, lent) = (&self.endpoint, &self.lent);
        let datagram = |transmit| datagram_of(endpoint, lent, transmit);
        let sent = if run == 1 {
            let only = datagram(&self.unsent[0]);
            self.socket.send(path.to, only.as_slice())
        } else {
            // What belongs to an operation that has ended meanwhile is left out.
            let batch: Vec<_> = self.unsent[..run].iter().filter_map(datagram).collect();
            self.socket.send(path.to, &batch)
        };
        match sent {
            Ok(sent) if sent < run => {
                let live = |transmit: &Transmit| {
                    payload_of(&self.endpoint, &self.lent, transmit).is_some()
                };
                let gone = leave_out(&self.unsent[..run], sent, live);
                self.unsent.drain(..gone);
                gone == run
            }
            Ok(_) => {
                self.unsent.drain(..run);
                true
            }
            Err(SendError::Full { .. }) => false,
            Err(error) => {
                // Lost, as packets can be; the protocol sends them again and gives up in time.
                if let SendError::TooLarge { .. } = error {
                    self.too_long = Some(path.to.ip());
                }
                self.unsent.drain(..run);
                true
            }
        }
    }

    pub fn close(&mut self, up: &mut impl Hearer) {
        let now = now();
        let books = books!(self, up);
        self.endpoint.close(now, books);
        self.flush(now, up);
    }

    pub fn is_drained(&self) -> bool {
        self.endpoint.is_drained() && self.unsent.is_empty()
    }

    pub fn links(&self) -> Vec<(Address, LinkInfo)> {
        let peers = self.endpoint.peers().filter(|info| info.is_up);
        peers
            .map(|info| (info.peer, translate::link(&info)))
            .collect()
    }

    /// Adds this tier's queue depths to those in the port's page, and writes what else `bcl stat` shows of it.
    pub fn publish(&self) {
        let page = &self.shared.page;
        let depths = self.endpoint.depths();
        let add = |counter, value: usize| {
            let counter = page.counter(counter);
            let sum = counter.load(Ordering::Relaxed) + value as u64;
            counter.store(sum, Ordering::Relaxed);
        };
        add(Counter::PendingSends, depths.pending);
        add(Counter::Unexpected, depths.unexpected);
        add(Counter::Unreleased, depths.unreleased);
        add(Counter::PeerMemory, depths.memory_bytes);
        add(Counter::Peers, depths.peers);
        self.publish_traffic();
    }

    fn publish_traffic(&self) {
        let (page, traffic, drops) = (
            &self.shared.page,
            self.endpoint.traffic(),
            self.endpoint.drops(),
        );
        for (counter, value) in [
            (Counter::NetPacketsOut, traffic.packets_out),
            (Counter::NetPacketsIn, traffic.packets_in),
            (Counter::NetRetransmits, traffic.retransmits),
            (Counter::NetTimeouts, traffic.timeouts),
            (Counter::NetDropMalformed, drops.malformed + drops.not_ours),
            (Counter::NetDropCheck, drops.check),
            (Counter::NetDropJob, drops.job),
            (Counter::NetDropVersion, drops.version),
            (
                Counter::NetDropStale,
                drops.no_connection + drops.stale_setup,
            ),
            (
                Counter::NetDropDuplicate,
                drops.duplicate + drops.beyond_window,
            ),
            (Counter::NetDropRoom, drops.no_room),
            (Counter::NetDropUnreliable, drops.unreliable),
        ] {
            page.counter(counter).store(value, Ordering::Relaxed);
        }
        let mut peers = self.endpoint.peers().filter(|info| info.is_up);
        for index in 0..CONNECTIONS {
            let connection = peers.next().map(|info| translate::connection(&info));
            page.describe(index, &connection.unwrap_or_default());
        }
    }
}

/// How many packets are done with when `sent` live ones are: dead ones in front of and among them as well.
fn leave_out(run: &[Transmit], sent: usize, live: impl Fn(&Transmit) -> bool) -> usize {
    let mut left = sent;
    run.iter()
        .position(|transmit| {
            let is_live = live(transmit);
            let is_kept = is_live && left == 0;
            left -= usize::from(is_live && !is_kept);
            is_kept
        })
        .unwrap_or(run.len())
}

/// What a packet carries; `None` if it is no longer there.
#[inline]
fn payload_of<'a>(
    endpoint: &'a Endpoint,
    lent: &'a Lent,
    transmit: &'a Transmit,
) -> Option<&'a [u8]> {
    match transmit.payload {
        Payload::Own(_) => endpoint.bytes(transmit),
        Payload::Lent {
            op,
            offset,
            len_bytes,
        } => lent.piece(op, offset, len_bytes.into()),
    }
}

/// A packet as the socket takes it; `None` if what it was to carry is no longer there.
#[inline]
fn datagram_of<'a>(
    endpoint: &'a Endpoint,
    lent: &'a Lent,
    transmit: &'a Transmit,
) -> Option<Datagram<'a>> {
    let payload = payload_of(endpoint, lent, transmit)?;
    Some(Datagram {
        header: endpoint.seal(transmit, payload),
        payload: [payload, &[]],
    })
}

fn bind_error(error: BindError) -> Error {
    match error {
        BindError::InUse { .. } => Error::PortInUse(error.to_string()),
        BindError::NotOurs { .. } | BindError::Reserved { .. } => {
            Error::Configuration(error.to_string())
        }
        BindError::System { ref source, .. } => match Errno::from_io_error(source) {
            Some(Errno::MFILE | Errno::NFILE) => {
                Error::NoDescriptors(format!("{error}; raise the limit (ulimit -n)"))
            }
            _ => Error::Configuration(error.to_string()),
        },
    }
}

/// Later ports have larger incarnations, whichever process opens them.
fn wall_clock_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

fn seed() -> Result<[u64; 2], Error> {
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    rustix::rand::getrandom(&mut bytes, flags).map_err(|errno| Error::System {
        what: "asking the kernel for random numbers",
        errno,
    })?;
    let [low, high] = [0, 8].map(|at| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes));
    Ok([low, high])
}
