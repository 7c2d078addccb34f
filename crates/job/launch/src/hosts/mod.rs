//! A job on several hosts: a helper on each host, reached by a remote shell, starts the processes there. The key and
//! all else that they need goes over the shell's streams, and never stands on a command line.
//! A [`RemoteProcess`] is reached in the same way, for commands that need a partner on another host.

pub mod frame;
mod link;
mod list;
pub mod pulse;
mod remote_process;
mod shell;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bcl::{JobKey, NodeId, Nodes};
use rustix::event::{Timespec, poll};

use crate::error::{Error, Result};
use crate::launch::{Launch, Output};
use crate::outlet::Outlet;
use crate::process::Task;
use crate::running::{Running, Sweep};
use crate::signals::{Signal, Signals};
use crate::site::{Report, Site};
use crate::supervise::Supervisor;
use frame::{Begin, Hello};
use link::Link;
pub use list::{Host, MapBy, ParseHostError, read_hosts};
pub use remote_process::RemoteProcess;
pub use shell::RemoteShell;
use shell::Shell;

/// How long helpers may take to answer, all together.
const PATIENCE: Duration = Duration::from_secs(60);
/// Set for each process or host, and not taken over from our environment.
const OWN_VARIABLES: [&str; 6] = [
    "BCL_JOB_KEY",
    "BCL_JOB_KEY_FILE",
    "BCL_LAUNCH_FD",
    "BCL_NODE",
    "BCL_RANK",
    "BCL_SIZE",
];
/// How often the signals are looked at meanwhile.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Starts the job on its hosts.
pub(crate) fn start(launch: Launch, key: &JobKey) -> Result<Running> {
    let nodes = Nodes::load().map_err(Error::configuration)?;
    let size = launch.processes as usize;
    let (hosts, homes) = used(
        &launch.hosts,
        &list::place(&launch.hosts, size, launch.map_by),
    );
    let shell = Shell::new(&launch.shell)?;
    let outlet = match &launch.output {
        Output::Files(folder) => Outlet::files(size, folder)?,
        output => Outlet::shared(size, *output == Output::Labelled),
    };
    let (mut links, numbers) = connect(&hosts, &shell, &nodes, || {
        launch.signals.as_ref().and_then(interrupted)
    })?;
    let here = std::env::current_dir()
        .map_err(|error| Error::system("find the working directory", error))?;
    for (home, link) in links.iter_mut().enumerate() {
        let mut environment = environment_on(numbers[home]);
        environment.extend(launch.variables.clone());
        let ranks = homes.iter().zip(0..).filter(|(at, _)| **at == home);
        link.begin(Begin {
            task: Task {
                folder: Some(here.clone()),
                ..launch.task(key, environment)
            },
            ranks: ranks.map(|(_, rank)| rank).collect(),
            patience: launch.patience,
        });
    }
    let sites = links
        .into_iter()
        .map(|link| Box::new(link) as Box<dyn Site>);
    let supervisor = Supervisor::new(launch, sites.collect(), homes, outlet);
    Ok(Running::new(supervisor, Sweep(None)))
}

/// Only the hosts that get a process.
fn used(hosts: &[Host], homes: &[usize]) -> (Vec<Host>, Vec<usize>) {
    let mut numbers = BTreeMap::new();
    for home in homes {
        let next = numbers.len();
        numbers.entry(*home).or_insert(next);
    }
    let mut ordered: Vec<_> = numbers.iter().map(|(old, new)| (*new, *old)).collect();
    ordered.sort();
    let hosts = ordered.iter().map(|(_, old)| hosts[*old].clone());
    (
        hosts.collect(),
        homes.iter().map(|home| numbers[home]).collect(),
    )
}

/// A signal that ends the command.
fn interrupted(signals: &Signals) -> Option<i32> {
    signals.next().map(|signal| match signal {
        Signal::Forward(signal) | Signal::FromTerminal(signal) => signal,
    })
}

/// Connects with helpers on all hosts, and finds the hosts' node numbers. A failure here ends all of them.
fn connect(
    hosts: &[Host],
    shell: &Shell,
    nodes: &Nodes,
    mut interrupted: impl FnMut() -> Option<i32>,
) -> Result<(Vec<Link>, Vec<NodeId>)> {
    let mut links = Vec::with_capacity(hosts.len());
    for host in hosts {
        links.push(Link::open(&host.name, shell.helper_on(host, nodes))?);
    }
    let deadline = Instant::now() + PATIENCE;
    let mut reports = Vec::new();
    while let Some(silent) = links.iter().find(|link| link.hello().is_none()) {
        if Instant::now() >= deadline {
            return Err(Error::Unreached(format!(
                "host {} has not answered for {PATIENCE:?}",
                silent.host()
            )));
        }
        let mut fds = Vec::new();
        links.iter().for_each(|link| link.add_to(&mut fds));
        let _ = poll(&mut fds, Some(&LOOK));
        if let Some(signal) = interrupted() {
            return Err(Error::Interrupted(signal));
        }
        for link in &mut links {
            link.advance(&mut reports);
        }
        for report in reports.drain(..) {
            if let Report::Lost { text } = report {
                return Err(Error::Unreached(text));
            }
        }
    }
    let mut hellos = links.iter().filter_map(Link::hello);
    hellos.try_for_each(check_version)?;
    let numbers = numbers(hosts, &links, nodes)?;
    Ok((links, numbers))
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

/// The node number of each host: as the nodes file says, or its name if that is one, else as the host itself says.
fn numbers(hosts: &[Host], links: &[Link], nodes: &Nodes) -> Result<Vec<NodeId>> {
    let mut numbers: Vec<NodeId> = Vec::with_capacity(hosts.len());
    for (host, link) in hosts.iter().zip(links) {
        let Some(hello) = link.hello() else {
            unreachable!("all helpers have said who they are");
        };
        let by_file = nodes.by_name(host.node_name()).map(|node| node.id);
        let by_user = by_file.or_else(|| host.node_name().parse().ok());
        let number = match (by_user, &hello.node) {
            (Some(number), _) => number,
            (None, Ok(text)) => text
                .parse()
                .map_err(|error| Error::Hosts(format!("host {}: {error}", host.name)))?,
            (None, Err(why)) => {
                return Err(Error::Hosts(format!("host {}: {why}", host.name)));
            }
        };
        let twin = numbers.iter().position(|other| *other == number);
        let other_host = twin.and_then(|twin| links[twin].hello());
        if let Some(other) = other_host.filter(|other| other.host != hello.host) {
            return Err(Error::Hosts(format!(
                "hosts {} and {} both have the node number {number}: give each its own in a nodes file (BCL_NODES; \
                 see bcl --help)",
                other.host, hello.host
            )));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// What processes on other hosts get of our environment: the `BCL_` variables, and their host's number.
fn environment_on(node: NodeId) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        name.starts_with("BCL_") && !OWN_VARIABLES.contains(&&*name)
    });
    let number = ("BCL_NODE".into(), node.to_string().into());
    ours.chain([number]).collect()
}

/// `status 255`, `signal 9`.
fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (None, Some(signal)) => format!("signal {signal}"),
        (code, _) => format!("status {}", code.unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_process_are_left_alone() {
        let hosts: Vec<Host> = ["a", "b", "c"].map(|name| name.parse().unwrap()).into();
        let (names, homes) = used(&hosts, &[2, 0, 2]);
        let names: Vec<_> = names.iter().map(|host| host.name.as_str()).collect();
        assert_eq!((names, homes), (vec!["c", "a"], vec![0, 1, 0]));
    }
}
