//! One question to the kernel: of what kind is an interface, which XDP program is on it, and how does it run?

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const HEADER_BYTES: usize = 16;
const IFINFOMSG_BYTES: usize = 16;
const ANSWER_BYTES: usize = 1 << 16;

// Attributes of <linux/if_link.h>.
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
/// Of IFLA_XDP_ATTACHED.
const IN_THE_DRIVER: u8 = 1;

/// A program on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnInterface {
    pub(crate) id: u32,
    pub(crate) is_native: bool,
}

/// An interface.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    /// The kernel's word for interfaces that it makes itself, as "veth"; empty for others.
    pub(crate) kind: String,
    pub(crate) program: Option<OnInterface>,
}

pub(crate) fn interface(interface: u32) -> io::Result<Interface> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::send(&socket, &question(interface), SendFlags::empty())?;
    let mut answer = vec![0; ANSWER_BYTES];
    let (len, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    read(&answer[..len])
}

fn question(interface: u32) -> Vec<u8> {
    let len = (HEADER_BYTES + IFINFOMSG_BYTES) as u32;
    let mut question = Vec::with_capacity(len as usize);
    question.extend(len.to_ne_bytes());
    question.extend(libc::RTM_GETLINK.to_ne_bytes());
    question.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    // Sequence and sender: nobody else's answers come to this socket. Then family, type.
    question.extend([0; 8 + 4]);
    question.extend(interface.to_ne_bytes());
    question.extend([0; 8]);
    question
}

fn read(answer: &[u8]) -> io::Result<Interface> {
    let kind = answer
        .get(4..6)
        .map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    let body = answer.get(HEADER_BYTES..).unwrap_or_default();
    if kind.map(i32::from) == Some(libc::NLMSG_ERROR) {
        let errno = word(body).unwrap_or(0) as i32;
        return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
    }
    let fields = body.get(IFINFOMSG_BYTES..).unwrap_or_default();
    let xdp = attribute(fields, IFLA_XDP).unwrap_or_default();
    let id = attribute(xdp, IFLA_XDP_PROG_ID).and_then(word);
    let attached = attribute(xdp, IFLA_XDP_ATTACHED).unwrap_or_default();
    let program = id.filter(|id| *id != 0).map(|id| OnInterface {
        id,
        is_native: attached == [IN_THE_DRIVER],
    });
    let kind = attribute(fields, IFLA_LINKINFO).and_then(|info| attribute(info, IFLA_INFO_KIND));
    let kind = kind.unwrap_or_default();
    let kind = String::from_utf8_lossy(kind.strip_suffix(&[0]).unwrap_or(kind)).into_owned();
    Ok(Interface { kind, program })
}

fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some(head) = bytes.first_chunk::<4>() {
        let len = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & libc::NLA_TYPE_MASK as u16;
        let value = bytes.get(4..len)?;
        if kind == wanted {
            return Some(value);
        }
        bytes = bytes.get(len.next_multiple_of(4)..)?;
    }
    None
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_program_are_found_among_other_attributes() {
        let mut answer = vec![0; HEADER_BYTES + IFINFOMSG_BYTES];
        let attribute = |kind: u16, value: &[u8]| {
            let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let attached = attribute(IFLA_XDP_ATTACHED, &[IN_THE_DRIVER]);
        let id = attribute(IFLA_XDP_PROG_ID, &77u32.to_ne_bytes());
        answer.extend(attribute(3, b"eth0"));
        let kind = attribute(IFLA_INFO_KIND, b"veth\0");
        answer.extend(attribute(IFLA_LINKINFO, &kind));
        answer.extend(attribute(IFLA_XDP | 1 << 15, &[attached, id].concat()));
        let program = OnInterface {
            id: 77,
            is_native: true,
        };
        let found = read(&answer).unwrap();
        assert_eq!(found.kind, "veth");
        assert_eq!(found.program, Some(program));
        answer.truncate(answer.len() - 1);
        assert_eq!(read(&answer).unwrap().program, None);
        answer.truncate(HEADER_BYTES + IFINFOMSG_BYTES);
        assert_eq!(read(&answer).unwrap().kind, "");
    }

    #[test]
    fn an_error_is_told_by_its_number() {
        let mut answer = vec![0; HEADER_BYTES];
        answer[4] = libc::NLMSG_ERROR as u8;
        answer.extend((-libc::ENODEV).to_ne_bytes());
        let error = read(&answer).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }
}
