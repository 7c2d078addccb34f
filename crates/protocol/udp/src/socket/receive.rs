//! One system call takes what the kernel has of one sender: a datagram, or many that it has coalesced.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::ptr;
use std::slice::ChunksMut;

use super::control::{self, Room, space};
use super::{Socket, calls, report};
use crate::address::RawAddress;
use crate::options::UDP_GRO;

/// As much as the kernel coalesces.
const ROOM_BYTES: usize = 1 << 16;

/// How many errors that belong to datagrams sent earlier are passed over in one call.
const MAX_PENDING: usize = 16;

/// Room for the size of the segments.
type SizeRoom = Room<{ space(size_of::<libc::c_int>()) }>;

/// Where received datagrams are put: 64 KiB, of which untouched pages take no memory.
#[derive(Debug)]
pub struct Buffers(Box<[u8]>);

impl Buffers {
    /// Allocates them.
    pub fn new() -> Buffers {
        Buffers(vec![0; ROOM_BYTES].into_boxed_slice())
    }
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers::new()
    }
}

/// Datagrams of one sender, in the order in which they arrived.
#[derive(Debug)]
pub struct Received<'b> {
    from: SocketAddr,
    datagrams: ChunksMut<'b, u8>,
    /// An empty datagram is to come: it has no bytes to be a chunk of.
    is_empty: bool,
}

impl Received<'_> {
    /// Who has sent them, as IP says.
    pub fn from(&self) -> SocketAddr {
        self.from
    }
}

impl<'b> Iterator for Received<'b> {
    type Item = &'b mut [u8];

    fn next(&mut self) -> Option<&'b mut [u8]> {
        match self.datagrams.next() {
            None if self.is_empty => {
                self.is_empty = false;
                Some(&mut [])
            }
            next => next,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.datagrams.len() + usize::from(self.is_empty);
        (len, Some(len))
    }
}

impl ExactSizeIterator for Received<'_> {}

/// How many bytes came from where, in datagrams of which length.
struct Arrival {
    len: usize,
    from: Option<SocketAddr>,
    segment_bytes: usize,
}

impl Socket {
    /// Takes what has arrived of one sender; `None` when nothing has. Makes one system call, nearly always.
    ///
    /// Errors of the network do not come this way but as [`Report`](super::Report)s.
    pub fn receive<'b>(&mut self, into: &'b mut Buffers) -> io::Result<Option<Received<'b>>> {
        for _ in 0..MAX_PENDING {
            let result = if self.coalescing.is_on() {
                self.receive_message(&mut into.0)
            } else {
                self.receive_quickly(&mut into.0)
            };
            match result {
                Ok(arrival) => return Ok(self.received(arrival, into)),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => {
                        self.found_nothing();
                        self.coalescing.on_nothing(self.fd.as_fd());
                        return Ok(None);
                    }
                    Some(errno) if report::may_be_pending(errno) => self.collect_reports(),
                    Some(libc::EINTR) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(None)
    }

    /// No stream comes by this socket: the kernel is to coalesce nothing, lest what takes packets in front of it sees several as one.
    pub fn stop_coalescing(&mut self) {
        self.coalescing.stop(self.fd.as_fd());
    }

    fn received<'b>(&mut self, arrival: Arrival, into: &'b mut Buffers) -> Option<Received<'b>> {
        let from = arrival.from?;
        let was_coalesced = arrival.segment_bytes < arrival.len;
        self.coalescing
            .on_arrival(self.fd.as_fd(), arrival.len, was_coalesced);
        let bytes = &mut into.0[..arrival.len];
        Some(Received {
            from,
            datagrams: bytes.chunks_mut(arrival.segment_bytes.max(1)),
            is_empty: arrival.len == 0,
        })
    }

    /// The cheapest way, which tells no sizes: only while nothing is coalesced.
    fn receive_quickly(&self, bytes: &mut [u8]) -> io::Result<Arrival> {
        if let Some(peer) = self.only_sender() {
            return self.receive_from_peer(peer, bytes);
        }
        let mut from = RawAddress::EMPTY;
        let mut from_len = RawAddress::ROOM;
        let address = ptr::from_mut(&mut from).cast();
        // SAFETY: the address is live, and as long.
        let len = unsafe { calls::receive(self.fd.as_fd(), bytes, address, &raw mut from_len) }?;
        Ok(Arrival {
            len,
            from: from.get(),
            segment_bytes: len,
        })
    }

    /// Cheaper still: who has sent it is known.
    fn receive_from_peer(&self, peer: SocketAddr, bytes: &mut [u8]) -> io::Result<Arrival> {
        // SAFETY: there is no address.
        let len =
            unsafe { calls::receive(self.fd.as_fd(), bytes, ptr::null_mut(), ptr::null_mut()) }?;
        Ok(Arrival {
            len,
            from: Some(peer),
            segment_bytes: len,
        })
    }

    /// With the size of what was coalesced.
    fn receive_message(&self, bytes: &mut [u8]) -> io::Result<Arrival> {
        let mut from = RawAddress::EMPTY;
        let mut room = SizeRoom::EMPTY;
        let mut slice = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: a `msghdr` of zeros is one without address, slices and control messages.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        let sender = self.only_sender();
        if sender.is_none() {
            message.msg_name = ptr::from_mut(&mut from).cast();
            message.msg_namelen = RawAddress::ROOM;
        }
        message.msg_iov = &raw mut slice;
        message.msg_iovlen = 1;
        message.msg_control = room.as_mut_ptr();
        message.msg_controllen = size_of::<SizeRoom>() as _;
        // SAFETY: the message describes live memory of the lengths that it says.
        let len = unsafe { calls::receive_message(self.fd.as_fd(), &mut message) }?;
        // SAFETY: the kernel has filled the message; it tells the size as an `int`.
        let told = unsafe { control::find::<libc::c_int>(&message, libc::SOL_UDP, UDP_GRO) };
        let told = told.and_then(|(size, _)| usize::try_from(size).ok());
        Ok(Arrival {
            len,
            from: sender.or_else(|| from.get()),
            segment_bytes: told.filter(|size| *size > 0).unwrap_or(len),
        })
    }
}
