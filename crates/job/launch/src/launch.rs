//! What a job is to be: program, processes, hosts, output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bcl::{Folder, JobKey};
use bcl_daemon::privileges::raise_descriptor_limit;

use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::hosts::{self, Host, MapBy, RemoteShell};
use crate::notice::{Listener, Notice, Outcome};
use crate::outlet::{Kind, Outlet};
use crate::placement::Placement;
use crate::process::{Setting, Streams};
use crate::running::{Running, Sweep};
use crate::signals::Signals;
use crate::supervise::Supervisor;

/// How long a host may be silent before it counts as lost, where nobody has said.
const PATIENCE: Duration = Duration::from_secs(60);

/// A job to be started, and how.
///
/// ```no_run
/// use bcl_launch::{Launch, Output};
///
/// # fn main() -> bcl_launch::Result<()> {
/// let outcome = Launch::new(["./solver", "--steps", "100"], 4)
///     .hosts(vec!["left:2".parse().unwrap(), "right:2".parse().unwrap()])
///     .output(Output::Labelled)
///     .on_notice(|notice| eprintln!("solver: {notice}"))
///     .run()?;
/// assert_eq!(outcome.status, 0, "{:?}", outcome.failure);
/// # Ok(())
/// # }
/// ```
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
    timeout: Option<Duration>,
    pub(crate) signals: Option<Signals>,
    pub(crate) listener: Listener,
}

/// Where processes write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// To the streams of this process.
    Shared,
    /// There as well, with `[RANK] ` before each line.
    Labelled,
    /// To files in this folder, which is made: `RANK.out` and `RANK.err`. Processes that are spawned are called
    /// `GROUP.RANK`, with groups from 1.
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
            signals: None,
            listener: Box::new(|_| {}),
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

    /// Passes these signals on to the job. Without this, the signals of this process are no concern of the job's.
    pub fn signals(self, signals: Signals) -> Self {
        Self {
            signals: Some(signals),
            ..self
        }
    }

    /// Who is told what happens to the job.
    pub fn on_notice(self, listener: impl FnMut(&Notice) + 'static) -> Self {
        Self {
            listener: Box::new(listener),
            ..self
        }
    }

    /// Starts the job and waits for its end.
    ///
    /// # Errors
    /// As those of [`start`](Self::start) and [`wait`](Running::wait). A process that fails is no error: see [`Outcome`].
    pub fn run(self) -> Result<Outcome> {
        self.start()?.wait()
    }

    /// Starts the job: returns when its processes have been started or, on other hosts, are about to be. A host may take a
    /// minute to answer.
    ///
    /// # Errors
    /// What keeps the job from being started, for instance a host that cannot be reached. Nothing is left running then. A
    /// program that cannot be started is no error here, but the failure of the job.
    pub fn start(self) -> Result<Running> {
        if let Output::Files(folder) = &self.output {
            std::fs::create_dir_all(folder).map_err(|error| {
                Error::system(format_args!("create {}", folder.display()), error)
            })?;
        }
        raise_descriptor_limit();
        let key = JobKey::random().map_err(Error::configuration)?;
        match self.hosts.is_empty() {
            true => self.start_here(&key),
            false => hosts::start(self, &key),
        }
    }

    fn start_here(self, key: &JobKey) -> Result<Running> {
        let folder = Folder::open(Folder::default_path()).map_err(Error::configuration)?;
        let mut environment = self.variables.clone();
        environment.push(("BCL_DIR".into(), folder.path().into()));
        let setting = Setting {
            key: key.to_hex(),
            environment,
            folder: None,
            is_bound: self.is_bound,
        };
        let streams = match &self.output {
            Output::Files(files) => Streams::Files(files.clone()),
            Output::Labelled => Streams::PipedOutput,
            Output::Shared => Streams::Inherited,
        };
        let crew = Crew::new(setting, streams);
        let mut placement = Placement::here();
        let homes = placement.next(self.processes as usize);
        let outlet = Outlet::new(Kind::Shared {
            is_labelled: self.output == Output::Labelled,
        });
        let command = self.program.clone();
        let supervisor = Supervisor::new(self, vec![Box::new(crew)], placement, outlet)?;
        let supervisor = supervisor.sharing_the_terminal();
        Running::begin(supervisor, &homes, &command, Sweep(Some(folder)))
    }

    /// When the job has lasted long enough.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let timeout = self.timeout;
        timeout.and_then(|timeout| Instant::now().checked_add(timeout))
    }
}
