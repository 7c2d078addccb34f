//! Opening a port on the network tier.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bcl_node::{JobKey, Nodes, NodesError};
use bcl_port::Shared;
use bcl_proto::{Config, Endpoint, Span};
use bcl_udp::BindError;
use bcl_wire::udp_port;
use rustix::io::Errno;

use super::Engine;
use super::batches::Unsent;
use crate::deferred::Deferred;
use crate::lent::Lent;
use crate::udp::UdpSource;

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The port's number has no UDP port.
    #[error(
        "port {0} cannot be reached from other nodes: ask for one up to {last}, or set BCL_DEVICE=shm",
        last = udp_port::LAST_PORT
    )]
    NoUdpPort(u16),
    /// Where the nodes are.
    #[error(transparent)]
    Nodes(#[from] NodesError),
    /// The UDP port.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Numbers that nobody can guess.
    #[error("asking the kernel for random numbers: {0}")]
    Random(Errno),
    /// A second descriptor of a source.
    #[error("duplicating a socket: {0}")]
    Descriptor(Errno),
    /// The background thread.
    #[error("cannot start the background thread: {0}")]
    Thread(std::io::Error),
}

/// What the packets of the job that `key` belongs to are checked with, from which the key cannot be found
/// ([WIRE-3.3]).
pub fn packet_secret(key: &JobKey) -> [u8; 32] {
    key.derive("bcl udp")
}

impl Engine {
    /// Binds the UDP port that belongs to the port's number, at the node's address.
    pub fn open(
        shared: &Arc<Shared>,
        key: &JobKey,
        dead_after: Duration,
        nodes: Nodes,
    ) -> Result<Self, OpenError> {
        let own = shared.address;
        let port = udp_port::of_port(own.port).ok_or(OpenError::NoUdpPort(own.port))?;
        let ip = nodes.addresses(own.node).first().copied();
        let ip = ip.unwrap_or(IpAddr::V4(own.node.0));
        let udp = UdpSource::bind(ip, port)?;
        let mut config = Config::new(own, wall_clock_ns(), seed()?);
        config.dead_after = Span(dead_after.as_nanos() as u64);
        Ok(Self {
            endpoint: Endpoint::new(config, &packet_secret(key)),
            udp,
            lent: Lent::default(),
            deferred: Deferred::default(),
            shared: Arc::clone(shared),
            nodes,
            ip,
            is_busy: false,
            unsent: Unsent::default(),
        })
    }
}

/// Later ports have larger incarnations, whichever process opens them.
fn wall_clock_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

fn seed() -> Result<[u64; 2], OpenError> {
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    rustix::rand::getrandom(&mut bytes, flags).map_err(OpenError::Random)?;
    let [low, high] = [0, 8].map(|at| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes));
    Ok([low, high])
}
