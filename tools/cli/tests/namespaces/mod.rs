//! Two hosts on one machine: network namespaces with a link between them.
#![allow(dead_code, reason = "each test program uses some of this")]

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use bcl_netns::{Block, run, unless_refused};

use super::common::Node;

/// Starts commands in namespaces as ssh does on hosts; it comes with the brief, beside the repository.
const SHELL: &str = "../../../shared/launch/netns-rsh";

/// Which nodes they are in a job.
pub const NUMBERS: [&str; 2] = ["10.1.1.1", "10.1.1.2"];

/// `left` and `right`. Dropping it removes them, and the link with them.
pub struct Namespaces {
    names: [String; 2],
    block: Block,
}

impl Namespaces {
    /// `None`, and a word on why, where they cannot be made.
    pub fn new(node: &Node) -> Option<Self> {
        if !shell().is_file() {
            println!("{} is not there: nothing was checked", shell().display());
            return None;
        }
        // The folder's name is nobody else's, and neither are these.
        let own = node.folder().file_name().unwrap().to_string_lossy();
        let name = |side: &str| format!("bcl{own}-{side}");
        let names = ["left", "right"].map(name);
        let made = Block::free().and_then(|block| {
            run(&format!("ip netns add {}", names[0]))?;
            Ok(block)
        });
        let block = unless_refused(made)?;
        let hosts = Self { names, block };
        ip(&format!("netns add {}", hosts.names[1]));
        hosts.connect();
        Some(hosts)
    }

    /// Where they are.
    pub fn addresses(&self) -> [IpAddr; 2] {
        [1, 2].map(|host| self.block.v4(0, host).into())
    }

    /// The same in the other family.
    pub fn addresses_v6(&self) -> [IpAddr; 2] {
        [1, 2].map(|host| self.block.v6(host).into())
    }

    fn connect(&self) {
        let [left, right] = &self.names;
        let end = "bcl0";
        ip(&format!(
            "link add {end} netns {left} type veth peer name {end} netns {right}"
        ));
        let addresses = self.addresses().into_iter().zip(self.addresses_v6());
        let (v4_bits, v6_bits) = (Block::V4_PREFIX_BITS, Block::V6_PREFIX_BITS);
        for (name, (v4, v6)) in self.names.iter().zip(addresses) {
            ip(&format!("-n {name} addr add {v4}/{v4_bits} dev {end}"));
            ip(&format!(
                "-n {name} addr add {v6}/{v6_bits} dev {end} nodad"
            ));
            ip(&format!("-n {name} link set {end} up"));
            ip(&format!("-n {name} link set lo up"));
        }
    }

    /// Takes their addresses away.
    pub fn lose_addresses(&self) {
        for name in &self.names {
            ip(&format!("-n {name} addr flush dev bcl0"));
        }
    }

    /// `bcl` on the left (0) or the right (1), in a socket folder of its own, in a job with both.
    pub fn bcl(&self, side: usize, node: &Node, arguments: &[&str]) -> Command {
        let folder = node.folder().join(&self.names[side]);
        let inner = node.bcl(arguments);
        let mut command = node.outside("ip");
        command.args(["netns", "exec", &self.names[side]]);
        command.arg(inner.get_program()).args(inner.get_args());
        command
            .env("BCL_DIR", folder)
            .env("BCL_JOB_KEY", "07".repeat(32));
        command
    }

    /// `bcl run` with these arguments, and a nodes file that knows both, by numbers that are no addresses.
    pub fn job(&self, node: &Node, arguments: &[&str]) -> Command {
        let nodes = node.folder().join("nodes.toml");
        let entries = ["left", "right"].into_iter().zip(self.addresses());
        let text: String = entries
            .zip(NUMBERS)
            .map(|((name, address), number)| {
                format!("[node.{name}]\nnumber = '{number}'\naddresses = ['{address}']\n")
            })
            .collect();
        std::fs::write(&nodes, text).unwrap();
        let mut command = node.bcl(&[&["run"], arguments].concat());
        let [left, right] = &self.names;
        command
            .env("BCL_LAUNCHER", shell())
            .env("BCL_NODES", nodes)
            .env("NETNS_HOSTS", format!("left={left} right={right}"));
        command
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run(&format!("ip netns delete {name}"));
        }
    }
}

fn shell() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(SHELL)
}

fn ip(arguments: &str) {
    run(&format!("ip {arguments}")).unwrap();
}
