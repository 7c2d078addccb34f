//! A batch of datagrams to one address goes out with as few system calls as the kernel permits.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::ptr;

use super::control::{self, SegmentRoom};
use super::report::Trouble;
use super::runs::{self, MAX_SEGMENTS};
use super::{HEADER_BYTES, Socket, calls};
use crate::address::RawAddress;
use crate::options::{self, DISCOVER_V4};

/// Up to here a lone payload is copied behind its header, so that `sendto` can take both: the copy
/// costs less than the 66 ns for which the kernel reads a list of two slices.
const COPY_UP_TO_BYTES: usize = 512 - HEADER_BYTES;

/// How many errors that belong to earlier datagrams are passed over in one call.
const MAX_PENDING: usize = 4;

/// So many refusals in a row are not a queue that is full for a moment.
const MAX_REFUSALS: u32 = 4;

/// What every IPv4 path takes, or has to be cut for: longer datagrams are made shorter by who sends them.
const FLOOR_BYTES: usize = 508;

/// How the datagrams of a batch leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As many at once as the kernel takes.
    Together,
    /// One by one: to who may get as one what is sent as one (`UDP_SEGMENT`), and cannot tell.
    Singly,
    /// One by one, and the network may cut them ("don't fragment" is not set). IPv6 takes 1,280 B everywhere and cuts nothing.
    Fragmentable,
}

/// One datagram of a batch: a header, and what follows it wherever it lies.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Stands first.
    pub header: [u8; HEADER_BYTES],
    /// Follow, in order; either may be empty.
    pub payload: [&'a [u8]; 2],
}

impl Datagram<'_> {
    /// Its length on the wire, without the headers of UDP and IP.
    pub fn len_bytes(&self) -> usize {
        HEADER_BYTES + self.payload[0].len() + self.payload[1].len()
    }
}

