//! How people are told of a connection: its tier, how its packets come, and why so.

use std::net::{IpAddr, SocketAddr};

use bcl_proto::{PeerInfo, WhyNot};
use bcl_tier::LinkInfo;
use bcl_types::Device;

use crate::interface::Interface;

/// Why a connection was taken back from the interface program.
const UNHEARD: &str = "the peer did not hear what the program at the interface answered (`bcl doctor` says how to mend that)";

const STREAMS: &str =
    "it comes in a stream, which the socket takes faster (BCL_STREAMS=xdp changes that)";

/// What the peer's interface program does for us.
const SERVED: &str = "; the program at its interface takes what is sent to it, and serves its windows on DMA buffers";

/// Whose packets the interface program can take; the same as long as the port lives.
#[derive(Debug)]
pub enum Reach {
    /// It takes the packets of peers.
    Interface {
        /// Of the own host too.
        takes_own: bool,
    },
    /// There is none, and why, if one was wished.
    Socket(Option<String>),
}

impl Reach {
    /// Whether the interface program sees what comes from there to `own`.
    pub fn sees(&self, own: IpAddr, from: IpAddr) -> bool {
        matches!(self, Self::Interface { takes_own } if *takes_own || own != from)
    }

    /// Why the interface program does not take what comes from there.
    fn why_not(&self, own: IpAddr, from: IpAddr, interface: Option<&Interface>) -> Option<String> {
        match self {
            Self::Socket(why) => why.clone(),
            Self::Interface { .. } if !self.sees(own, from) => Some(format!(
                "the program is not at interface lo, which all that {own} sends to itself passes"
            )),
            Self::Interface { .. } => interface.map(Interface::trouble),
        }
    }
}

/// A peer that has just been connected with.
pub fn of_new(reach: &Reach, own: IpAddr, to: Option<SocketAddr>) -> LinkInfo {
    let Some(to) = to else {
        let copy = String::new();
        return LinkInfo {
            device: Device::Udp,
            copy,
        };
    };
    let is_seen = reach.sees(own, to.ip());
    let why_not = reach.why_not(own, to.ip(), None);
    told(&format!("datagrams to {to}"), is_seen, why_not)
}

/// A connection, as it is now.
pub fn of_connection(
    info: &PeerInfo,
    reach: &Reach,
    own: IpAddr,
    interface: Option<&Interface>,
    has_line: bool,
) -> LinkInfo {
    let to = info.path.to;
    let by = if has_line {
        " by a socket of its own"
    } else {
        ""
    };
    let datagrams = format!(
        "datagrams of up to {} bytes{by} to {to}",
        info.datagram_bytes
    );
    let why_not = match info.why_not {
        Some(WhyNot::Unheard) => Some(UNHEARD.to_owned()),
        Some(WhyNot::Streams) => Some(STREAMS.to_owned()),
        Some(WhyNot::Bypass) | None => reach.why_not(own, to.ip(), interface),
    };
    let mut told = told(&datagrams, info.is_entered, why_not);
    if info.is_entered_there {
        told.copy += SERVED;
    }
    told
}

fn told(datagrams: &str, is_seen: bool, why_not: Option<String>) -> LinkInfo {
    let (device, who) = match (is_seen, why_not) {
        (true, _) => (
            Device::Xdp,
            "; the program at the interface takes what it sends".to_owned(),
        ),
        (false, Some(why)) => (
            Device::Udp,
            format!("; what it sends comes by the socket: {why}"),
        ),
        (false, None) => (Device::Udp, String::new()),
    };
    let copy = format!("{datagrams}, because it is on another node{who}");
    LinkInfo { device, copy }
}

#[test]
fn a_connection_says_why_it_is_not_the_interface_programs() {
    let ip = |last| IpAddr::from([10, 0, 0, last]);
    let peer = |last| Some(SocketAddr::new(ip(last), 21_000));
    let by_interface = Reach::Interface { takes_own: false };
    let new = of_new(&by_interface, ip(1), peer(2));
    assert_eq!(new.device, Device::Xdp);
    assert!(new.copy.contains("10.0.0.2:21000"), "{}", new.copy);
    let own = of_new(&by_interface, ip(1), peer(1));
    assert!(own.device == Device::Udp && own.copy.contains("not at interface lo"));
    let own = of_new(&Reach::Interface { takes_own: true }, ip(1), peer(1));
    assert_eq!(own.device, Device::Xdp);
    let without = Reach::Socket(Some("no agent".to_owned()));
    let new = of_new(&without, ip(1), peer(2));
    assert!(new.device == Device::Udp && new.copy.ends_with("by the socket: no agent"));
    let new = of_new(&Reach::Socket(None), ip(1), peer(2));
    assert!(new.device == Device::Udp && new.copy.ends_with("another node"));
}
