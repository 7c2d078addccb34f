//! What the hosts of a job have in common, and what is known of each: enough to say what its processes need.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bcl::{NodeId, Nodes};

use crate::error::{Error, Result};
use crate::process::Setting;

use super::frame::{Begin, Hello};
use super::link::Link;
use super::list::Host;
use super::shell::Shell;

/// Set for each process or host, and not taken over from our environment.
const OWN_VARIABLES: [&str; 7] = [
    "BCL_HOSTS",
    "BCL_JOB_KEY",
    "BCL_JOB_KEY_FILE",
    "BCL_LAUNCH_FD",
    "BCL_NODE",
    "BCL_RANK",
    "BCL_SIZE",
];

/// All that the hosts of a job share.
pub struct Team {
    pub hosts: Vec<Host>,
    pub shell: Shell,
    pub nodes: Nodes,
    /// The job's key, in hex.
    pub key: String,
    pub variables: Vec<(OsString, OsString)>,
    pub folder: Option<PathBuf>,
    pub is_bound: bool,
    /// How long a host, or for a host the launcher, may be silent.
    pub patience: Duration,
    /// What the hosts that were met so far call themselves, and their node numbers.
    pub met: Mutex<BTreeMap<usize, (String, NodeId)>>,
    /// The node numbers of those that the job begins on.
    pub begun_on: OnceLock<Vec<NodeId>>,
}

impl Team {
    /// Starts the helper on a host.
    pub fn open(&self, number: usize) -> Result<Link> {
        let host = &self.hosts[number];
        Link::open(&host.name, self.shell.helper_on(host, &self.nodes))
    }

    /// What the helper on a host is told, once it has said who it is.
    pub fn welcome(&self, number: usize, hello: &Hello) -> Result<Begin> {
        check_version(hello)?;
        let node = self.node(number, hello)?;
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let twin = met
            .iter()
            .find(|(known, (host, id))| **known != number && *id == node && *host != hello.host);
        if let Some((_, (host, _))) = twin {
            return Err(Error::Hosts(format!(
                "hosts {host} and {} both have the node number {node}: give each its own in a nodes file (BCL_NODES; \
                 see bcl --help)",
                hello.host
            )));
        }
        met.insert(number, (hello.host.clone(), node));
        let mut environment = environment_on(node, &self.nodes);
        let begun_on = self.begun_on.get().filter(|nodes| nodes.len() > 1);
        environment.extend(begun_on.map(|nodes| hosts_variable(nodes)));
        environment.extend(self.variables.iter().cloned());
        Ok(Begin {
            setting: Setting {
                key: self.key.clone(),
                environment,
                folder: self.folder.clone(),
                is_bound: self.is_bound,
            },
            patience: self.patience,
        })
    }

    /// The node number of a host that has said who it is: as the nodes file says, or its name if that is one, else as the host itself says.
    pub fn node(&self, number: usize, hello: &Hello) -> Result<NodeId> {
        let host = &self.hosts[number];
        let by_file = self.nodes.by_name(host.node_name()).map(|node| node.id);
        let by_user = by_file.or_else(|| host.node_name().parse().ok());
        let wrong =
            |why: &dyn std::fmt::Display| Error::Hosts(format!("host {}: {why}", host.name));
        match (by_user, &hello.node) {
            (Some(node), _) => Ok(node),
            (None, Ok(text)) => text.parse().map_err(|error| wrong(&error)),
            (None, Err(why)) => Err(wrong(why)),
        }
    }
}

fn check_version(hello: &Hello) -> Result<()> {
    let ours = env!("CARGO_PKG_VERSION");
    match hello.version == ours {
        true => Ok(()),
        false => Err(Error::Hosts(format!(
            "host {} has bcl {} and this is bcl {ours}: install the same on all hosts",
            hello.host, hello.version
        ))),
    }
}

/// Where others of the job may be, for what they share beside messages.
fn hosts_variable(nodes: &[NodeId]) -> (OsString, OsString) {
    let numbers: Vec<_> = nodes.iter().map(NodeId::to_string).collect();
    ("BCL_HOSTS".into(), numbers.join(",").into())
}

/// What processes on other hosts get of our environment: the `BCL_` variables, their host's number, and the nodes as we know
/// them.
fn environment_on(node: NodeId, nodes: &Nodes) -> Vec<(OsString, OsString)> {
    let known = nodes.to_environment();
    let ours = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        let is_replaced = known.is_some() && name.starts_with("BCL_NODES");
        name.starts_with("BCL_") && !OWN_VARIABLES.contains(&&*name) && !is_replaced
    });
    let number = ("BCL_NODE".into(), node.to_string().into());
    let known = known.iter().map(|(name, text)| (name.into(), text.into()));
    ours.chain([number]).chain(known).collect()
}
