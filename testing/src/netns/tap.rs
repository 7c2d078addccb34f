//! A packet socket: sees what arrives at an interface, and sends what it is told to.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use bcl_netns::Host;

/// The longest packet with what the kernel says about it.
pub(super) const FRAME_MAX: usize = 65_536 + 128;

/// A packet socket at one interface. A frame begins with what the kernel knows of its checksum and length (`struct
/// virtio_net_hdr`), for a checksum that nobody has filled in yet is none that is wrong; then comes Ethernet.
#[derive(Debug)]
pub struct Tap(OwnedFd);

impl Tap {
    /// At an interface of a namespace.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(super) fn open(namespace: &str, interface: u32) -> Result<Self> {
        Host::named(namespace)?
            .within(|| packet_socket(interface))
            .map(Self)
    }

    /// The next frame that has arrived and nobody has taken here, if there is one; its length.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        // SAFETY: the kernel writes no more than the buffer holds.
        let len = unsafe {
            libc::recv(
                self.0.as_raw_fd(),
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(len).ok()
    }

    /// Sends a frame. One that cannot leave, because the interface is down or gone, is lost, as it would be on a wire.
    /// False if it was, or is longer than frames are.
    pub fn send(&self, frame: &[u8]) -> bool {
        // SAFETY: the kernel reads the frame only.
        let sent = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
            )
        };
        sent >= 0
    }
}

impl AsRawFd for Tap {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn packet_socket(interface: u32) -> Result<OwnedFd> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(all)) };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING] {
        set(&socket, libc::SOL_PACKET, option, 1)?;
    }
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 16 << 20)?;
    // SAFETY: all zeros are a value of it.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = all;
    address.sll_ifindex = interface as i32;
    // SAFETY: the address is as long as said.
    let bound = unsafe {
        libc::bind(
            fd,
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        )
    };
    if bound == 0 {
        Ok(socket)
    } else {
        Err(Error::last_os_error())
    }
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> Result<()> {
    let len = size_of_val(&value) as u32;
    let value = (&raw const value).cast();
    // SAFETY: the value is as long as said.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, len) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}
