//! The same datagrams to several addresses, in one system call.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use super::control::{self, SegmentRoom};
use super::runs::Run;
use super::{Socket, calls, report};
use crate::address::RawAddress;

/// As many messages as the kernel takes in one call.
const AT_ONCE: usize = 1024;
/// How many errors that belong to earlier datagrams are passed over for each message.
const MAX_PENDING: usize = 4;

/// Datagrams that can go through the kernel as one: all have the same length, but for the last, which may be shorter.
#[derive(Debug, Default)]
pub struct Train {
    bytes: Vec<u8>,
    run: Run,
}

impl Train {
    /// Begins anew, with a datagram.
    pub fn begin(&mut self, datagram: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(datagram);
        self.run = Run::of_one(datagram.len());
    }

    /// Takes one more, unless it does not fit: false.
    pub fn add(&mut self, datagram: &[u8]) -> bool {
        let fits = self.run.add(datagram.len());
        if fits {
            self.bytes.extend_from_slice(datagram);
        }
        fits
    }
}

impl Socket {
    /// Sends the datagrams to each of the addresses, in order, and says to how many they have gone, or were tried in vain: less than
    /// all if the kernel has no room for more now.
    ///
    /// Who cannot be reached does not keep others from getting them: the network loses what is for it.
    pub fn send_to_each(&mut self, to: &[SocketAddr], train: &Train) -> usize {
        if let ([one], 1) = (to, train.run.datagrams) {
            return self.send_to_one(*one, &train.bytes);
        }
        let together = train.run.datagrams > 1 && self.settings.segments;
        let gone = self.try_to_each(to, train, together);
        let gone = gone.or_else(|| self.try_to_each(to, train, false));
        gone.unwrap_or_default()
    }

    /// `None` if the datagrams cannot go together.
    fn try_to_each(&mut self, to: &[SocketAddr], train: &Train, together: bool) -> Option<usize> {
        let is_connected = matches!(to, [one] if self.is_peer(*one));
        let addresses: Vec<RawAddress> = to.iter().map(RawAddress::new).collect();
        let cut_at = if together {
            train.bytes.len()
        } else {
            train.run.segment_bytes
        };
        let mut slices: Vec<_> = train.bytes.chunks(cut_at.max(1)).map(slice_of).collect();
        let mut room = SegmentRoom::EMPTY;
        let mut messages = Vec::with_capacity(addresses.len() * slices.len());
        for address in &addresses {
            for slice in &mut slices {
                // SAFETY: a `msghdr` of zeros is one without address, slices and control messages.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                if !is_connected {
                    message.msg_hdr.msg_name = std::ptr::from_ref(address).cast_mut().cast();
                    message.msg_hdr.msg_namelen = address.len();
                }
                message.msg_hdr.msg_iov = slice;
                message.msg_hdr.msg_iovlen = 1;
                if let (true, Ok(bytes)) = (together, u16::try_from(train.run.segment_bytes)) {
                    control::ask_for_segments(&mut message.msg_hdr, &mut room, bytes);
                }
                messages.push(message);
            }
        }
        let gone = self.send_all(&mut messages, together)?;
        Some(gone / slices.len().max(1))
    }

    /// How many have gone; `None` if the first cannot be cut into segments.
    fn send_all(&mut self, messages: &mut [libc::mmsghdr], together: bool) -> Option<usize> {
        let (mut gone, mut failures) = (0, 0);
        while gone < messages.len() {
            let end = messages.len().min(gone + AT_ONCE);
            // SAFETY: the messages point to addresses, slices, bytes and control messages of the caller's, which outlive the call
            // and are only read.
            let sent = unsafe { calls::send_messages(self.fd.as_fd(), &mut messages[gone..end]) };
            match sent {
                Ok(sent) => (gone, failures) = (gone + sent, 0),
                Err(error) if is_full(&error) => break,
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or_default();
                    if together && gone == 0 && self.is_about_segments(errno) {
                        return None;
                    }
                    // Of this address, or of what was sent before, which the kernel tells once.
                    self.collect_if_pending(&error);
                    failures += 1;
                    if failures > MAX_PENDING {
                        (gone, failures) = (gone + 1, 0);
                    }
                }
            }
        }
        Some(gone)
    }

    fn is_peer(&self, address: SocketAddr) -> bool {
        self.peer.is_some_and(|peer| peer.address == address)
    }

    fn send_to_one(&mut self, to: SocketAddr, bytes: &[u8]) -> usize {
        let raw = RawAddress::new(&to);
        let (address, len) = match self.is_peer(to) {
            // The kernel knows the way.
            true => (std::ptr::null(), 0),
            false => (std::ptr::from_ref(&raw).cast(), raw.len()),
        };
        for _ in 0..=MAX_PENDING {
            // SAFETY: the address, if there is one, is live, and as long.
            let sent = unsafe { calls::send(self.fd.as_fd(), bytes, address, len) };
            match sent {
                Ok(_) => return 1,
                Err(error) if is_full(&error) => return 0,
                Err(error) => self.collect_if_pending(&error),
            }
        }
        1
    }

    fn collect_if_pending(&mut self, error: &io::Error) {
        if error.raw_os_error().is_some_and(report::may_be_pending) {
            self.collect_reports();
        }
    }
}

