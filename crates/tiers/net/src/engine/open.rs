//! Opening a port on the network tier.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bcl_node::sandbox::Refused;
use bcl_node::{Nodes, NodesError};
use bcl_proto::{Config, Endpoint, Span};
use bcl_tier::Shared;
use bcl_types::{Address, LAST_REACHABLE_PORT};
use bcl_udp::{BindError, Socket};
use bcl_wire::udp_port;
use rustix::io::Errno;

use super::Engine;
use super::batches::Unsent;
use crate::deferred::Deferred;
use crate::interface::Interface;
use crate::interface::open::{Intercepted, Unavailable};
use crate::lent::Lent;
use crate::link::Reach;
use crate::udp::UdpSource;

/// How a port is to be reached from other nodes.
#[derive(Debug, Clone, Copy)]
pub struct NetConfig {
    /// A peer is given up after so much silence.
    pub dead_after: Duration,
    /// Its program, and those of its peers, know of long system messages.
    pub takes_long: bool,
    /// Who takes the packets.
    pub interception: Interception,
    /// The interface program takes streams as well, where the socket might be faster.
    pub keeps_streams: bool,
}

/// Whether the interface program is to take a port's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interception {
    /// They come by the socket.
    Never,
    /// If the agent opens the port; else they come by the socket.
    IfPossible,
    /// If not, the port is not opened.
    Always,
}

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The port's number has no UDP port.
    #[error(
        "port {0} cannot be reached from other nodes: ask for one up to {last}, or set BCL_DEVICE=shm",
        last = LAST_REACHABLE_PORT
    )]
    NoUdpPort(u16),
    /// Where the nodes are.
    #[error(transparent)]
    Nodes(#[from] NodesError),
    /// The UDP port.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The interface program cannot take its packets, as it was to.
    #[error("{0}; or set BCL_DEVICE=auto, with which other nodes are reached all the same, by UDP")]
    Interface(Unavailable),
    /// Numbers that nobody can guess.
    #[error("asking the kernel for random numbers: {0}")]
    Random(std::io::Error),
    /// A system call that this process may not make.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A second descriptor of a source.
    #[error("duplicating a socket: {0}")]
    Descriptor(Errno),
    /// The background thread.
    #[error("cannot start the background thread: {0}")]
    Thread(std::io::Error),
}

impl OpenError {
    /// Whether another port number is all that is needed.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Bind(BindError::InUse { .. }))
    }
}

/// Tells of port numbers whether nobody has their UDP ports. What else may be wrong is told when one is opened.
pub fn free_numbers() -> impl Fn(Address) -> bool {
    let nodes = Nodes::load().unwrap_or_default();
    move |own| {
        let port = udp_port::of_port(own.port);
        port.is_some_and(|port| !Socket::is_taken(own_ip(&nodes, own), port))
    }
}

/// The address of the node where packets come in.
fn own_ip(nodes: &Nodes, own: Address) -> IpAddr {
    let ip = nodes.addresses(own.node).first().copied();
    ip.unwrap_or(IpAddr::V4(own.node.0))
}

impl Engine {
    /// Binds the UDP port that belongs to the port's number, at the node's address.
    pub fn open(shared: &Arc<Shared>, config: NetConfig, nodes: Nodes) -> Result<Self, OpenError> {
        let own = shared.address;
        let port = udp_port::of_port(own.port).ok_or(OpenError::NoUdpPort(own.port))?;
        let ip = own_ip(&nodes, own);
        let secret = shared.key().packet_secret();
        let mut reach = Reach::Socket(None);
        let udp = UdpSource::bind(ip, port)?;
        let interface = match intercept(ip, &udp, secret, config) {
            Ok(interface) => interface,
            Err(why) if config.interception == Interception::Always => {
                return Err(OpenError::Interface(why));
            }
            Err(why) => {
                reach = Reach::Socket(Some(why.to_string()));
                None
            }
        };
        let mut protocol = Config::new(own, wall_clock_ns(), seed()?);
        protocol.dead_after = Span(config.dead_after.as_nanos() as u64);
        protocol.takes_long = config.takes_long;
        let interface = interface.map(|intercepted| {
            protocol.interface_ring_bytes = intercepted.ring_bytes;
            protocol.interface_takes_singly = intercepted.takes_singly;
            protocol.interface_keeps_streams = config.keeps_streams;
            reach = Reach::Interface {
                takes_own: intercepted.takes_own,
            };
            intercepted.interface.tell_puts(protocol.leaves_streams());
            intercepted.interface
        });
        Ok(Self {
            endpoint: Endpoint::new(protocol, &secret),
            udp,
            interface,
            reach,
            lent: Lent::default(),
            deferred: Deferred::default(),
            shared: Arc::clone(shared),
            nodes,
            ip,
            is_busy: false,
            looked_at: super::now(),
            looked_at_clock: super::now(),
            unsent: Unsent::default(),
        })
    }
}

/// The interface program's side of the port at a socket, if that is wished.
fn intercept(
    ip: IpAddr,
    udp: &UdpSource,
    secret: [u8; 32],
    config: NetConfig,
) -> Result<Option<Intercepted>, Unavailable> {
    let can_do_without = match config.interception {
        Interception::Never => return Ok(None),
        Interception::IfPossible => true,
        Interception::Always => false,
    };
    let socket = udp.common();
    Interface::open(ip, socket, secret, config.dead_after, can_do_without).map(Some)
}

/// Later ports have larger incarnations, whichever process opens them.
fn wall_clock_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

fn seed() -> Result<[u64; 2], OpenError> {
    let mut bytes = [0; 16];
    bcl_os::random(&mut bytes).map_err(OpenError::Random)?;
    let [low, high] = [0, 8].map(|at| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes));
    Ok([low, high])
}
