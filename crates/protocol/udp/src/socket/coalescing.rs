//! When the kernel coalesces what it receives (`UDP_GRO`): while a stream comes.
//!
//! It makes streams several times as quick, but each lone datagram waits for others to join it (see the
//! crate's documentation for how long). Without it, what a sender has sent in one piece still arrives, one by one.

use std::os::fd::BorrowedFd;

use crate::options::{self, UDP_GRO};

/// So many large datagrams one after the other are the beginning of a stream.
const STREAM_DATAGRAMS: u32 = 4;

/// Less than this does not count as large: streams fill their datagrams.
const LARGE_BYTES: usize = 512;

/// So many without a companion are the end of it.
const LONE_DATAGRAMS: u32 = 64;

/// What has been received lately, and what follows from it.
#[derive(Debug)]
pub(super) struct Coalescing {
    is_known: bool,
    is_on: bool,
    /// While off, large ones in a row; while on, lone ones in a row.
    in_a_row: u32,
}

impl Coalescing {
    /// Switched off; for ever if the kernel does not know it.
    pub(super) fn new(is_known: bool) -> Coalescing {
        Coalescing {
            is_known,
            is_on: false,
            in_a_row: 0,
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// A call has taken `len_bytes`.
    pub(super) fn on_arrival(&mut self, fd: BorrowedFd<'_>, len_bytes: usize, coalesced: bool) {
        let counts = if self.is_on {
            !coalesced
        } else {
            len_bytes >= LARGE_BYTES
        };
        self.in_a_row = if counts {
            self.in_a_row.saturating_add(1)
        } else {
            0
        };
        if !self.is_on && self.is_known && self.in_a_row >= STREAM_DATAGRAMS {
            self.switch(fd, true);
        }
    }

    /// A call has found nothing: a stream pauses at most.
    pub(super) fn on_nothing(&mut self, fd: BorrowedFd<'_>) {
        if !self.is_on {
            self.in_a_row = 0;
            return;
        }
        if self.in_a_row < LONE_DATAGRAMS {
            return;
        }
        self.switch(fd, false);
        // The kernel tells sizes only while it is on, also of what was coalesced before. So it goes on if
        // something has come meanwhile.
        if rustix::io::ioctl_fionread(fd).is_ok_and(|waiting| waiting > 0) {
            self.switch(fd, true);
        }
    }

    /// Nothing that comes this way is going to be a stream. Say so when nothing waits.
    pub(super) fn stop(&mut self, fd: BorrowedFd<'_>) {
        if self.is_on {
            self.in_a_row = LONE_DATAGRAMS;
            self.on_nothing(fd);
        }
    }

    fn switch(&mut self, fd: BorrowedFd<'_>, on: bool) {
        self.in_a_row = 0;
        // It was accepted when the socket was set up, so it is now.
        if options::set(fd, (libc::SOL_UDP, UDP_GRO), on.into()).is_ok() {
            self.is_on = on;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_stream_switches_it_on_and_its_end_off() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let fd = socket.as_fd();
        let is_on = || options::get(fd, (libc::SOL_UDP, UDP_GRO)).unwrap() == 1;
        let mut coalescing = Coalescing::new(true);
        for _ in 0..100 {
            coalescing.on_arrival(fd, 8972, false);
            coalescing.on_nothing(fd);
        }
        assert!(!is_on(), "a ping-pong is no stream");
        for _ in 0..STREAM_DATAGRAMS {
            coalescing.on_arrival(fd, 1472, false);
        }
        assert!(coalescing.is_on() && is_on());
        for _ in 0..LONE_DATAGRAMS {
            coalescing.on_nothing(fd);
            assert!(coalescing.is_on());
            coalescing.on_arrival(fd, 72, false);
        }
        coalescing.on_nothing(fd);
        assert!(!coalescing.is_on() && !is_on());
    }

    #[test]
    fn what_the_kernel_does_not_know_stays_off() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut coalescing = Coalescing::new(false);
        for _ in 0..100 {
            coalescing.on_arrival(socket.as_fd(), 1472, false);
        }
        assert!(!coalescing.is_on());
    }
}