/// It has room again later. A full queue of an interface (ENOBUFS) loses what is sent, as networks do.
fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

fn slice_of(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffers;

    fn socket() -> Socket {
        Socket::bind([127, 0, 0, 1].into(), 0).unwrap()
    }

    fn got(socket: &mut Socket) -> Option<Vec<u8>> {
        let mut buffers = Buffers::new();
        let received = socket.receive(&mut buffers).unwrap();
        received.map(|mut received| received.next().unwrap().to_vec())
    }

    fn alone(datagram: &[u8]) -> Train {
        let mut train = Train::default();
        train.begin(datagram);
        train
    }

    #[test]
    fn all_get_all_of_a_train_in_order() {
        let (mut from, mut one, mut other) = (socket(), socket(), socket());
        let mut train = alone(&[0; 300]);
        assert!((1..9_u8).all(|number| train.add(&[number; 300])));
        assert!(!train.add(&[0; 301]));
        assert!(train.add(b"end"));
        assert!(!train.add(b""));
        let to = [one.local_address(), other.local_address()];
        for _ in 0..2 {
            assert_eq!(from.send_to_each(&to, &train), 2);
            for socket in [&mut one, &mut other] {
                for number in 0..9 {
                    assert_eq!(got(socket), Some(vec![number; 300]));
                }
                assert_eq!(got(socket), Some(b"end".to_vec()));
                assert_eq!(got(socket), None);
            }
            from.send_without_segments();
        }
    }

    #[test]
    fn all_get_it_whoever_is_not_there() {
        let (mut from, mut one, mut other) = (socket(), socket(), socket());
        let nobody = {
            let gone = socket();
            gone.local_address()
        };
        let to = [nobody, one.local_address(), nobody, other.local_address()];
        for round in 0..3_u8 {
            assert_eq!(from.send_to_each(&to, &alone(&[round; 100])), 4);
            assert_eq!(from.send_to_each(&[nobody], &alone(b"x")), 1);
            for socket in [&mut one, &mut other] {
                assert_eq!(got(socket), Some(vec![round; 100]));
                assert_eq!(got(socket), None);
            }
        }
    }

    #[test]
    fn where_no_way_leads_nothing_else_is_kept_from() {
        let (mut from, mut one) = (socket(), socket());
        // Bound to the loopback, nothing leaves for others.
        let far: SocketAddr = ([192, 0, 2, 1], 9).into();
        let sent = from.send_to_each(&[far, one.local_address()], &alone(b"hello"));
        assert_eq!(sent, 2);
        assert_eq!(got(&mut one), Some(b"hello".to_vec()));
    }
}
