//! The packets of an interface, while they pass.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::failure::{Failure, Result};

/// Longer than any IP packet, also one of segments that are not taken apart yet.
const BUFFER_BYTES: usize = 1 << 17;
/// As many packets as come while this program is off its core.
static QUEUE_BYTES: libc::c_int = 8 << 20;

/// A socket that sees every IP packet of an interface, or of all.
pub struct Live {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl Live {
    pub fn open(interface: Option<&str>) -> Result<Self> {
        let protocol = libc::c_int::from((libc::ETH_P_ALL as u16).to_be());
        // SAFETY: no memory is passed; the result is looked at.
        let socket = unsafe {
            libc::socket(
                libc::AF_PACKET,
                libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
                protocol,
            )
        };
        if socket < 0 {
            return Err(refused(io::Error::last_os_error()));
        }
        // SAFETY: the descriptor was just made, and nobody else has it.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let live = Self {
            socket,
            buffer: vec![0; BUFFER_BYTES],
        };
        live.enlarge_queue();
        if let Some(interface) = interface {
            live.bind(interface)?;
        }
        Ok(live)
    }

    /// More than the system's limit is granted to root; less does as well.
    fn enlarge_queue(&self) {
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            // SAFETY: the value lives for the call and has the length that is said.
            unsafe {
                libc::setsockopt(
                    self.socket.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const QUEUE_BYTES).cast(),
                    size_of_val(&QUEUE_BYTES) as libc::socklen_t,
                );
            }
        }
    }

    fn bind(&self, interface: &str) -> Result<()> {
        let index = CString::new(interface)
            .ok()
            // SAFETY: the name ends with a zero byte and lives for the call.
            .map(|name| unsafe { libc::if_nametoindex(name.as_ptr()) })
            .filter(|index| *index != 0)
            .ok_or_else(|| {
                Failure::new(format!(
                    "there is no interface '{interface}': `ip link` lists them"
                ))
            })?;
        // SAFETY: all zeros is a value of this plain structure.
        let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        // SAFETY: the address lives for the call and has the length that is said.
        let result = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            return Err(Failure::system(
                format_args!("capture on {interface}"),
                error,
            ));
        }
        Ok(())
    }

    /// Waits for the next IP packet.
    pub fn next(&mut self) -> Result<(Duration, &[u8])> {
        loop {
            let Some((len, address)) = self.receive(0)? else {
                continue;
            };
            // What a host sends to itself passes twice, on its way out and on its way in.
            let is_echo = address.sll_hatype == libc::ARPHRD_LOOPBACK
                && address.sll_pkttype == libc::PACKET_OUTGOING;
            let protocol = i32::from(u16::from_be(address.sll_protocol));
            if !is_echo && matches!(protocol, libc::ETH_P_IP | libc::ETH_P_IPV6) {
                return Ok((self.time(), &self.buffer[..len.min(BUFFER_BYTES)]));
            }
        }
    }

    /// The next packet that has come in already, of whatever protocol.
    pub fn next_that_came(&mut self) -> Result<Option<(Duration, &[u8])>> {
        loop {
            let Some((len, address)) = self.receive(libc::MSG_DONTWAIT)? else {
                return Ok(None);
            };
            if address.sll_pkttype != libc::PACKET_OUTGOING {
                return Ok(Some((self.time(), &self.buffer[..len.min(BUFFER_BYTES)])));
            }
        }
    }

    /// Nothing if there is nothing yet, and waiting is not wanted.
    fn receive(&mut self, flags: libc::c_int) -> Result<Option<(usize, libc::sockaddr_ll)>> {
        loop {
            // SAFETY: all zeros is a value of this plain structure.
            let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
            let mut address_len = size_of_val(&address) as libc::socklen_t;
            // SAFETY: buffer and address live for the call and have the lengths that are said.
            let len = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    self.buffer.as_mut_ptr().cast(),
                    self.buffer.len(),
                    flags,
                    (&raw mut address).cast(),
                    &raw mut address_len,
                )
            };
            match usize::try_from(len) {
                Ok(len) => return Ok(Some((len, address))),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() == io::ErrorKind::WouldBlock {
                        return Ok(None);
                    }
                    let is_passing = matches!(
                        error.raw_os_error(),
                        Some(libc::EINTR | libc::ENOBUFS | libc::ENETDOWN)
                    );
                    if !is_passing {
                        return Err(Failure::system("capture packets", error));
                    }
                }
            }
        }
    }

    /// When the last packet came, as the kernel noted it.
    fn time(&self) -> Duration {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: this request writes one timespec, which lives for the call.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCGSTAMPNS, &raw mut time) };
        match (
            result,
            u64::try_from(time.tv_sec),
            u32::try_from(time.tv_nsec),
        ) {
            (0, Ok(seconds), Ok(nanoseconds)) => Duration::new(seconds, nanoseconds),
            _ => std::time::UNIX_EPOCH.elapsed().unwrap_or_default(),
        }
    }
}

/// `linux/sockios.h`; libc has it for some systems only.
const SIOCGSTAMPNS: libc::Ioctl = 0x8907;

fn refused(error: io::Error) -> Failure {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Failure::new(
            "the packets of an interface are shown to root and CAP_NET_RAW only: use sudo, or \
             `setcap cap_net_raw+ep` on a copy of bcl, or record with tcpdump and read with --file",
        ),
        _ => Failure::system("open a packet socket", error),
    }
}
