//! Where the two ends of a measurement run: on one node, or on two hosts.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

use bcl_testing::agent::Agent;
use bcl_testing::netns::{Cluster, Faults};

use crate::command;
use crate::cores::{Cores, Place};
use crate::error::{Result, system};
use crate::work::Wire;

/// Where no agent listens.
const NO_AGENT: &str = "/nobody/agent.sock";

/// One node, or two hosts, with the cores that a measurement may use.
pub struct Site {
    /// The cores, whichever the hosts.
    pub cores: Cores,
    /// Before the hosts, which they end before.
    agents: Option<[Agent; 2]>,
    hosts: Option<Cluster>,
}

impl Site {
    /// One node, or two hosts with `wire` between them, and with agents that attach their program in this `mode`, if any.
    ///
    /// # Errors
    /// When hosts cannot be made here, or the `bcld` beside this program does not start.
    pub fn prepare(wire: Option<Wire>, mode: Option<&str>, cores: Cores) -> Result<Self> {
        let hosts = wire.map(join).transpose()?;
        let agents = match (&hosts, mode) {
            (Some(hosts), Some(mode)) => Some(start_agents(hosts, mode)?),
            _ => None,
        };
        Ok(Self {
            cores,
            agents,
            hosts,
        })
    }

    /// Where the agent listens that the process of that rank is to ask; there may be nobody.
    pub fn agent(&self, rank: usize) -> PathBuf {
        let agents = self.agents.as_ref();
        agents.map_or_else(|| NO_AGENT.into(), |agents| agents[rank % 2].socket())
    }

    /// Whether the ends are on two hosts.
    pub fn has_two_hosts(&self) -> bool {
        self.hosts.is_some()
    }

    /// Where the process of that rank is reached.
    pub fn address(&self, rank: usize) -> Ipv4Addr {
        match &self.hosts {
            Some(hosts) => hosts.host(rank % 2).address,
            None => Ipv4Addr::LOCALHOST,
        }
    }

    /// `program` run as the process of that rank of a pair, each on its core.
    pub fn command(&self, rank: usize, program: &str) -> Command {
        self.command_at(rank, self.cores.of_rank(rank), program)
    }

    /// The same at a place of one's own choice.
    pub fn command_at(&self, rank: usize, place: Place, program: &str) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let Some(hosts) = &self.hosts {
            words.extend(hosts.host(rank % 2).words().map(str::to_owned));
        }
        words.extend(place.words());
        words.push(program.to_owned());
        command::from_words(&words)
    }
}

fn join(wire: Wire) -> Result<Cluster> {
    let failed = || {
        system(
            "prepare",
            "two hosts (needs root, iproute2, clang and libbpf-dev)",
        )
    };
    let mut hosts = Cluster::new(2).map_err(failed())?;
    hosts.set_mtu_of_all(wire.mtu).map_err(failed())?;
    if let Some(loss_ppm) = wire.loss_ppm {
        for (index, seed) in [(0, 1), (1, 2)] {
            let faults = Faults::loss(loss_ppm, seed);
            hosts.inject(index, &faults).map_err(failed())?;
        }
    }
    Ok(hosts)
}

fn start_agents(hosts: &Cluster, mode: &str) -> Result<[Agent; 2]> {
    let own = std::env::current_exe().map_err(system("find", "this program"))?;
    let program = own.with_file_name("bcld");
    let options = ["--interface", "eth0", "--mode", mode];
    let start = |host: usize| {
        let agent = Agent::of(&program, &hosts.host(host).namespace, &options);
        agent.map_err(system("start", "an agent (`make build` builds bcld)"))
    };
    Ok([start(0)?, start(1)?])
}

#[test]
fn both_ends_of_a_node_are_at_home() {
    let cores = Cores {
        first: 0,
        second: 1,
    };
    let site = Site::prepare(None, None, cores).unwrap();
    assert_eq!(site.address(0), site.address(1));
    assert!(!command::describe(&site.command(1, "true")).contains("netns"));
}
