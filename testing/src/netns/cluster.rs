//! Hosts that reach each other: two by a cable, more by a switch, and two also by a switch.
//!
//! Behind a switch of two, faults happen where the other host's packets enter it, and leave the interface of the host to
//! whoever wants to put a program of its own there. There are interface programs at both ends of each cable then, which
//! those of a veth need to send anything.

use std::io::Result;
use std::net::Ipv4Addr;
use std::path::Path;

use bcl_netns::{Block, run};

use super::faults::{Faults, Tally};
use super::host::{Host, INTERFACE};
use super::injector::Injector;
use super::stale::{fresh_name, remove, sweep};

/// What Ethernet carries.
const MTU: u32 = 1500;

/// Hosts, their cables and switch, and the faults of each. Dropping it removes it, with all that runs in it.
#[derive(Debug)]
pub struct Cluster {
    /// Behind the hosts: the switch, and where late packets wait.
    backstage: String,
    block: Block,
    hosts: Vec<Host>,
    /// The interface at the other end of each host's cable: namespace and name.
    far_ends: Vec<(String, String)>,
    /// Of each host, once it has been asked for.
    injectors: Vec<Option<Injector>>,
}

impl Cluster {
    /// So many hosts. Their addresses are the first ones of a [`Block`]: 10.77.0.1, 10.77.0.2 and so on, and fd77::1,
    /// fd77::2.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn new(hosts: usize) -> Result<Self> {
        Self::joined(hosts, hosts != 2)
    }

    /// Two joined by a switch.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn switched() -> Result<Self> {
        Self::joined(2, true)
    }

    fn joined(hosts: usize, by_switch: bool) -> Result<Self> {
        sweep();
        let (name, block) = (fresh_name(), Block::free()?);
        let mut cluster = Self {
            backstage: format!("{name}-back"),
            block,
            hosts: (0..hosts)
                .map(|index| Host::new(&name, block, index))
                .collect(),
            far_ends: Vec::new(),
            injectors: (0..hosts).map(|_| None).collect(),
        };
        run(&format!("ip netns add {}", cluster.backstage))?;
        for host in &cluster.hosts {
            run(&format!("ip netns add {}", host.namespace))?;
        }
        cluster.far_ends = if by_switch {
            cluster.switch()?
        } else {
            cluster.cable()?
        };
        for host in &cluster.hosts {
            host.set_up()?;
        }
        Ok(cluster)
    }

    /// How many hosts it has.
    #[allow(clippy::len_without_is_empty, reason = "it always has some")]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The host of that number, from 0.
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// An address that no host has.
    pub fn spare_address(&self) -> Ipv4Addr {
        self.block.v4(u8::MAX, 1)
    }

    /// Pulls the cable of a host.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn cut(&self, index: usize) -> Result<()> {
        self.set_far_end(index, "down")
    }

    /// Plugs it in again.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn mend(&self, index: usize) -> Result<()> {
        self.set_far_end(index, "up")
    }

    /// Whether the switch brings packets for multicast groups to a host.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn bring_multicast(&self, index: usize, is_brought: bool) -> Result<()> {
        let (namespace, name) = &self.far_ends[index];
        let how = if is_brought { "on" } else { "off" };
        run(&format!(
            "ip -n {namespace} link set dev {name} type bridge_slave mcast_flood {how}"
        ))
        .map(drop)
    }

    /// Takes the cable of two hosts away with the interfaces at its ends, and what was attached to them.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn unmake_cable(&self) -> Result<()> {
        let namespace = &self.hosts[0].namespace;
        run(&format!("ip -n {namespace} link del {INTERFACE}")).map(drop)
    }

    /// Lays another one: interfaces with the same names and addresses.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn make_cable(&mut self) -> Result<()> {
        self.far_ends = self.cable()?;
        self.hosts.iter().try_for_each(Host::set_up)
    }

    /// Sets the longest packet that a host sends, and lets in. The others are not told.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn set_mtu(&self, index: usize, mtu: u32) -> Result<()> {
        self.hosts[index].set_link(&format!("mtu {mtu}"))
    }

    /// The same for all hosts, and what is between them.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn set_mtu_of_all(&self, mtu: u32) -> Result<()> {
        for (index, (namespace, name)) in self.far_ends.iter().enumerate() {
            self.set_mtu(index, mtu)?;
            run(&format!("ip -n {namespace} link set dev {name} mtu {mtu}"))?;
        }
        Ok(())
    }

    /// Gives a host another address in place of its own.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn change_address(&mut self, index: usize, address: Ipv4Addr) -> Result<()> {
        let host = &mut self.hosts[index];
        let on = format!("ip -n {} addr", host.namespace);
        // In this order: with the first address of a network its later ones go too.
        let bits = Block::V4_PREFIX_BITS;
        run(&format!("{on} del {}/{bits} dev {INTERFACE}", host.address))?;
        run(&format!("{on} add {address}/{bits} dev {INTERFACE}"))?;
        host.address = address;
        Ok(())
    }

    /// Makes a host vanish: all that runs on it is killed, and no packet comes from it any more.
    ///
    /// # Errors
    /// Says which command failed and what it said.
    pub fn delete(&mut self, index: usize) -> Result<()> {
        self.injectors[index] = None;
        remove(&self.hosts[index].namespace)
    }

    /// Lets `faults` happen to all UDP and TCP packets that arrive at a host, in place of those before.
    ///
    /// # Errors
    /// When the program cannot be compiled or attached.
    pub fn inject(&mut self, index: usize, faults: &Faults) -> Result<()> {
        let (namespace, interface) = self.entrance(index);
        let backstage = &self.backstage;
        let injector = self.injectors[index]
            .get_or_insert_with(|| Injector::new(&namespace, &interface, backstage, index));
        injector.set(faults)
    }

    /// The interface, by namespace and name, that all packets to a host come in by.
    fn entrance(&self, index: usize) -> (String, String) {
        match &self.far_ends[..] {
            [first, second] if first.0 == self.backstage => match index {
                0 => second.clone(),
                _ => first.clone(),
            },
            _ => (self.hosts[index].namespace.clone(), INTERFACE.to_owned()),
        }
    }

    /// What has happened to packets that arrived at a host since the first [`inject`](Self::inject).
    ///
    /// # Errors
    /// When the program does not answer.
    pub fn tally(&self, index: usize) -> Result<Tally> {
        match &self.injectors[index] {
            Some(injector) => injector.tally(),
            None => Ok(Tally::default()),
        }
    }

    /// Two hosts need nothing between them, and so are as fast as can be.
    fn cable(&self) -> Result<Vec<(String, String)>> {
        let [first, second] = [0, 1].map(|index| self.hosts[index].namespace.clone());
        run(&format!(
            "ip link add {INTERFACE} netns {first} type veth peer name {INTERFACE} netns {second}"
        ))?;
        Ok([second, first]
            .map(|namespace| (namespace, INTERFACE.to_owned()))
            .into())
    }

    fn switch(&self) -> Result<Vec<(String, String)>> {
        let back = &self.backstage;
        run(&format!("ip -n {back} link add switch type bridge"))?;
        run(&format!("ip -n {back} link set dev switch up"))?;
        let mut sockets = Vec::new();
        for (index, host) in self.hosts.iter().enumerate() {
            let socket = format!("socket{index}");
            run(&format!(
                "ip link add {INTERFACE} netns {} type veth peer name {socket} netns {back}",
                host.namespace
            ))?;
            run(&format!(
                "ip -n {back} link set dev {socket} master switch mtu {MTU} up"
            ))?;
            sockets.push((back.clone(), socket));
        }
        Ok(sockets)
    }

    fn set_far_end(&self, index: usize, state: &str) -> Result<()> {
        let (namespace, name) = &self.far_ends[index];
        run(&format!("ip -n {namespace} link set dev {name} {state}")).map(drop)
    }
}

