//! What a port is called: the node and a number.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A node, named by an IPv4 address of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub Ipv4Addr);

/// A port: the node it lives on and its number there.
///
/// Numbers from 1 to 1023 are well-known and only given to those who ask for them; higher ones
/// are also assigned. Number 0 names no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The node.
    pub node: NodeId,
    /// The number of the port on that node.
    pub port: u16,
}

/// A text that names no node or no port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseAddressError {
    /// Not `NODE:PORT`.
    #[error(
        "'{text}' is not an address: write NODE:PORT, as in 10.0.0.1:7, with a port from 1 to 65535"
    )]
    Address {
        /// What was given.
        text: String,
    },
    /// Not an IPv4 address that a machine can have.
    #[error(
        "'{text}' names no node: write the IPv4 address of one of its interfaces, as in 10.0.0.1"
    )]
    Node {
        /// What was given.
        text: String,
    },
}

impl NodeId {
    /// The node number of a machine without a network.
    pub const LOOPBACK: NodeId = NodeId(Ipv4Addr::LOCALHOST);
}

impl Address {
    /// Length of [`Address::to_bytes`].
    pub const LEN_BYTES: usize = 8;

    /// The address as it stands in messages and shared memory: the node as a little-endian
    /// 32-bit number, the port as a 16-bit one, two bytes of zero.
    pub fn to_bytes(self) -> [u8; Self::LEN_BYTES] {
        let [n0, n1, n2, n3] = u32::from(self.node).to_le_bytes();
        let [p0, p1] = self.port.to_le_bytes();
        [n0, n1, n2, n3, p0, p1, 0, 0]
    }

    /// Reverse of [`Address::to_bytes`]; `None` if the two spare bytes are not zero.
    ///
    /// Port 0 passes, because a process without a port uses it to say so; whoever needs a real
    /// port checks for it.
    pub fn from_bytes(bytes: [u8; Self::LEN_BYTES]) -> Option<Address> {
        let [n0, n1, n2, n3, p0, p1, 0, 0] = bytes else {
            return None;
        };
        Some(Address {
            node: u32::from_le_bytes([n0, n1, n2, n3]).into(),
            port: u16::from_le_bytes([p0, p1]),
        })
    }
}

impl From<u32> for NodeId {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl From<NodeId> for u32 {
    fn from(node: NodeId) -> Self {
        node.0.into()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.port)
    }
}

impl FromStr for NodeId {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<Ipv4Addr>() {
            Ok(ip) if !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast() => {
                Ok(NodeId(ip))
            }
            _ => Err(ParseAddressError::Node { text: text.into() }),
        }
    }
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || ParseAddressError::Address { text: text.into() };
        let (node, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        let node = node.parse()?;
        match parse_port(port) {
            Some(port) => Ok(Address { node, port }),
            None => Err(malformed()),
        }
    }
}

/// Only the spelling that Display produces, so that one port has one name in a folder.
fn parse_port(text: &str) -> Option<u16> {
    let canonical = !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_and_text_round_trip(node in 1u32..0xe000_0000, port in 1u16..) {
            let address = Address { node: node.into(), port };
            prop_assert_eq!(Address::from_bytes(address.to_bytes()), Some(address));
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }

        #[test]
        fn any_text_parses_or_is_refused(text in "\\PC*") {
            if let Ok(address) = text.parse::<Address>() {
                prop_assert_eq!(address.to_string(), text);
            }
        }
    }

    #[test]
    fn layout_is_little_endian() {
        let address: Address = "10.0.0.1:258".parse().unwrap();
        assert_eq!(address.to_bytes(), [1, 0, 0, 10, 2, 1, 0, 0]);
    }

    #[test]
    fn spare_bytes_must_be_zero() {
        assert_eq!(Address::from_bytes([1, 0, 0, 10, 2, 1, 0, 1]), None);
    }

    #[test]
    fn refuses_what_names_no_port() {
        for text in [
            "",
            ":",
            "10.0.0.1",
            "10.0.0.1:",
            "10.0.0.1:0",
            "10.0.0.1:07",
            "10.0.0.1:+7",
            "10.0.0.1:65536",
            "::1:7",
            "0.0.0.0:7",
            "224.0.0.1:7",
            "host:7",
            " 10.0.0.1:7",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
