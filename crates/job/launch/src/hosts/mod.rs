//! A job on several hosts: a helper on each host, reached by a remote shell, starts the processes there. The key and
//! all else that they need goes over the shell's streams, and never stands on a command line.
//! A [`RemoteProcess`] is reached in the same way, for commands that need a partner on another host.

pub mod frame;
mod link;
mod list;
pub mod pulse;
mod remote_host;
mod remote_process;
mod shell;
mod team;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use bcl::{JobKey, Nodes};
use rustix::event::{Timespec, poll};

use crate::error::{Error, Result};
use crate::launch::{Launch, Output};
use crate::outlet::{Kind, Outlet};
use crate::placement::Placement;
use crate::running::{Running, Sweep};
use crate::signals::{Signal, Signals};
use crate::site::Site;
use crate::supervise::Supervisor;
pub use list::{Host, MapBy, ParseHostError, read_hosts};
use remote_host::RemoteHost;
pub use remote_process::RemoteProcess;
pub use shell::RemoteShell;
use shell::Shell;
use team::Team;

/// How often the signals are looked at while hosts are reached.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Starts the job on its hosts.
pub(crate) fn start(launch: Launch, key: &JobKey) -> Result<Running> {
    let here = std::env::current_dir()
        .map_err(|error| Error::system("find the working directory", error))?;
    let team = Arc::new(Team {
        hosts: launch.hosts.clone(),
        shell: Shell::new(&launch.shell)?,
        nodes: Nodes::load().map_err(Error::configuration)?,
        key: key.to_hex(),
        variables: launch.variables.clone(),
        folder: Some(here),
        is_bound: launch.is_bound,
        patience: launch.patience,
        met: Mutex::new(BTreeMap::new()),
        begun_on: OnceLock::new(),
    });
    let mut placement = Placement::on(&launch.hosts, launch.map_by);
    let homes = placement.next(launch.processes as usize);
    let outlet = Outlet::new(match &launch.output {
        Output::Files(folder) => Kind::Files(folder.clone()),
        output => Kind::Shared {
            is_labelled: *output == Output::Labelled,
        },
    });
    let numbers = 0..team.hosts.len();
    let mut hosts: Vec<_> = numbers
        .map(|number| RemoteHost::new(&team, number))
        .collect();
    // A host without a process is not even asked.
    let wanted: BTreeSet<usize> = homes.iter().copied().collect();
    connect(&team, &mut hosts, &wanted, || {
        launch.signals.as_ref().and_then(interrupted)
    })?;
    let sites = hosts
        .into_iter()
        .map(|host| Box::new(host) as Box<dyn Site>);
    let command = launch.program.clone();
    let supervisor = Supervisor::new(launch, sites.collect(), placement, outlet)?;
    Running::begin(supervisor, &homes, &command, Sweep(None))
}

/// A signal that ends the command.
fn interrupted(signals: &Signals) -> Option<i32> {
    signals.next().map(|signal| match signal {
        Signal::Forward(signal) | Signal::FromTerminal(signal) => signal,
    })
}

/// Joins these hosts, all before the first process is started. A failure here ends all of them.
fn connect(
    team: &Team,
    hosts: &mut [RemoteHost],
    wanted: &BTreeSet<usize>,
    mut interrupted: impl FnMut() -> Option<i32>,
) -> Result<()> {
    wanted.iter().try_for_each(|number| hosts[*number].meet())?;
    loop {
        let mut are_all_there = true;
        for number in wanted {
            are_all_there &= hosts[*number].greet()?;
        }
        if are_all_there {
            break;
        }
        let mut fds = Vec::new();
        hosts.iter().for_each(|host| host.add_to(&mut fds));
        let _ = poll(&mut fds, Some(&LOOK));
        if let Some(signal) = interrupted() {
            return Err(Error::Interrupted(signal));
        }
    }
    let nodes = wanted.iter().map(|number| hosts[*number].node());
    let nodes = nodes.collect::<Result<Vec<_>>>()?;
    team.begun_on
        .get_or_init(|| nodes.into_iter().flatten().collect());
    wanted.iter().try_for_each(|number| hosts[*number].join())
}
