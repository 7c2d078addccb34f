//! Hosts on which helper programs run that reach each other over the network only.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bcl::Folder;
use bcl_observe::{Attached, attach};
use bcl_testing::agent::Agent;
use bcl_testing::netns::{Cluster, INTERFACE, cluster};
use bcl_testing::peer::{Peer, prepare, program};

/// Hosts, and agents at some of them. Each host has a folder of its own, and perhaps an agent.
pub struct Lab {
    /// Of the hosts that have one, by number.
    pub agents: BTreeMap<usize, Agent>,
    /// The hosts.
    pub cluster: Cluster,
    folder: PathBuf,
    /// Interface programs take streams too.
    keeps_streams: bool,
}

/// How packets are received at one host of a test, and at another.
#[derive(Debug, Clone, Copy)]
pub enum Tiers {
    /// By sockets.
    Udp,
    /// By interface programs.
    Xdp,
    /// By interface programs behind the driver.
    Generic,
    /// By an interface program at the first, by sockets at the others.
    Both,
    /// The same, where the driver of the first loses what the interface program answers: that of veth does so in its own
    /// mode if there is nothing at the other end.
    Unheard,
}

impl Tiers {
    /// Behind the driver, a program can answer whoever has none.
    fn mode(self) -> &'static str {
        match self {
            Self::Udp | Self::Xdp | Self::Unheard => "native",
            Self::Generic | Self::Both => "generic",
        }
    }

    fn has_agent(self, host: usize) -> bool {
        match self {
            Self::Udp => false,
            Self::Xdp | Self::Generic => true,
            Self::Both | Self::Unheard => host == 0,
        }
    }
}

impl Lab {
    /// So many hosts, or `None` where there can be none.
    pub fn new(hosts: usize) -> Option<Self> {
        Self::with(Tiers::Udp, cluster(hosts)?)
    }

    /// Two hosts, with agents where they need one.
    pub fn of_two(tiers: Tiers) -> Option<Self> {
        Self::with(tiers, cluster(2)?)
    }

    /// Hosts of a cluster, with agents where they need one.
    pub fn with(tiers: Tiers, cluster: Cluster) -> Option<Self> {
        let folder = std::env::temp_dir().join(&cluster.host(0).namespace);
        fs::create_dir_all(&folder).expect("a folder can be made");
        let hosts = (0..cluster.len()).filter(|host| tiers.has_agent(*host));
        let agents = hosts
            .map(|host| {
                let namespace = &cluster.host(host).namespace;
                let options = ["--interface", INTERFACE, "--mode", tiers.mode()];
                (host, Agent::inside(namespace, &options))
            })
            .collect();
        Some(Self {
            agents,
            cluster,
            folder,
            // Else a stream might be left to the socket before it is noticed.
            keeps_streams: matches!(tiers, Tiers::Unheard),
        })
    }

    /// The command of a helper program on a host.
    pub fn command(&self, host: usize, role: &[&str]) -> Command {
        let there = self.cluster.host(host);
        let mut command = there.command(program("bcl-peer"));
        command.args(role);
        prepare(&mut command, &self.folder(host));
        command.env("BCL_NODE", there.address.to_string());
        match self.agents.get(&host) {
            Some(agent) => command
                .env("BCL_AGENT", agent.socket())
                .env("BCL_DEVICE", "xdp"),
            None => command.env("BCL_AGENT", "/nonexistent"),
        };
        if self.keeps_streams {
            command.env("BCL_STREAMS", "xdp");
        }
        command
    }

    /// The folder in which processes of a host meet.
    pub fn folder(&self, host: usize) -> PathBuf {
        self.folder.join(host.to_string())
    }

    /// A helper program on a host.
    pub fn start(&self, host: usize, role: &[&str]) -> Peer {
        Peer::spawn(self.command(host, role))
    }

    /// The counters of a helper program on that host, as its port has shown them last.
    pub fn stat(&self, host: usize, of: &Peer) -> Attached {
        let folder = Folder::open(self.folder(host)).expect("the folder is there");
        attach(&folder, of.address).expect("the port shows its counters")
    }

    /// A helper program on each of the two hosts, connected and doing nothing until told.
    pub fn pair(&self) -> (Peer, Peer) {
        let mut one = self.start(0, &["obey"]);
        let mut other = self.start(1, &["obey"]);
        meet(&mut one, &mut other);
        (one, other)
    }

    /// The same, of which the second has so many words in window 1, served by the program at its interface if it has one.
    pub fn pair_with_window(&self, count: usize, access: u32) -> (Peer, Peer) {
        let (mut one, mut other) = self.pair();
        other.tell(&format!("words 1 {count} {access}"));
        // The connection is the interface program's by then.
        one.ask(&format!("read {} 1 1", other.address));
        other.ask("serve 100");
        (one, other)
    }
}

/// All that peers can do with a window but ask for notices.
pub const ALL: u32 = 7;

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Lets two that obey exchange a message.
pub fn meet(one: &mut Peer, other: &mut Peer) {
    other.order("until message 10000");
    one.tell(&format!("meet {}", other.address));
    let events = other.line();
    assert!(events.ends_with("message"), "{events}");
}

/// The first sends the second a message that takes a while, which then begins to arrive.
pub fn in_the_middle_of_a_long_message(one: &mut Peer, other: &mut Peer) {
    other.tell("post 1 100000000");
    one.tell(&format!("send {} 1 100000000 heap", other.address));
    other.order("serve 60000");
    one.ask("serve 10");
}

/// Asserts that the events end with one of that name.
#[track_caller]
pub fn assert_last(events: &str, name: &str) {
    let last = events.split(' ').next_back().unwrap_or_default();
    assert!(
        last.starts_with(name),
        "no '{name}' at the end of '{events}'"
    );
}
