//! Starting one process of the job: environment, streams, core, and what ties it to the launcher.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bcl::{Folder, JobKey};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{Arguments, Bind, signals};
use crate::cores;
use crate::failure::{Failure, Result};

/// Statuses that shells have for programs they cannot start.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Everything that the processes of a job have in common.
pub struct Launcher<'a> {
    arguments: &'a Arguments,
    folder: PathBuf,
    key: String,
    cores: Vec<usize>,
}

/// A process that has just been started.
pub struct Started {
    pub child: Child,
    /// The launcher's end of BCL_LAUNCH_FD.
    pub launch: UnixStream,
    /// Its output, where the launcher passes it on.
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
}

impl<'a> Launcher<'a> {
    pub fn new(arguments: &'a Arguments, folder: &Folder, key: &JobKey) -> Result<Self> {
        if let Some(output) = &arguments.output {
            std::fs::create_dir_all(output).map_err(|error| {
                Failure::system(format_args!("create {}", output.display()), error)
            })?;
        }
        Ok(Self {
            arguments,
            folder: folder.path().to_owned(),
            key: key.to_hex(),
            cores: cores::allowed()?,
        })
    }

    /// Starts process `rank`. Call from the main thread: the kernel takes the death of the calling thread for
    /// that of the launcher.
    pub fn start(&self, rank: u32) -> Result<Started> {
        let (program, arguments) = self
            .arguments
            .program
            .split_first()
            .ok_or_else(|| Failure::usage("which program?"))?;
        let (launch, theirs) = UnixStream::pair()
            .map_err(|error| Failure::system("make a socket for the job", error))?;
        launch
            .set_nonblocking(true)
            .map_err(|error| Failure::system("make a socket for the job", error))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("BCL_RANK", rank.to_string())
            .env("BCL_SIZE", self.arguments.processes.to_string())
            .env("BCL_JOB_KEY", &self.key)
            .env("BCL_DIR", &self.folder)
            .env("BCL_LAUNCH_FD", theirs.as_raw_fd().to_string());
        if rank > 0 {
            command.stdin(Stdio::null());
        }
        self.direct_output(&mut command, rank)?;
        self.tie(&mut command, rank, theirs.as_raw_fd());
        let mut child = command
            .spawn()
            .map_err(|error| cannot_start(Path::new(program), &error))?;
        Ok(Started {
            stdout: child.stdout.take().map(Into::into),
            stderr: child.stderr.take().map(Into::into),
            child,
            launch,
        })
    }

    fn direct_output(&self, command: &mut Command, rank: u32) -> Result<()> {
        if self.arguments.prefix {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        if let Some(folder) = &self.arguments.output {
            let create = |name: String| {
                let path = folder.join(name);
                File::create(&path).map_err(|error| {
                    Failure::system(format_args!("create {}", path.display()), error)
                })
            };
            command.stdout(create(format!("{rank}.out"))?);
            command.stderr(create(format!("{rank}.err"))?);
        }
        Ok(())
    }

    /// What can only be done in the new process before it becomes the program.
    fn tie(&self, command: &mut Command, rank: u32, launch_fd: i32) {
        let core = (self.arguments.bind == Bind::Core && !self.cores.is_empty())
            .then(|| self.cores[rank as usize % self.cores.len()]);
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

fn cannot_start(program: &Path, error: &std::io::Error) -> Failure {
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
    Failure {
        text: format!("cannot start {}: {why}", program.display()),
        status,
    }
}
