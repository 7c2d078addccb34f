//! Starting one process of the job: environment, streams, core, and what ties it to the launcher.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bcl::job::NotStarted;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::cores::allowed_cores;
use crate::name::Name;
use crate::roster::not_started;
use crate::{outlet, signals};

/// Statuses that shells have for programs they cannot start.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// What all processes of a job on one host have in common.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The job's key, in hex.
    pub key: String,
    /// What is set beside what the launcher of the host has in its own environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where they run, if not where the launcher does.
    pub folder: Option<PathBuf>,
    /// Whether each is kept on a core.
    pub is_bound: bool,
}

/// Processes of one group, to be started on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Variables of this group.
    pub environment: Vec<(OsString, OsString)>,
    /// The number of the group.
    pub group: u32,
    /// How many processes it has, on all hosts.
    pub size: u32,
    /// The number in the job of the one with rank 0; the others follow.
    pub first: u32,
    /// Those that are meant here.
    pub ranks: Vec<u32>,
}

impl Start {
    /// Their numbers in the job, and what they are called.
    pub fn processes(&self) -> impl Iterator<Item = (u32, Name)> {
        let group = self.group;
        let name = move |rank| Name { group, rank };
        self.ranks
            .iter()
            .map(move |rank| (self.first.saturating_add(*rank), name(*rank)))
    }
}

/// Where processes read and write.
#[derive(Debug, Clone)]
pub enum Streams {
    /// As the launcher does; only the job's first process has input.
    Inherited,
    /// Output through pipes, input as before.
    PipedOutput,
    /// All through pipes; only the first has input. No terminal reaches these processes, and each begins a process group,
    /// so that a signal reaches what it starts as well.
    Piped,
    /// Output to files in this folder, input as before.
    Files(PathBuf),
}

/// Starts processes of a group.
pub struct Starter<'a> {
    pub setting: &'a Setting,
    pub streams: &'a Streams,
    pub start: &'a Start,
}

/// A process that has just been started.
pub struct Started {
    pub child: Child,
    /// The launcher's end of BCL_LAUNCH_FD.
    pub launch: UnixStream,
    /// Its streams, where the launcher passes them on.
    pub stdin: Option<OwnedFd>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

impl Starter<'_> {
    /// Starts a process, the one with this `index` on its host. Call from the thread that looks after it: the kernel takes
    /// the death of the calling thread for that of the launcher.
    pub fn start(&self, process: u32, name: Name, index: usize) -> Result<Started, NotStarted> {
        let words = self.start.command.split_first();
        let (program, arguments) = words.ok_or_else(|| failed("which program?"))?;
        let pair = UnixStream::pair().and_then(|(launch, theirs)| {
            launch.set_nonblocking(true)?;
            Ok((launch, theirs))
        });
        let (launch, theirs) =
            pair.map_err(|error| failed(format!("cannot make a socket for the job: {error}")))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(pairs(&self.setting.environment))
            .envs(pairs(&self.start.environment))
            .env("BCL_RANK", name.rank.to_string())
            .env("BCL_SIZE", self.start.size.to_string())
            .env("BCL_JOB_KEY", &self.setting.key)
            .env("BCL_LAUNCH_FD", theirs.as_raw_fd().to_string());
        if let Some(folder) = &self.setting.folder {
            enter(&mut command, folder)?;
        }
        self.direct(&mut command, process, name)?;
        self.tie(&mut command, index, theirs.as_raw_fd())?;
        let mut child = command
            .spawn()
            .map_err(|error| cannot_start(Path::new(program), &error))?;
        Ok(Started {
            stdin: child.stdin.take().map(Into::into),
            stdout: child.stdout.take().map(Into::into),
            stderr: child.stderr.take().map(Into::into),
            child,
            launch,
        })
    }

    fn direct(&self, command: &mut Command, process: u32, name: Name) -> Result<(), NotStarted> {
        match self.streams {
            _ if process > 0 => drop(command.stdin(Stdio::null())),
            Streams::Piped => drop(command.stdin(Stdio::piped())),
            _ => {}
        }
        match self.streams {
            Streams::Inherited => {}
            Streams::PipedOutput => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            Streams::Piped => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.process_group(0);
            }
            Streams::Files(folder) => {
                let files = outlet::create_files(folder, name);
                let [(out, _), (err, _)] = files.map_err(|error| failed(error.to_string()))?;
                command.stdout(out).stderr(err);
            }
        }
        Ok(())
    }

    /// What can only be done in the new process before it becomes the program.
    fn tie(&self, command: &mut Command, index: usize, launch_fd: i32) -> Result<(), NotStarted> {
        let core = match self.setting.is_bound {
            true => Some(core(index)?),
            false => None,
        };
        let launcher = getpid();
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The launcher may have died before the line above.
            if getppid() != Some(launcher) {
                return Err(Errno::SRCH.into());
            }
            signals::unblock();
            if let Some(core) = core {
                let mut set = CpuSet::new();
                set.set(core);
                sched_setaffinity(None, &set)?;
            }
            // SAFETY: the launcher holds the descriptor open until the process has started.
            let launch = unsafe { BorrowedFd::borrow_raw(launch_fd) };
            fcntl_setfd(launch, FdFlags::empty())?;
            Ok(())
        };
        // SAFETY: `prepare` makes system calls only, and allocates nothing.
        unsafe { command.pre_exec(prepare) };
        Ok(())
    }
}

fn pairs(variables: &[(OsString, OsString)]) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let all = variables.iter();
    all.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
}

/// Round the cores that are allowed.
fn core(index: usize) -> Result<usize, NotStarted> {
    let cores = allowed_cores().map_err(|error| failed(error.to_string()))?;
    match cores.is_empty() {
        true => Err(failed("no core is allowed to this process")),
        false => Ok(cores[index % cores.len()]),
    }
}

/// Not the program's fault.
fn failed(why: impl Into<String>) -> NotStarted {
    not_started(1, why)
}

/// Checked beforehand: afterwards a missing folder looks like a missing program.
fn enter(command: &mut Command, folder: &Path) -> Result<(), NotStarted> {
    let failed =
        |error: std::io::Error| failed(format!("cannot enter {}: {error}", folder.display()));
    let is_folder = std::fs::metadata(folder).map_err(failed)?.is_dir();
    if !is_folder {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    command.current_dir(folder).env("PWD", folder);
    Ok(())
}

fn cannot_start(program: &Path, error: &std::io::Error) -> NotStarted {
    let (status, why) = match error.kind() {
        std::io::ErrorKind::NotFound => (
            NOT_FOUND,
            "there is no such program; write ./NAME for one in this folder".to_owned(),
        ),
        std::io::ErrorKind::PermissionDenied => (
            NOT_EXECUTABLE,
            "it is not executable: see chmod +x".to_owned(),
        ),
        _ => (NOT_EXECUTABLE, error.to_string()),
    };
    let program = program.display();
    not_started(status, format!("cannot start {program}: {why}"))
}
