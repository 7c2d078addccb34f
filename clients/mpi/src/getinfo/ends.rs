//! Who the program is and whom it wants to reach: nodes and services, as names of endpoints.

use std::net::{IpAddr, ToSocketAddrs};

use bcl_node::{Nodes, detect_node};
use bcl_types::{Address, NodeId};

use super::hints::Hints;
use crate::abi::{FI_NUMERICHOST, FI_SOURCE};
use crate::name::Name;

/// What a program has said about it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// A host: by number, by a name of the nodes file, or by one that the machine knows.
    pub node: Option<&'a str>,
    /// The number of a port.
    pub service: Option<&'a str>,
    /// `FI_SOURCE`: this is the program's own, and not whom it wants to reach. `FI_NUMERICHOST`: do not look names up.
    pub flags: u64,
    /// Addresses may be in there, too.
    pub hints: Option<&'a Hints>,
}

/// Both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The program's own; port 0 for any.
    pub source: Name,
    /// The other one.
    pub destination: Option<Name>,
}

impl Ends {
    /// Finds out which node this is, and what names mean.
    ///
    /// # Errors
    /// In words, if something names no end.
    pub fn find(wanted: &Wanted) -> Result<Self, String> {
        let (this, _) = detect_node().map_err(|error| error.to_string())?;
        Self::of(this, wanted, &|name| look_up(name, this))
    }

    /// As [`find`](Self::find) on the node `this`, where `look_up` says which node a name means.
    ///
    /// # Errors
    /// As there.
    pub fn of(
        this: NodeId,
        wanted: &Wanted,
        look_up: &dyn Fn(&str) -> Result<NodeId, String>,
    ) -> Result<Self, String> {
        let hinted = |what: &str, bytes: Option<&Vec<u8>>| {
            let name = bytes.map(|bytes| Name::from_bytes(bytes)).transpose();
            name.map_err(|why| format!("the {what} address of the hints is none of ours: {why}"))
        };
        let hints = wanted.hints;
        let mut source = hinted("source", hints.and_then(|hints| hints.source.as_ref()))?;
        let mut destination = hinted(
            "destination",
            hints.and_then(|hints| hints.destination.as_ref()),
        )?;
        if wanted.node.is_some() || wanted.service.is_some() {
            let node = match wanted.node {
                None => this,
                Some(text) => match text.parse() {
                    Ok(node) => node,
                    Err(error) if wanted.flags & FI_NUMERICHOST != 0 => {
                        return Err(format!("{error}"));
                    }
                    Err(_) => look_up(text)?,
                },
            };
            let port = wanted.service.map_or(Ok(0), port_of)?;
            let named = Some(Name::open(Address { node, port }));
            match wanted.flags & FI_SOURCE {
                0 => destination = named,
                _ => source = named,
            }
        }
        let source = source.unwrap_or(Name::open(Address {
            node: this,
            port: 0,
        }));
        match source.address.node == this {
            true => Ok(Self {
                source,
                destination,
            }),
            false => Err(format!(
                "it wants to be on node {}, but this is {this}: leave the source out, or set BCL_NODE to what it is",
                source.address.node
            )),
        }
    }
}

fn port_of(service: &str) -> Result<u16, String> {
    let number = service.parse();
    number.map_err(|_| {
        format!("service '{service}' is not the number of a port, 1 to 65535, or 0 for any")
    })
}

/// The node that a name means: in the nodes file, else an IPv4 address that the machine knows for it.
fn look_up(name: &str, this: NodeId) -> Result<NodeId, String> {
    let nodes = Nodes::load().map_err(|error| error.to_string())?;
    if let Some(node) = nodes.by_name(name) {
        return Ok(node.id);
    }
    let found = (name, 0)
        .to_socket_addrs()
        .map_err(|error| format!("host '{name}' cannot be found: {error}"))?;
    let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    if addresses.iter().any(IpAddr::is_loopback) {
        return Ok(this);
    }
    let ipv4 = addresses.iter().find_map(|address| match address {
        IpAddr::V4(address) => Some(NodeId(*address)),
        IpAddr::V6(_) => None,
    });
    ipv4.ok_or_else(|| format!("host '{name}' has no IPv4 address, which is what numbers a node: put it into the nodes file"))
}
