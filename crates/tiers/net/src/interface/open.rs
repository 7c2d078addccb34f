//! The agent opens a port that the interface program takes the packets of.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use bcl_agent_client::{Agent, AgentError, OpenPort, Opened};
use bcl_os::sync::{AtomicU64, Ordering};
use bcl_proto::{Span, Time};
use bcl_xdp::{Control, Counters, Ring};
use rustix::io::Errno;

use super::Interface;
use super::agent::Errands;
use crate::clock::now_ns;

/// Within so long an agent at work says that it is ready.
const PATIENCE: Duration = Duration::from_millis(500);
/// And one that has not is not asked again for so long.
const PAUSE_NS: u64 = 30_000_000_000;

/// The interface that carries what a host sends to itself.
const LOOPBACK: &str = "lo";

/// Why the interface program cannot take a port's packets.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// It does not know IPv6.
    #[error(
        "{0} is no IPv4 address, and the program at the interface takes no others: give the node one (BCL_NODE, the nodes file)"
    )]
    NotIpv4(IpAddr),
    /// There is no agent, or it refuses.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// It did not answer when another port was to be opened, a moment ago.
    #[error("the agent did not answer a moment ago: see `systemctl status bcld`")]
    Hangs,
    /// The maps.
    #[error("cannot map the port's {what} into this process: {errno}")]
    Map {
        /// Which.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
}

/// A port that the agent has opened.
#[derive(Debug)]
pub struct Intercepted {
    /// Its ring, and all else by which it deals with the interface program.
    pub interface: Interface,
    /// Length of the ring.
    pub ring_bytes: usize,
    /// Datagrams have to be sent to it singly.
    pub takes_singly: bool,
    /// Packets from the own host pass the interface program.
    pub takes_own: bool,
}

impl Interface {
    /// Asks the agent for the port of a UDP socket, bound at `ip`, with the secret of its job's packets.
    pub fn open(
        ip: IpAddr,
        socket: BorrowedFd<'_>,
        secret: [u8; 32],
        dead_after: Duration,
        can_do_without: bool,
    ) -> Result<Intercepted, Unavailable> {
        if ip.is_ipv6() {
            return Err(Unavailable::NotIpv4(ip));
        }
        let agent = match can_do_without {
            true => connect_soon()?,
            false => Agent::connect()?,
        };
        let takes_own = agent.interfaces().iter().any(|name| name == LOOPBACK);
        let opened = agent.open(&OpenPort {
            socket,
            ring_bytes: None,
            secret,
        })?;
        let failed = |what| move |errno| Unavailable::Map { what, errno };
        let Opened {
            port,
            singly: takes_singly,
            ring,
            control,
            statistics,
        } = opened;
        let ring_bytes = port.ring_bytes() as usize;
        let dead_after = Span(dead_after.as_nanos() as u64);
        let interface = Self {
            ring: Ring::map(ring, ring_bytes).map_err(failed("ring"))?,
            control: Control::map(control).map_err(failed("control page"))?,
            counters: Counters::map(statistics).map_err(failed("counters"))?,
            errands: Errands::new(port.into_queue().map_err(failed("requests"))?, dead_after),
            listeners: 0,
            is_stuck: false,
            refuses_system: false,
            refuses_early: false,
            next_look_at_socket: Time(0),
        };
        Ok(Intercepted {
            interface,
            ring_bytes,
            takes_singly,
            takes_own,
        })
    }
}

/// Connects to an agent that is at work; which is found out once in a while.
fn connect_soon() -> Result<Agent, Unavailable> {
    /// When it is to be asked again, after it has not answered.
    static HANGS_UNTIL_NS: AtomicU64 = AtomicU64::new(0);
    if now_ns() < HANGS_UNTIL_NS.load(Ordering::Relaxed) {
        return Err(Unavailable::Hangs);
    }
    let agent = Agent::connect_within(PATIENCE);
    if let Err(AgentError::Silent { .. }) = agent {
        HANGS_UNTIL_NS.store(now_ns() + PAUSE_NS, Ordering::Relaxed);
    }
    Ok(agent?)
}
