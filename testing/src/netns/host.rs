//! One host: a namespace with one interface.

use std::ffi::OsStr;
use std::io::Result;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::process::Command;

use bcl_netns::Block;

use super::tap::Tap;
use super::tool::index_of;

/// The name of a host's interface.
pub const INTERFACE: &str = "eth0";

/// A namespace with one interface and its addresses.
#[derive(Debug)]
pub struct Host {
    /// The namespace, as `ip netns` names it.
    pub namespace: String,
    /// Its address, of which there is one at a time.
    pub address: Ipv4Addr,
    /// Its address in the other family.
    pub address_v6: Ipv6Addr,
}

impl Host {
    /// Host `index` of a cluster.
    pub(super) fn new(cluster: &str, block: Block, index: usize) -> Self {
        let number = u16::try_from(index + 1).expect("a cluster has a few hosts");
        let [high, low] = number.to_be_bytes();
        Self {
            namespace: format!("{cluster}-{number}"),
            address: block.v4(high, low),
            address_v6: block.v6(number),
        }
    }

    /// The words that run a program there, to stand before its own. It dies with the thread that starts it.
    pub fn words(&self) -> [&str; 7] {
        [
            "ip",
            "netns",
            "exec",
            &self.namespace,
            "setpriv",
            "--pdeathsig",
            "KILL",
        ]
    }

    /// `program` run there.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let words = self.words();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(program);
        command
    }

    /// Runs `inside` there. A socket opened so stays there.
    ///
    /// # Errors
    /// When the namespace is gone.
    pub fn enter<T>(&self, inside: impl FnOnce() -> T) -> Result<T> {
        bcl_netns::Host::named(&self.namespace).map(|host| host.within(inside))
    }

    /// Sees what arrives at the host's interface, and sends from there.
    ///
    /// # Errors
    /// When the host is gone.
    pub fn tap(&self) -> Result<Tap> {
        Tap::open(&self.namespace, index_of(&self.namespace, INTERFACE)?)
    }
}

#[test]
fn hosts_are_numbered_from_one() {
    let block = Block::free().expect("ip tells the routes");
    let host = Host::new("cluster", block, 299);
    assert_eq!(host.address, block.v4(1, 44));
    assert_eq!(host.address_v6, block.v6(300));
    assert_eq!(host.namespace, "cluster-300");
}