/// Why the first datagram of a batch could not be sent. Nothing of the batch was.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The socket's buffer or the interface's queue is full: keep the datagrams, and try again later.
    #[error("no room in the send buffer for {to}: try again a little later")]
    Full {
        /// Where to.
        to: SocketAddr,
    },
    /// A datagram is larger than an interface takes. [`Report`](super::Report)s tell the MTU.
    #[error("a datagram of {datagram_bytes} B for {to} is larger than the interface takes{}: send smaller ones", mtu_text(.mtu))]
    TooLarge {
        /// Where to.
        to: SocketAddr,
        /// The first of the batch.
        datagram_bytes: usize,
        /// What the kernel says of it, with IP's headers.
        mtu: Option<u32>,
    },
    /// No route, or no neighbour.
    #[error("{to} cannot be reached ({source}): see `ip route get {}`", .to.ip())]
    Unreachable {
        /// Where to.
        to: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A rule of this machine's own firewall.
    #[error(
        "the firewall of this machine lets no packet out to {to}: permit UDP to ports 20001-28191"
    )]
    Denied {
        /// Where to.
        to: SocketAddr,
    },
    /// Anything else.
    #[error("cannot send to {to}: {source}")]
    System {
        /// Where to.
        to: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

fn mtu_text(mtu: &Option<u32>) -> String {
    mtu.map(|mtu| format!(" (its MTU is {mtu})"))
        .unwrap_or_default()
}

/// Lists for the kernel, kept so that a send allocates nothing; empty between sends.
#[derive(Default)]
pub(super) struct Scratch {
    slices: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    rooms: Vec<SegmentRoom>,
    datagrams: Vec<usize>,
}

// SAFETY: the pointers in the lists are used only within the call that has put them there.
unsafe impl Send for Scratch {}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl Socket {
    /// Sends the datagrams in order and says how many have gone, at least one unless `batch` is empty.
    ///
    /// When that is not all, the kernel has no room for more now; the caller keeps the rest. What the kernel refuses
    /// again and again counts as gone: the network loses it. No payload is copied in user space but that of a lone
    /// small datagram.
    pub fn send(&mut self, to: SocketAddr, batch: &[Datagram<'_>]) -> Result<usize, SendError> {
        self.send_as(to, batch, Manner::Together)
    }

    /// The same, in a manner of its own.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_as(
        &mut self,
        to: SocketAddr,
        batch: &[Datagram<'_>],
        manner: Manner,
    ) -> Result<usize, SendError> {
        if manner != Manner::Fragmentable || !to.is_ipv4() {
            return self.send_in(to, batch, manner);
        }
        // Two more calls for each batch: such paths are rare, and slow.
        self.permit_fragments(true);
        let sent = self.send_in(to, batch, manner);
        self.permit_fragments(false);
        sent
    }

    /// Whether the network may cut what is sent from now on, where it is too long for a way. Refused, it is as before, and what is too
    /// long is lost.
    pub fn permit_fragments(&self, permitted: bool) {
        let way = match permitted {
            true => libc::IP_PMTUDISC_DONT,
            false => libc::IP_PMTUDISC_PROBE,
        };
        let _ = options::set(self.fd.as_fd(), DISCOVER_V4, way);
    }

    fn send_in(
        &mut self,
        to: SocketAddr,
        batch: &[Datagram<'_>],
        manner: Manner,
    ) -> Result<usize, SendError> {
        let mut together = manner == Manner::Together && self.settings.segments;
        let raw = match self.peer {
            Some(_) => None,
            None => Some(RawAddress::new(&to)),
        };
        let raw = raw.as_ref();
        let mut sent = 0;
        let mut pending = 0;
        while sent < batch.len() {
            let rest = &batch[sent..];
            let result = match rest {
                [one] if one.len_bytes() <= HEADER_BYTES + COPY_UP_TO_BYTES => {
                    self.send_copy(raw, one)
                }
                _ => self.send_batch(raw, rest, together),
            };
            let errno = match result {
                Ok(gone) => {
                    sent += gone;
                    self.refusals = 0;
                    continue;
                }
                Err(errno) => errno,
            };
            if together && self.is_about_segments(errno) {
                together = false;
                continue;
            }
            // It may be the network's answer to an earlier datagram, which the kernel tells once.
            if pending < MAX_PENDING && super::report::may_be_pending(errno) {
                pending += 1;
                self.collect_reports();
                continue;
            }
            // A full queue says so, and is empty soon; the other end of a veth that lets nothing so long in says the
            // same, for ever.
            if errno == libc::ENOBUFS {
                self.refusals += 1;
                if self.refusals >= MAX_REFUSALS {
                    self.refusals = 0;
                    let run = runs::first_run(rest.iter().map(Datagram::len_bytes), together);
                    sent += run.map_or(1, |run| run.datagrams);
                    continue;
                }
            }
            // No interface that IPv4 runs on may refuse this, but some do.
            let is_short = to.is_ipv4() && rest[0].len_bytes() <= FLOOR_BYTES;
            if errno == libc::EMSGSIZE && is_short && manner != Manner::Fragmentable {
                if let Ok(gone) = self.send_as(to, &rest[..1], Manner::Fragmentable) {
                    sent += gone;
                    continue;
                }
            }
            if sent > 0 {
                break;
            }
            return Err(self.sorted(to, rest[0].len_bytes(), errno));
        }
        Ok(sent)
    }

    /// Some interfaces cannot segment (EIO), and older kernels say EINVAL of segments over the MTU, which one by one get a truer
    /// error.
    pub(super) fn is_about_segments(&mut self, errno: libc::c_int) -> bool {
        self.settings.segments &= errno != libc::EIO;
        matches!(errno, libc::EIO | libc::EINVAL)
    }

    /// The cheapest way for one small datagram.
    fn send_copy(
        &self,
        to: Option<&RawAddress>,
        datagram: &Datagram<'_>,
    ) -> Result<usize, libc::c_int> {
        let mut copy = [0; HEADER_BYTES + COPY_UP_TO_BYTES];
        let [first, second] = datagram.payload;
        let len = datagram.len_bytes();
        let second_at = HEADER_BYTES + first.len();
        copy[..HEADER_BYTES].copy_from_slice(&datagram.header);
        copy[HEADER_BYTES..second_at].copy_from_slice(first);
        copy[second_at..len].copy_from_slice(second);
        let (address, address_len) = parts(to);
        // SAFETY: the address is live, or null.
        let sent = unsafe { calls::send(self.fd.as_fd(), &copy[..len], address, address_len) };
        sent.map(|_| 1).map_err(errno)
    }

    /// Up to [`MAX_SEGMENTS`] datagrams, each run of them as one message.
    fn send_batch(
        &mut self,
        to: Option<&RawAddress>,
        batch: &[Datagram<'_>],
        together: bool,
    ) -> Result<usize, libc::c_int> {
        let batch = &batch[..batch.len().min(MAX_SEGMENTS)];
        let scratch = &mut self.scratch;
        scratch.fill(to, batch, together);
        // SAFETY: `fill` has made each message of pointers and lengths of the batch, of `to` and of the lists of
        // the scratch, all of which outlive the call.
        let gone = unsafe { calls::send_messages(self.fd.as_fd(), &mut scratch.messages) };
        let gone = gone.map(|messages| scratch.datagrams[..messages].iter().sum());
        scratch.clear();
        gone.map_err(errno)
    }

    fn sorted(&self, to: SocketAddr, datagram_bytes: usize, errno: libc::c_int) -> SendError {
        let source = io::Error::from_raw_os_error(errno);
        match errno {
            libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => SendError::Full { to },
            libc::EMSGSIZE => SendError::TooLarge {
                to,
                datagram_bytes,
                mtu: self.reported_mtu(to),
            },
            libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENETDOWN | libc::EHOSTDOWN => {
                SendError::Unreachable { to, source }
            }
            libc::EPERM => SendError::Denied { to },
            _ => SendError::System { to, source },
        }
    }

    /// What the last report on a datagram that was too large for `to` has said.
    fn reported_mtu(&self, to: SocketAddr) -> Option<u32> {
        let mut latest_first = self.reports.iter().rev();
        latest_first.find_map(|report| match report.trouble {
            Trouble::TooLarge { mtu } if report.to.ip() == to.ip() => Some(mtu),
            _ => None,
        })
    }
}

impl Scratch {
    fn fill(&mut self, to: Option<&RawAddress>, batch: &[Datagram<'_>], together: bool) {
        self.clear();
        // The messages point into these two lists, which therefore must not move while they grow.
        self.slices.reserve(batch.len() * 3);
        self.rooms.reserve(batch.len());
        let mut rest = batch;
        while let Some(run) = runs::first_run(rest.iter().map(Datagram::len_bytes), together) {
            let (taken, later) = rest.split_at(run.datagrams);
            self.push(to, taken, run.segment_bytes);
            rest = later;
        }
    }

    fn push(&mut self, to: Option<&RawAddress>, run: &[Datagram<'_>], segment_bytes: usize) {
        let first_slice = self.slices.len();
        for datagram in run {
            let parts = [
                &datagram.header[..],
                datagram.payload[0],
                datagram.payload[1],
            ];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            self.slices.extend(parts.map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            }));
        }
        // SAFETY: a `msghdr` of zeros is one without address, slices and control messages.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        let (address, address_len) = parts(to);
        message.msg_name = address.cast_mut().cast();
        message.msg_namelen = address_len;
        message.msg_iov = self.slices[first_slice..].as_mut_ptr();
        message.msg_iovlen = (self.slices.len() - first_slice) as _;
        if let ([_, _, ..], Ok(segment_bytes)) = (run, u16::try_from(segment_bytes)) {
            let index = self.rooms.len();
            self.rooms.push(SegmentRoom::EMPTY);
            control::ask_for_segments(&mut message, &mut self.rooms[index], segment_bytes);
        }
        self.messages.push(libc::mmsghdr {
            msg_hdr: message,
            msg_len: 0,
        });
        self.datagrams.push(run.len());
    }

    fn clear(&mut self) {
        self.slices.clear();
        self.rooms.clear();
        self.messages.clear();
        self.datagrams.clear();
    }
}

/// An address as system calls take it; null if the socket has one of its own.
fn parts(address: Option<&RawAddress>) -> (*const libc::sockaddr, libc::socklen_t) {
    address.map_or((ptr::null(), 0), |address| {
        (ptr::from_ref(address).cast(), address.len())
    })
}

fn errno(error: io::Error) -> libc::c_int {
    error.raw_os_error().unwrap_or(0)
}
