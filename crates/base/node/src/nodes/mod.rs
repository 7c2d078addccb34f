//! The nodes file: which nodes there are, for those who want names or have several networks.
//!
//! ```toml
//! [node.left]                     # what people and `bcl run --hosts` call it
//! number = "10.0.0.1"             # the node number, as in the addresses of its ports
//!
//! [node.right]
//! number = "10.0.0.2"
//! addresses = ["192.168.7.2", "2001:db8::2"]   # where its packets go; without this its number
//! ```
//!
//! A job runs without one: then a node is named by its number, and packets go there.

mod error;
mod origin;
mod parse;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::Path;

pub use error::{NodesError, ResolveError};
pub use origin::NodesOrigin;

use bcl_types::{Address, NodeId};

use crate::file;
use crate::interfaces;

/// Some ten thousands of nodes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Linux permits 128 KiB for a variable, its name included.
const TEXT_MAX_BYTES: usize = 100 << 10;

/// The nodes of a file, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    nodes: Vec<Node>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What people call it.
    pub name: String,
    /// Its number.
    pub id: NodeId,
    /// Where its packets go, the first choice first; never empty.
    pub addresses: Vec<IpAddr>,
}

impl Nodes {
    /// What `BCL_NODES_TEXT` says, as a launcher sets it; else the file that `BCL_NODES` names; else `~/.config/bcl/nodes.toml`, else `/etc/bcl/nodes.toml`; without any
    /// of them no nodes. One of the last two that cannot be read counts as absent ([`NodesOrigin`] tells).
    pub fn load() -> Result<Self, NodesError> {
        origin::find().map(|(nodes, _)| nodes)
    }

    /// As [`load`](Self::load), and where they come from.
    pub fn load_with_origin() -> Result<(Self, NodesOrigin), NodesError> {
        origin::find()
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, NodesError> {
        let text =
            file::read_text(path, MAX_FILE_BYTES).map_err(|error| NodesError::Unreadable {
                path: path.to_owned(),
                error,
            })?;
        Self::from_text(path, &text)
    }

    fn from_text(path: &Path, text: &str) -> Result<Self, NodesError> {
        parse::nodes(text)
            .map(|nodes| Self { nodes })
            .map_err(|mistake| NodesError::Wrong {
                path: path.to_owned(),
                mistake,
            })
    }

    /// The variable of the environment, and its value, by which processes on other hosts know the same nodes, whatever files
    /// there are; `None` if there are no nodes, or if these are too many for a variable: thousands.
    pub fn to_environment(&self) -> Option<(&'static str, String)> {
        let text = self.to_string();
        let fits = !self.is_empty() && text.len() <= TEXT_MAX_BYTES;
        fits.then_some((origin::TEXT_VARIABLE, text))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this name.
    pub fn by_name(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The node with this number.
    pub fn by_id(&self, id: NodeId) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Where packets for a node go, the first choice first: as the file says, else to its number.
    pub fn addresses(&self, id: NodeId) -> Vec<IpAddr> {
        self.by_id(id)
            .map_or_else(|| vec![id.0.into()], |node| node.addresses.clone())
    }

    /// The node that this host is, and a few words on how that was found: by its host name, with or without the
    /// domain, else by an address of one of its interfaces.
    pub fn this_host(&self) -> io::Result<Option<(&Node, String)>> {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let short = host.split('.').next().unwrap_or_default();
        if let Some(node) = self.by_name(&host).or_else(|| self.by_name(short)) {
            return Ok(Some((node, format!("the nodes file names host {host}"))));
        }
        if self.is_empty() {
            return Ok(None);
        }
        let own = interfaces::all()?;
        let found = self.nodes.iter().find_map(|node| {
            let address = node
                .addresses
                .iter()
                .find(|address| own.contains(address))?;
            let why = format!("{address} of node {} is an address of this host", node.name);
            Some((node, why))
        });
        Ok(found)
    }

    /// The address of a port, written with the number or the name of its node: `10.0.0.1:7` or `left:7`.
    pub fn resolve(&self, text: &str) -> Result<Address, ResolveError> {
        let not_a_number = match text.parse() {
            Ok(address) => return Ok(address),
            Err(error) => error,
        };
        let Some((name, port)) = text.rsplit_once(':') else {
            return Err(not_a_number.into());
        };
        match self.by_name(name) {
            Some(node) => Ok(format!("{}:{port}", node.id).parse()?),
            None if parse::is_name(name) => Err(ResolveError::Unknown {
                name: name.to_owned(),
                known: self.nodes.iter().map(|node| node.name.clone()).collect(),
            }),
            None => Err(not_a_number.into()),
        }
    }
}

/// As in a file.
impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Node {
            name,
            id,
            addresses,
        } in &self.nodes
        {
            let addresses: Vec<_> = addresses.iter().map(|ip| format!("\"{ip}\"")).collect();
            let addresses = addresses.join(", ");
            writeln!(
                f,
                "[node.\"{name}\"]\nnumber = \"{id}\"\naddresses = [{addresses}]"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> Nodes {
        let nodes = parse::nodes(text).unwrap();
        Nodes { nodes }
    }

    fn two() -> Nodes {
        nodes(
            "[node.left]\nnumber = '10.0.0.1'\n\
             [node.right]\nnumber = '10.0.0.2'\naddresses = ['192.168.7.2', '2001:db8::2']\n",
        )
    }

    #[test]
    fn packets_go_where_the_file_says_else_to_the_number() {
        let nodes = two();
        let right = nodes.by_name("right").unwrap();
        let addresses: Vec<IpAddr> = vec![
            "192.168.7.2".parse().unwrap(),
            "2001:db8::2".parse().unwrap(),
        ];
        assert_eq!(nodes.addresses(right.id), addresses);
        for number in ["10.0.0.1", "10.9.9.9"] {
            let own: Vec<IpAddr> = vec![number.parse().unwrap()];
            assert_eq!(nodes.addresses(number.parse().unwrap()), own);
        }
        assert_eq!(nodes.by_id(right.id), Some(right));
    }

    #[test]
    fn a_port_can_be_written_with_name_or_number() {
        let nodes = two();
        assert_eq!(nodes.resolve("right:7").unwrap().to_string(), "10.0.0.2:7");
        assert_eq!(
            nodes.resolve("10.9.9.9:7").unwrap().to_string(),
            "10.9.9.9:7"
        );
        let error = nodes.resolve("middle:7").unwrap_err().to_string();
        assert!(error.contains("'middle'") && error.contains("left, right"));
        for wrong in ["right", "right:0", "right:70000", "", ":7", "a b:7"] {
            let error = nodes.resolve(wrong).unwrap_err().to_string();
            assert!(error.contains("as in 10.0.0.1"), "{wrong}: {error}");
        }
    }

    #[test]
    fn this_host_is_found_by_its_name_before_its_addresses() {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let by_address = "[node.other]\nnumber = '10.0.0.9'\naddresses = ['127.0.0.1']\n";
        let only = nodes(by_address);
        let (node, why) = only.this_host().unwrap().unwrap();
        assert_eq!(node.name, "other");
        assert!(why.contains("127.0.0.1"));
        let both = nodes(&format!(
            "{by_address}[node.'{host}']\nnumber = '10.0.0.8'\n"
        ));
        assert_eq!(both.this_host().unwrap().unwrap().0.name, host);
        assert_eq!(two().this_host().unwrap(), None);
        assert_eq!(Nodes::default().this_host().unwrap(), None);
    }
}
