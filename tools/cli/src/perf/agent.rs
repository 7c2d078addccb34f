//! An agent for one of the hosts that a measurement makes. It goes with the measurement, however that ends: what it pins and
//! writes down lies in file systems that nobody else sees, and its socket it removes itself.

use std::ffi::CStr;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};

use bcl_netns::Host;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::arguments::{Mode, word};
use crate::failure::{Failure, Result};
use crate::spawn::Partner;

/// What the agent is started as, and where it is from the folder of this program, as built and as installed.
const PROGRAM: &str = "bcld";
const PLACES: [&str; 2] = ["bcld", "../sbin/bcld"];
/// A folder that each kernel has which has eBPF: what the agent has lies there, in a file system of its own.
const PLACE: &CStr = c"/sys/fs/bpf";

/// A running agent.
pub struct Agent {
    process: Partner,
    errors: BufReader<ChildStderr>,
    socket: PathBuf,
}

impl Agent {
    /// Starts one for an interface of `host`, or of the host of this thread.
    pub fn start(interface: &str, mode: Mode, host: Option<&Host>) -> Result<Self> {
        let name = format!("bcl-perf-{}-{interface}.sock", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let mut command = Command::new(program());
        command
            .args(["--foreground", "--interface", interface])
            .args(["--state=/sys/fs/bpf/state", "--bpffs=/sys/fs/bpf/pins"])
            .arg(format!("--mode={}", word(&mode)))
            .arg("--socket")
            .arg(&socket)
            .stderr(Stdio::piped());
        if let Some(host) = host {
            let adopted = host.adopt(&mut command);
            adopted.map_err(|error| Failure::system("give the agent a network", error))?;
        }
        // SAFETY: between fork and exec it makes three system calls, and no memory.
        unsafe { command.pre_exec(|| Ok(hide()?)) };
        let mut process = Partner::spawn(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::new(
                "there is no agent: 'bcld' is neither beside this program nor in PATH (README: \"The agent\")",
            ),
            _ => Failure::system("start the agent 'bcld'", error),
        })?;
        let errors = process.take_errors();
        let errors = errors.ok_or_else(|| Failure::new("the agent has no standard error"))?;
        Ok(Self {
            process,
            errors: BufReader::new(errors),
            socket,
        })
    }

    /// Waits until programs can ask it.
    pub fn await_ready(&mut self) -> Result<()> {
        let mut said = String::new();
        loop {
            let begin = said.len();
            let read = self.errors.read_line(&mut said);
            let read = read.map_err(|error| Failure::system("hear from the agent", error))?;
            if said[begin..].contains("ready at") {
                return Ok(());
            }
            if read == 0 {
                let pid = self.process.pid();
                return Err(Failure::new(format!(
                    "the agent (process {pid}) has ended: {}",
                    said.trim_end()
                )));
            }
        }
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }
}

/// The one that was built or installed with this program, else any.
fn program() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let mut places = PLACES.iter().map(|place| own.with_file_name(place));
    let found = places.find(|place| place.exists());
    found.unwrap_or_else(|| PROGRAM.into())
}

/// Gives this process mounts of its own, and an empty file system at the place.
fn hide() -> rustix::io::Result<()> {
    // SAFETY: mounts of its own take no memory and no descriptor from the process.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(c"/", private)?;
    mount(c"tmpfs", PLACE, c"tmpfs", MountFlags::empty(), None)
}
