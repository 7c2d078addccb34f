//! A source of packets: the UDP socket of a port. What leaves goes by it as well.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::Fd;
use bcl_os::fork::outlast_children;
use bcl_proto::{Endpoint, Path, Time, Upcalls};
use bcl_udp::{BindError, Buffers, Datagram, Manner, SendError, Socket, Trouble};

/// The UDP socket of a port.
#[derive(Debug)]
pub struct UdpSource {
    socket: Socket,
    buffers: Buffers,
}

impl UdpSource {
    pub fn bind(ip: IpAddr, port: u16) -> Result<Self, BindError> {
        let is_taken = |error: &BindError| matches!(error, BindError::InUse { .. });
        Ok(Self {
            socket: outlast_children(|| Socket::bind(ip, port), is_taken)?,
            buffers: Buffers::new(),
        })
    }

    /// A socket that the agent has bound.
    pub fn adopt(socket: Fd) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::adopt(socket)?,
            buffers: Buffers::new(),
        })
    }

    /// Readable when there is something to receive.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Gives the protocol what one system call finds: a packet, or many if the kernel has joined them. Says how many.
    #[inline]
    pub fn receive(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) -> usize {
        // Other errors than "nothing there" concern earlier datagrams, and are reported besides.
        let Ok(Some(received)) = self.socket.receive(&mut self.buffers) else {
            return 0;
        };
        let packets = received.len();
        let from = path(received.from());
        for datagram in received {
            endpoint.handle(now, from, datagram, up);
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
        self.socket.send_as(to, batch, manner)
    }

    pub fn has_reports(&self) -> bool {
        self.socket.has_reports()
    }

    /// What the network has said of packets that were sent. Not proof of anything: the protocol asks the peer.
    #[cold]
    pub fn take_reports(&mut self, now: Time, endpoint: &mut Endpoint, up: &mut impl Upcalls) {
        while let Some(report) = self.socket.next_report() {
            match report.trouble {
                Trouble::TooLarge { .. } => endpoint.on_route(now, report.to.ip(), up),
                Trouble::PortUnreachable => endpoint.unreachable(now, path(report.to), up),
                Trouble::Prohibited | Trouble::HostUnreachable | Trouble::Other(_) => {}
            }
        }
    }
}

fn path(to: SocketAddr) -> Path {
    Path { to, rail: 0 }
}
