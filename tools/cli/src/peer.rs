//! Ports on the command line: `10.0.0.1:7`, or `left:7` with a name of the nodes file.

use bcl::{Address, Nodes};

/// The files that name nodes, and how; for the manual.
pub const NODES_HELP: &str = "\
Nodes file:
  Addresses may have names instead of node numbers, as in left:7, if a nodes file has them. It is the file
  that BCL_NODES names, else ~/.config/bcl/nodes.toml, else /etc/bcl/nodes.toml:

    [node.left]
    number = \"10.0.0.1\"

    [node.right]
    number = \"10.0.0.2\"
    addresses = [\"192.168.7.2\", \"fd00::2\"]

  `number` is the node number, as ports print it. `addresses` says where the node's packets go, IPv4 or IPv6,
  the first choice first; without it they go to the number. A host finds itself in the file by its host name,
  else by an address of one of its interfaces, and then has that number unless BCL_NODE says another.";

/// Parses an address. No nodes file is read for one that has no name.
pub fn address(text: &str) -> Result<Address, String> {
    text.parse().or_else(|_| {
        let nodes = Nodes::load().map_err(|error| error.to_string())?;
        nodes.resolve(text).map_err(|error| error.to_string())
    })
}
