//! One datagram to several addresses, in one system call.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use super::{Socket, calls, report};
use crate::address::RawAddress;

/// As many as the kernel takes in one call.
const AT_ONCE: usize = 1024;
/// How many errors that belong to earlier datagrams are passed over for each address.
const MAX_PENDING: usize = 4;

impl Socket {
    /// Sends the same bytes to each of the addresses, in order, and says to how many they have gone, or were tried in vain: less than
    /// all if the kernel has no room for more now.
    ///
    /// Who cannot be reached does not keep others from getting them: the network loses what is for it.
    pub fn send_to_each(&mut self, to: &[SocketAddr], bytes: &[u8]) -> usize {
        if let ([one], None) = (to, self.peer.as_ref()) {
            return self.send_to_one(*one, bytes);
        }
        let addresses: Vec<RawAddress> = to.iter().map(RawAddress::new).collect();
        let mut slice = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        let message = |address: &RawAddress| {
            // SAFETY: a `msghdr` of zeros is one without address, slices and control messages.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = std::ptr::from_ref(address).cast_mut().cast();
            message.msg_hdr.msg_namelen = address.len();
            message.msg_hdr.msg_iov = &raw mut slice;
            message.msg_hdr.msg_iovlen = 1;
            message
        };
        let mut messages: Vec<_> = addresses.iter().map(message).collect();
        let (mut gone, mut failures) = (0, 0);
        while gone < messages.len() {
            let end = messages.len().min(gone + AT_ONCE);
            // SAFETY: the messages point to the addresses, the slice and its bytes, which outlive the call and are only read.
            let sent = unsafe { calls::send_messages(self.fd.as_fd(), &mut messages[gone..end]) };
            match sent {
                Ok(sent) => (gone, failures) = (gone + sent, 0),
                Err(error) if is_full(&error) => break,
                // Of this address, or of what was sent before, which the kernel tells once.
                Err(error) => {
                    self.collect_if_pending(&error);
                    failures += 1;
                    if failures > MAX_PENDING {
                        (gone, failures) = (gone + 1, 0);
                    }
                }
            }
        }
        gone
    }

    fn send_to_one(&mut self, to: SocketAddr, bytes: &[u8]) -> usize {
        let raw = RawAddress::new(&to);
        let address = std::ptr::from_ref(&raw).cast();
        for _ in 0..=MAX_PENDING {
            // SAFETY: the address is live, and as long.
            let sent = unsafe { calls::send(self.fd.as_fd(), bytes, address, raw.len()) };
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

    #[test]
    fn all_get_it_whoever_is_not_there() {
        let (mut from, mut one, mut other) = (socket(), socket(), socket());
        let nobody = {
            let gone = socket();
            gone.local_address()
        };
        let to = [nobody, one.local_address(), nobody, other.local_address()];
        for round in 0..3_u8 {
            assert_eq!(from.send_to_each(&to, &[round; 100]), 4);
            assert_eq!(from.send_to_each(&[nobody], b"x"), 1);
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
        let sent = from.send_to_each(&[far, one.local_address()], b"hello");
        assert_eq!(sent, 2);
        assert_eq!(got(&mut one), Some(b"hello".to_vec()));
    }
}