impl Host {
    fn set_up(&self) -> Result<()> {
        let namespace = &self.namespace;
        run(&format!("ip -n {namespace} link set dev lo up"))?;
        self.set_link(&format!("mtu {MTU} up"))?;
        let add = format!("ip -n {namespace} addr add");
        let (v4_bits, v6_bits) = (Block::V4_PREFIX_BITS, Block::V6_PREFIX_BITS);
        run(&format!("{add} {}/{v4_bits} dev {INTERFACE}", self.address))?;
        // Nobody else has it: no second of waiting for objections.
        run(&format!(
            "{add} {}/{v6_bits} dev {INTERFACE} nodad",
            self.address_v6
        ))?;
        Ok(())
    }

    fn set_link(&self, what: &str) -> Result<()> {
        let namespace = &self.namespace;
        run(&format!(
            "ip -n {namespace} link set dev {INTERFACE} {what}"
        ))
        .map(drop)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The relays first: they hold sockets backstage.
        self.injectors.clear();
        let namespaces = self.hosts.iter().map(|host| &host.namespace);
        for namespace in namespaces.chain([&self.backstage]) {
            // One that was deleted, or never made, is not there to be removed.
            if Path::new("/run/netns").join(namespace).exists() {
                let _ = remove(namespace);
            }
        }
    }
}
