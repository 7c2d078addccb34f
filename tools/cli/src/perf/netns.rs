//! Two hosts on one machine: this process and its partner, each in a network of its own, with a link between.
//!
//! Nothing has to be removed afterwards: the networks have no names, so they go with their processes, however
//! these end, and the link goes with them.

use std::io;
use std::path::Path;
use std::process::Command;

use bcl::NodeId;
use bcl_netns::{Block, Host};

use super::agent::Agent;
use super::arguments::Mode;
use crate::failure::{Failure, Result};

/// The two ends of the link.
const ENDS: [&str; 2] = ["bcl0", "bcl1"];

/// The network of the partner, seen from that of this process.
pub struct There {
    host: Host,
    number: NodeId,
    /// Of the partner's host, and of this one.
    agents: Option<[Agent; 2]>,
}

/// Moves this thread, and what it starts, to a network of its own with one end of the link, and starts agents at both if they
/// are wished. Call before any port is open. Returns the node number there, and where the other end is.
pub fn enter(agents: Option<Mode>) -> Result<(NodeId, There)> {
    let (own, mut there) = make().map_err(explain)?;
    if let Some(mode) = agents {
        let mut near = Agent::start(ENDS[0], mode, None)?;
        let mut far = Agent::start(ENDS[1], mode, Some(&there.host))?;
        near.await_ready()?;
        far.await_ready()?;
        there.agents = Some([far, near]);
    }
    Ok((own, there))
}

pub fn explain(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::new(
            "cannot make network namespaces: that takes root (or CAP_SYS_ADMIN): use sudo, or measure a real host \
             with --host NAME",
        ),
        io::ErrorKind::NotFound => Failure::new(
            "cannot make network namespaces: there is no program 'ip' (Debian: iproute2)",
        ),
        _ => Failure::system("make two hosts", error),
    }
}

fn make() -> io::Result<(NodeId, There)> {
    let block = Block::free()?;
    let (here, host) = (Host::new()?, Host::new()?);
    let [own, number] = [1, 2].map(|number| NodeId(block.v4(0, number)));
    here.join((ENDS[0], own.0.into()), &host, (ENDS[1], number.0.into()))?;
    here.enter()?;
    let there = There {
        host,
        number,
        agents: None,
    };
    Ok((own, there))
}

impl There {
    /// Where the agent of this host listens, if there is one.
    pub fn agent(&self) -> Option<&Path> {
        let [_, near] = self.agents.as_ref()?;
        Some(near.socket())
    }

    /// Has a command run at the other end, with the node number of that.
    pub fn adopt(&self, command: &mut Command) -> Result<()> {
        command.env("BCL_NODE", self.number.to_string());
        if let Some([far, _]) = &self.agents {
            command.env("BCL_AGENT", far.socket());
        }
        let adopted = self.host.adopt(command);
        adopted.map_err(|error| Failure::system("give the partner a network", error))
    }
}
