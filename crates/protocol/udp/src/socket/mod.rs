//! One UDP socket: what a port of the protocol above sends and receives through.

mod bind;
mod calls;
mod coalescing;
mod connect;
mod control;
mod each;
mod foreign;
mod group;
mod holder;
mod receive;
mod report;
mod runs;
mod send;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bcl_os::Fd;
pub use bind::BindError;
pub(crate) use bind::open;
use coalescing::Coalescing;
use connect::Peer;
pub use each::Train;
pub use foreign::{Unfit, address_of};
pub use receive::{Buffers, Received};
pub use report::{Report, Trouble};
pub use send::{Datagram, Manner, SendError};

/// Every datagram begins with a header of this length.
pub const HEADER_BYTES: usize = 64;

/// A nonblocking UDP socket that never fragments: IP's "don't fragment" is set on all it sends, and the
/// kernel's idea of the path MTU does not keep it from trying more (that is how a search finds the true one).
///
/// ```
/// use bcl_udp::{Buffers, Datagram, Socket};
///
/// let loopback = "127.0.0.1".parse()?;
/// let mut one = Socket::bind(loopback, 0)?;
/// let mut other = Socket::bind(loopback, 0)?;
/// let hello = Datagram { header: [7; 64], payload: [b"hello", b""] };
/// one.send(other.local_address(), &[hello])?;
///
/// let mut buffers = Buffers::new();
/// let received = other.receive(&mut buffers)?.expect("loopback delivers at once");
/// assert_eq!(received.from(), one.local_address());
/// for datagram in received {
///     assert_eq!(&datagram[64..], b"hello");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Socket {
    fd: Fd,
    local: SocketAddr,
    /// Who alone it is for, if it was connected.
    peer: Option<Peer>,
    settings: Settings,
    coalescing: Coalescing,
    reports: VecDeque<Report>,
    scratch: send::Scratch,
    /// So often in a row the interface has dropped what we have sent.
    refusals: u32,
}

/// What the kernel has granted to a [`Socket`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory for what waits to be sent; Linux counts its own overhead in, so that about half is data.
    pub send_buffer_bytes: usize,
    /// Memory for what waits to be received, counted likewise.
    pub receive_buffer_bytes: usize,
    /// Many datagrams go through the kernel's stack as one (`UDP_SEGMENT`).
    pub segments: bool,
    /// Many datagrams of one sender arrive as one (`UDP_GRO`) when they come in a stream.
    pub coalesces: bool,
    /// Whoever looks for datagrams looks at the network card too, if it is one that can be asked (`SO_BUSY_POLL`). For
    /// root, or for all where `net.core.busy_read` says so.
    pub asks_the_card: bool,
}

impl Socket {
    /// The address that it is bound to; its port was chosen by the kernel if 0 was asked for.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// What the kernel has granted.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Sends batches without `UDP_SEGMENT` from now on, for networks and tests that want it so.
    pub fn send_without_segments(&mut self) {
        self.settings.segments = false;
    }
}

/// Only the descriptor is left: bound, with all options; to be passed to another process.
impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.fd.into()
    }
}

/// For sleeping until something arrives. `POLLERR` is said while there are reports: see [`Socket::next_report`].
///
/// Do not leave it in an `epoll` set while polling: the kernel tells the set of each datagram, even if it asks for no
/// event, and that costs as much as a tenth of the datagram's whole way.
impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
