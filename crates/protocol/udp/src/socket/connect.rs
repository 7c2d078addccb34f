//! A socket for one peer, beside the one for everybody at the same address and port.
//!
//! The kernel keeps the route of a connected socket, and gives it all that its peer sends as soon as it sees it; else it looks
//! up routes for each datagram, on both ways. What that is worth depends on the processor: see the crate's documentation.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use rustix::net::sockopt::set_socket_reuseport;

use super::Socket;
use super::bind::{open, set_up};

/// A UDP port at which nobody is: where a socket is connected to that is to receive nothing more.
const NOBODYS_PORT: u16 = 1;

/// Who a connected socket is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    /// Nothing of others is in its queue any more: before it was connected, all that came to the port could have gone there.
    is_alone: bool,
}

impl Socket {
    /// A socket for `peer` alone, at the address and port of `there`, which are all sockets that we have there. From now on what
    /// `peer` sends is received by it, and nothing else is, but for what came just now; both have to be looked at. What is sent
    /// by it goes to `peer`.
    ///
    /// # Errors
    /// What the system says, as of sockets that another user has bound; then there is none.
    pub fn connect_beside<'a>(
        there: impl Iterator<Item = &'a Socket> + Clone,
        peer: SocketAddr,
    ) -> io::Result<Socket> {
        let Some(first) = there.clone().next() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let fd = open(first.local.ip())?;
        let mut settings = set_up(fd.as_fd(), first.local.ip())?;
        settings.segments &= first.settings.segments;
        // For this moment only: no other program of this user shall have the port.
        let share = |shared| {
            let mut all = there.clone().map(|socket| &socket.fd).chain([&fd]);
            all.try_for_each(|fd| set_socket_reuseport(fd, shared))
        };
        let bound = share(true).and_then(|()| rustix::net::bind(&fd, &first.local));
        share(false).and(bound)?;
        rustix::net::connect(&fd, &peer)?;
        let peer = Peer {
            address: peer,
            is_alone: false,
        };
        Ok(Socket::new(fd, first.local, Some(peer), settings))
    }

    /// Has the kernel give this socket nothing more: what its peer sends goes to the common one. What it has received before
    /// is still to be taken.
    pub fn retire(&self) {
        let nobody = SocketAddr::new(self.local.ip(), NOBODYS_PORT);
        // If that is refused, what comes until it is closed is lost, as datagrams can be.
        let _ = rustix::net::connect(&self.fd, &nobody);
    }

    /// Who all that lies in the queue is from, if it can be of one only.
    pub(super) fn only_sender(&self) -> Option<SocketAddr> {
        let peer = self.peer.filter(|peer| peer.is_alone)?;
        Some(peer.address)
    }

    /// The queue is empty.
    pub(super) fn found_nothing(&mut self) {
        if let Some(peer) = &mut self.peer {
            peer.is_alone = true;
        }
    }
}
