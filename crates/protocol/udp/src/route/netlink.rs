//! Questions to the kernel about links, addresses and routes (rtnetlink(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bcl_os::Fd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Sizes of the fixed parts: `nlmsghdr`, `rtmsg`, `ifinfomsg`, `ifaddrmsg`.
const HEADER_BYTES: usize = 16;
const RTMSG_BYTES: usize = 12;
const IFINFOMSG_BYTES: usize = 16;
const IFADDRMSG_BYTES: usize = 8;

/// The kernel's answers come in pieces of at most this.
const PIECE_BYTES: usize = 1 << 16;

/// A link of the kernel's list.
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) mtu: u32,
    pub(super) flags: u32,
}

/// An address, the length of its prefix, and whose it is.
pub(super) struct AddressOf {
    pub(super) interface: u32,
    pub(super) address: (IpAddr, u8),
}

/// What the kernel does first with a packet.
pub(super) struct NextHop {
    pub(super) interface: u32,
    pub(super) gateway: Option<IpAddr>,
    pub(super) is_local: bool,
}

pub(super) fn links() -> io::Result<Vec<Link>> {
    let answers = ask(libc::RTM_GETLINK, libc::NLM_F_DUMP, &[0; IFINFOMSG_BYTES])?;
    Ok(answers.iter().filter_map(|body| link(body)).collect())
}

fn link(body: &[u8]) -> Option<Link> {
    let fields = attributes(body.get(IFINFOMSG_BYTES..)?);
    let info = fields.get(libc::IFLA_LINKINFO);
    let info = info.map(attributes).unwrap_or_default();
    Some(Link {
        index: u32_at(body, 4)?,
        name: text(fields.get(libc::IFLA_IFNAME)?),
        kind: info.get(libc::IFLA_INFO_KIND).map(text),
        mtu: u32_at(fields.get(libc::IFLA_MTU)?, 0)?,
        flags: u32_at(body, 8)?,
    })
}

pub(super) fn addresses() -> io::Result<Vec<AddressOf>> {
    let answers = ask(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; IFADDRMSG_BYTES])?;
    Ok(answers.iter().filter_map(|body| address(body)).collect())
}

fn address(body: &[u8]) -> Option<AddressOf> {
    let fields = attributes(body.get(IFADDRMSG_BYTES..)?);
    // On a point-to-point link, IFA_ADDRESS is the other end.
    let ours = fields
        .get(libc::IFA_LOCAL)
        .or_else(|| fields.get(libc::IFA_ADDRESS));
    Some(AddressOf {
        interface: u32_at(body, 4)?,
        address: (ip(ours?)?, *body.get(1)?),
    })
}

pub(super) fn next_hop(to: IpAddr) -> io::Result<NextHop> {
    let (family, octets) = match to {
        IpAddr::V4(v4) => (libc::AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6, v6.octets().to_vec()),
    };
    let mut question = vec![0; RTMSG_BYTES];
    question[0] = family as u8;
    question[1] = octets.len() as u8 * 8;
    let attribute_len = (4 + octets.len()) as u16;
    question.extend(attribute_len.to_ne_bytes());
    question.extend(libc::RTA_DST.to_ne_bytes());
    question.extend(octets);
    let answers = ask(libc::RTM_GETROUTE, 0, &question)?;
    let hop = answers.first().and_then(|body| hop(body));
    hop.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel names no interface"))
}

fn hop(body: &[u8]) -> Option<NextHop> {
    let fields = attributes(body.get(RTMSG_BYTES..)?);
    // IPv4 behind an IPv6 router: the family stands before the address.
    let via = fields.get(libc::RTA_VIA).and_then(|via| via.get(2..));
    Some(NextHop {
        interface: u32_at(fields.get(libc::RTA_OIF)?, 0)?,
        gateway: fields.get(libc::RTA_GATEWAY).or(via).and_then(ip),
        is_local: *body.get(7)? == libc::RTN_LOCAL,
    })
}

/// Sends one question; returns the bodies of the answers.
fn ask(kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    // Protocol 0 is NETLINK_ROUTE.
    let (family, of_socket) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = Fd::make(|| rustix::net::socket_with(family, SocketType::RAW, of_socket, None))?;
    let len = (HEADER_BYTES + body.len()) as u32;
    let flags = (flags | libc::NLM_F_REQUEST) as u16;
    let mut question = Vec::with_capacity(HEADER_BYTES + body.len());
    question.extend(len.to_ne_bytes());
    question.extend(kind.to_ne_bytes());
    question.extend(flags.to_ne_bytes());
    // Sequence and sender: nobody else's answers come to this socket.
    question.extend([0; 8]);
    question.extend(body);
    rustix::net::send(&socket, &question, SendFlags::empty())?;

    let is_list = flags & libc::NLM_F_DUMP as u16 != 0;
    let mut piece = vec![0; PIECE_BYTES];
    let mut answers = Vec::new();
    loop {
        let (len, _) = rustix::net::recv(&socket, &mut piece[..], RecvFlags::empty())?;
        if take_piece(&piece[..len], &mut answers)? || !is_list {
            return Ok(answers);
        }
    }
}

/// Adds the answers in `piece`; `true` at the end of a list.
fn take_piece(mut piece: &[u8], answers: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while let (Some(len), Some(kind)) = (u32_at(piece, 0), u16_at(piece, 4)) {
        let Some(body) = piece.get(HEADER_BYTES..len as usize) else {
            break;
        };
        match i32::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                let errno = u32_at(body, 0).map_or(0, |negative| (negative as i32).wrapping_neg());
                return Err(io::Error::from_raw_os_error(errno));
            }
            _ => answers.push(body.to_vec()),
        }
        piece = piece
            .get((len as usize).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(false)
}

/// The attributes at the end of an answer.
#[derive(Default)]
struct Attributes<'a>(Vec<(u16, &'a [u8])>);

impl<'a> Attributes<'a> {
    fn get(&self, wanted: u16) -> Option<&'a [u8]> {
        let mut all = self.0.iter();
        all.find(|(kind, _)| *kind == wanted)
            .map(|(_, value)| *value)
    }
}

fn attributes(mut bytes: &[u8]) -> Attributes<'_> {
    let mut found = Vec::new();
    while let (Some(len), Some(kind)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let Some(value) = bytes.get(4..usize::from(len)) else {
            break;
        };
        // The upper bits say how the value is to be read.
        found.push((kind & libc::NLA_TYPE_MASK as u16, value));
        bytes = bytes
            .get(usize::from(len).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Attributes(found)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(v4).into());
    }
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

/// Up to the zero that ends it.
fn text(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_error_is_told_by_its_number() {
        let mut piece = vec![20, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        piece.extend((-libc::ENETUNREACH).to_ne_bytes());
        let error = take_piece(&piece, &mut Vec::new()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENETUNREACH));
    }

    proptest! {
        #[test]
        fn no_answer_is_too_strange(bytes in prop::collection::vec(0..40_u8, 0..200)) {
            let mut answers = Vec::new();
            // An error is as good as any other answer here.
            let _ = take_piece(&bytes, &mut answers);
            for body in answers.iter().chain([&bytes]) {
                let _ = (link(body), address(body), hop(body));
            }
        }
    }
}
