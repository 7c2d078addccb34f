//! Starting one process of the job: environment, streams, core, and what ties it to the launcher.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::cores::allowed_cores;
use crate::error::{Error, Result};
use crate::{outlet, signals};

/// Statuses that shells have for programs they cannot start.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// What all processes of a job on one host have in common.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The program and its arguments.
    pub program: Vec<OsString>,
    /// How many processes the job has, on all hosts.
    pub size: u32,
    /// The job's key, in hex.
    pub key: String,
    /// What is set beside what the launcher of the host has in its own environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where they run, if not where the launcher does.
    pub folder: Option<PathBuf>,
    /// Whether each is kept on a core.
    pub is_bound: bool,
}

/// Where a process reads and writes.
#[derive(Debug, Clone, Copy)]
pub enum Streams<'a> {
    /// As the launcher does; only rank 0 has input.
    Inherited,
    /// Output through pipes, input as before.
    PipedOutput,
    /// All through pipes; only rank 0 has input. No terminal reaches these processes, and each begins a process
    /// group, so that a signal reaches what it starts as well.
    Piped,
    /// Output to files in this folder, input as before.
    Files(&'a Path),
}

/// Starts the processes of a host.
pub struct Starter<'a> {
    task: &'a Task,
    streams: Streams<'a>,
    cores: Vec<usize>,
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

impl<'a> Starter<'a> {
    pub fn new(task: &'a Task, streams: Streams<'a>) -> Result<Self> {
        Ok(Self {
            task,
            streams,
            cores: allowed_cores()?,
        })
    }

    /// Whether each process leads a process group.
    pub fn makes_groups(&self) -> bool {
        matches!(self.streams, Streams::Piped)
    }

    /// Starts process `rank`, the one with this `index` on its host. Call from the main thread: the kernel takes
    /// the death of the calling thread for that of the launcher.
    pub fn start(&self, rank: u32, index: usize) -> Result<Started> {
        let (program, arguments) = self
            .task
            .program
            .split_first()
            .ok_or_else(|| Error::Plan("which program?".into()))?;
        let (launch, theirs) = UnixStream::pair()
            .map_err(|error| Error::system("make a socket for the job", error))?;
        launch
            .set_nonblocking(true)
            .map_err(|error| Error::system("make a socket for the job", error))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(
                self.task
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .env("BCL_RANK", rank.to_string())
            .env("BCL_SIZE", self.task.size.to_string())
            .env("BCL_JOB_KEY", &self.task.key)
            .env("BCL_LAUNCH_FD", theirs.as_raw_fd().to_string());
        if let Some(folder) = &self.task.folder {
            enter(&mut command, folder)?;
        }
        self.direct(&mut command, rank)?;
        self.tie(&mut command, index, theirs.as_raw_fd());
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

    fn direct(&self, command: &mut Command, rank: u32) -> Result<()> {
        match self.streams {
            _ if rank > 0 => drop(command.stdin(Stdio::null())),
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
                let [(out, _), (err, _)] = outlet::create_files(folder, rank as usize)?;
                command.stdout(out).stderr(err);
            }
        }
        Ok(())
    }

    /// What can only be done in the new process before it becomes the program.
    fn tie(&self, command: &mut Command, index: usize, launch_fd: i32) {
        let core = (self.task.is_bound && !self.cores.is_empty())
            .then(|| self.cores[index % self.cores.len()]);
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
    }
}

/// Checked beforehand: afterwards a missing folder looks like a missing program.
fn enter(command: &mut Command, folder: &Path) -> Result<()> {
    let failed = |error| Error::system(format_args!("enter {}", folder.display()), error);
    let is_folder = std::fs::metadata(folder).map_err(failed)?.is_dir();
    if !is_folder {
        return Err(failed(std::io::ErrorKind::NotADirectory.into()));
    }
    command.current_dir(folder).env("PWD", folder);
    Ok(())
}

fn cannot_start(program: &Path, error: &std::io::Error) -> Error {
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
    Error::CannotStart {
        program: program.display().to_string(),
        why,
        status,
    }
}
