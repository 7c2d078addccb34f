//! What port a program asks for, and whether there can be such a one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use bcl_agent_messages::{Code, DEFAULT_RING_BYTES, Failure, InterfaceStatus, RING_BYTES};
use bcl_types::LAST_REACHABLE_PORT;
use bcl_udp::route::{Interface, interfaces};
use bcl_udp::{Unfit, address_of};
use bcl_wire::udp_port;

use super::Registry;
use crate::failure::{failure, system};

/// What port a program asks for ([AGENT-4]).
pub struct PortWish {
    /// Address that the port's packets carry.
    pub node: Ipv4Addr,
    /// Its number.
    pub number: u16,
    /// Size of its ring.
    pub ring_bytes: u32,
    /// Secret of the job's packets.
    pub secret: [u8; 32],
}

impl PortWish {
    /// A port at the UDP socket that the program has sent, as the only descriptor.
    ///
    /// # Errors
    /// When it is no socket that a port can have, or there are no such rings.
    pub fn new(
        fds: &[impl AsFd],
        ring_bytes: Option<u32>,
        secret: [u8; 32],
    ) -> Result<PortWish, Failure> {
        let (node, number) = place(fds)?;
        Ok(PortWish {
            node,
            number,
            ring_bytes: check_ring(node, number, ring_bytes)?,
            secret,
        })
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        text(self.node, self.number)
    }
}

fn text(node: Ipv4Addr, number: u16) -> String {
    format!("open port {node}:{number}")
}

/// Of which port this is the socket.
fn place(fds: &[impl AsFd]) -> Result<(Ipv4Addr, u16), Failure> {
    const WHAT: &str = "open a port at the socket that came";
    let [socket] = fds else {
        let why = "none came";
        return Err(failure(Code::Invalid, WHAT, why, "send the port's socket"));
    };
    let address = address_of(socket.as_fd()).map_err(|unfit| of_unfit(WHAT, &unfit))?;
    let number = udp_port::to_port(address.port());
    if let (SocketAddr::V4(address), Some(number)) = (address, number) {
        return Ok((*address.ip(), number));
    }
    Err(failure(
        Code::Invalid,
        WHAT,
        format_args!(
            "{address} is not the UDP port of a port that can be reached from other nodes"
        ),
        format!(
            "bind it to an IPv4 address, and to that of a port from 1 to {LAST_REACHABLE_PORT}"
        ),
    ))
}

fn of_unfit(what: &str, unfit: &Unfit) -> Failure {
    let (code, remedy) = match unfit {
        Unfit::NotUdp => (Code::Invalid, "send the port's UDP socket"),
        Unfit::OtherNetwork => (
            Code::Unsupported,
            "run the program in bcld's network namespace, or another bcld in the program's",
        ),
        Unfit::System(error) => return system(what, error),
    };
    failure(code, what, unfit, remedy)
}

fn check_ring(node: Ipv4Addr, number: u16, wished: Option<u32>) -> Result<u32, Failure> {
    let bytes = wished.unwrap_or(DEFAULT_RING_BYTES);
    if bytes.is_power_of_two() && RING_BYTES.contains(&bytes) {
        return Ok(bytes);
    }
    Err(failure(
        Code::Invalid,
        text(node, number),
        format_args!("a ring cannot have {bytes} bytes"),
        format!(
            "ask for a power of two from {} to {}",
            RING_BYTES.start(),
            RING_BYTES.end()
        ),
    ))
}

/// The interface that has this address.
pub(super) fn holder_of(node: Ipv4Addr) -> io::Result<Option<Interface>> {
    let mut all = interfaces()?.into_iter();
    Ok(all.find(|own| own.holds(IpAddr::V4(node))))
}

impl Registry {
    /// The interface that has this address; the program has to be there.
    pub(super) fn check_node(&self, what: &str, node: Ipv4Addr) -> Result<String, Failure> {
        let wanted = self.tables.interfaces();
        let holder = holder_of(node).map_err(|error| system(what, &error))?;
        let Some(holder) = holder else {
            return Err(failure(
                Code::Invalid,
                what,
                format_args!("{node} is not an address of this machine (see `ip address`)"),
                "set BCL_NODE or the nodes file to one that is",
            ));
        };
        if wanted.iter().any(|wanted| wanted.name == holder.name) {
            self.check_interface(what, &holder.name)?;
            return Ok(holder.name.clone());
        }
        Err(failure(
            Code::Unsupported,
            what,
            format_args!(
                "{node} is on {}, and the interface program on {}",
                holder.name,
                InterfaceStatus::list(&wanted)
            ),
            format!(
                "have bcld started with `--interface {}` as well",
                holder.name
            ),
        ))
    }

    /// Whether the program is at this interface, if it is to be.
    pub(super) fn check_interface(&self, what: &str, name: &str) -> Result<(), Failure> {
        let wanted = self.tables.interfaces().into_iter();
        let missing = wanted
            .filter(|wanted| wanted.name == name)
            .find_map(|wanted| wanted.trouble);
        let Some(trouble) = missing else {
            return Ok(());
        };
        Err(failure(
            Code::Unsupported,
            what,
            format_args!("the interface program is not at {name} now: {trouble}"),
            "mend that, or wait until the interface is back; until then programs use UDP",
        ))
    }
}
