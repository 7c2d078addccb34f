//! What the tests of this crate share: datagrams that know their length, and how to wait for some.

// Each test binary uses a part of this.
#![allow(dead_code)]

use std::os::fd::AsFd;
use std::time::Duration;

use bcl_udp::{Buffers, Datagram, HEADER_BYTES, Socket};

/// The contents of a datagram of `len_bytes` with number `number`: its length, its number, noise.
pub fn contents(number: u32, len_bytes: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len_bytes)
        .map(|at| (at as u32).wrapping_mul(2_654_435_761).wrapping_add(number) as u8)
        .collect();
    bytes[..4].copy_from_slice(&(len_bytes as u32).to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// `bytes` as a datagram whose payload lies in two places.
pub fn datagram(bytes: &[u8]) -> Datagram<'_> {
    let (header, payload) = bytes.split_first_chunk::<HEADER_BYTES>().unwrap();
    let (first, second) = payload.split_at(payload.len() / 3);
    Datagram {
        header: *header,
        payload: [first, second],
    }
}

/// Sends all of `contents`, taking what arrives meanwhile, and returns what has arrived.
pub fn exchange(from: &mut Socket, to: &mut Socket, contents: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let batch: Vec<Datagram<'_>> = contents.iter().map(|bytes| datagram(bytes)).collect();
    let mut buffers = Buffers::new();
    let mut arrived = Vec::new();
    let mut sent = 0;
    while sent < batch.len() {
        // Few at a time: what is under test is the socket, not the kernel's patience with a full buffer.
        let end = batch.len().min(sent + 64);
        sent += from.send(to.local_address(), &batch[sent..end]).unwrap();
        while arrived.len() < sent && wait(to) {
            let received = to.receive(&mut buffers).unwrap();
            let received = received.into_iter().flatten();
            arrived.extend(received.map(|datagram| datagram.to_vec()));
        }
    }
    arrived
}

/// Until a datagram gets through: neighbours are asked first, and links take a moment to come up.
pub fn meet(from: &mut Socket, to: &mut Socket) {
    let hello = contents(0, HEADER_BYTES);
    let mut buffers = Buffers::new();
    for _ in 0..10 {
        from.send(to.local_address(), &[datagram(&hello)]).unwrap();
        if wait(to) {
            while to.receive(&mut buffers).unwrap().is_some() {}
            return;
        }
    }
    panic!("{from:?} cannot reach {to:?}");
}

/// Until something arrives; `false` if nothing does for seconds.
pub fn wait(socket: &Socket) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = Timespec::try_from(Duration::from_secs(5)).unwrap();
    let mut wanted = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    poll(&mut wanted, Some(&limit)).unwrap() > 0
}
