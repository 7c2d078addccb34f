//! What a job is to be: program, processes, hosts, output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bcl::{Folder, JobKey};

use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::hosts::{self, Host, MapBy, RemoteShell};
use crate::machine::raise_descriptor_limit;
use crate::outlet::Outlet;
use crate::process::{Starter, Streams, Task};
use crate::signals::Signals;
use crate::supervise::Supervisor;

/// How long a host may be silent before it counts as lost, where nobody has said.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job to be started, and how.
#[derive(Debug, Clone)]
pub struct Launch {
    pub(crate) program: Vec<OsString>,
    pub(crate) processes: u32,
    pub(crate) hosts: Vec<Host>,
    pub(crate) map_by: MapBy,
    pub(crate) shell: RemoteShell,
    pub(crate) patience: Duration,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) output: Output,
    pub(crate) is_bound: bool,
    pub(crate) timeout: Option<Duration>,
}

/// Where processes write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the streams of this process.
    Shared,
    /// There as well, with `[RANK] ` before each line.
    Labelled,
    /// To files in this folder, which is made: `RANK.out` and `RANK.err`.
    Files(PathBuf),
}

impl Launch {
    /// So many processes of a program: its name, and its arguments.
    pub fn new(program: impl IntoIterator<Item = impl Into<OsString>>, processes: u32) -> Self {
        Self {
            program: program.into_iter().map(Into::into).collect(),
            processes,
            hosts: Vec::new(),
            map_by: MapBy::Slot,
            shell: RemoteShell::default(),
            patience: PATIENCE,
            variables: Vec::new(),
            output: Output::Shared,
            is_bound: false,
            timeout: None,
        }
    }

    /// On these hosts instead of this one. Processes there get the `BCL_` variables of this process.
    pub fn hosts(self, hosts: Vec<Host>) -> Self {
        Self { hosts, ..self }
    }

    /// How ranks go round the hosts; as a rule, filling the slots of one after the other.
    pub fn map_by(self, map_by: MapBy) -> Self {
        Self { map_by, ..self }
    }

    /// How hosts are reached.
    pub fn shell(self, shell: RemoteShell) -> Self {
        Self { shell, ..self }
    }

    /// How long a host, or for a host this process, may be silent before it counts as lost; as a rule, a minute.
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Variables for the processes.
    pub fn variables(self, variables: Vec<(OsString, OsString)>) -> Self {
        Self { variables, ..self }
    }

    /// Where the processes write.
    pub fn output(self, output: Output) -> Self {
        Self { output, ..self }
    }

    /// Whether each process is kept on one core.
    pub fn bind_to_cores(self, is_bound: bool) -> Self {
        Self { is_bound, ..self }
    }

    /// When the job is ended if it has not done so itself.
    pub fn timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Runs the job to its end; the status is what its processes deserve.
    pub fn run(&self, signals: &Signals) -> Result<u8> {
        if let Output::Files(folder) = &self.output {
            std::fs::create_dir_all(folder).map_err(|error| {
                Error::system(format_args!("create {}", folder.display()), error)
            })?;
        }
        raise_descriptor_limit();
        let key = JobKey::random().map_err(Error::configuration)?;
        match self.hosts.is_empty() {
            true => self.run_here(signals, &key),
            false => hosts::run(self, signals, &key),
        }
    }

    fn run_here(&self, signals: &Signals, key: &JobKey) -> Result<u8> {
        let folder = Folder::open(Folder::default_path()).map_err(Error::configuration)?;
        let mut environment = self.variables.clone();
        environment.push(("BCL_DIR".into(), folder.path().into()));
        let task = self.task(key, environment);
        let streams = match &self.output {
            Output::Files(files) => Streams::Files(files),
            Output::Labelled => Streams::PipedOutput,
            Output::Shared => Streams::Inherited,
        };
        let crew = Crew::start(&Starter::new(&task, streams)?, 0..self.processes)?;
        let homes = vec![0; self.processes as usize];
        let outlet = Outlet::shared(homes.len(), self.output == Output::Labelled);
        let supervisor = Supervisor::new(
            self.deadline(),
            signals,
            vec![Box::new(crew)],
            homes,
            outlet,
        );
        let status = supervisor.sharing_the_terminal().run();
        // What was killed could not take its names with it. That some may stay is no reason to fail.
        let _ = folder.sweep();
        status
    }

    /// When the job has lasted long enough.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let timeout = self.timeout;
        timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }

    /// What each host is to do.
    pub(crate) fn task(&self, key: &JobKey, environment: Vec<(OsString, OsString)>) -> Task {
        Task {
            program: self.program.clone(),
            size: self.processes,
            key: key.to_hex(),
            environment,
            folder: None,
            is_bound: self.is_bound,
        }
    }
}
