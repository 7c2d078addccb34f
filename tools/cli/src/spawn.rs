//! A process beside this one, as the partner of a measurement: it goes with this one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bcl::{Folder, JobKey};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use crate::failure::{Failure, Result};
use crate::interrupt;

/// How long a partner may take to tidy up before it is killed.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running process of ours. It never outlives this one, however that ends.
#[derive(Debug)]
pub struct Partner {
    child: Child,
    pidfd: Arc<OwnedFd>,
}

impl Partner {
    /// Starts this program again with these arguments, silent but for its errors. Call from the main thread: the
    /// kernel takes the death of the calling thread for that of the process.
    pub fn start(
        arguments: impl IntoIterator<Item = std::ffi::OsString>,
        key: &JobKey,
    ) -> Result<Self> {
        Self::start_with(arguments, key, |_| Ok(()))
    }

    /// As [`start`](Self::start), and otherwise as `prepare` has it.
    pub fn start_with(
        arguments: impl IntoIterator<Item = std::ffi::OsString>,
        key: &JobKey,
        prepare: impl FnOnce(&mut Command) -> Result<()>,
    ) -> Result<Self> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::system("find this program's own file", error))?;
        let mut command = Command::new(program);
        command.args(arguments).env("BCL_JOB_KEY", key.to_hex());
        prepare(&mut command)?;
        Self::spawn(command).map_err(|error| Failure::system("start a partner process", error))
    }

    /// Starts any program, silent but for its errors. Call from the main thread, too.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        die_with_this_process(&mut command);
        let child = command.spawn()?;
        let pidfd = Pid::from_raw(child.id() as i32)
            .ok_or(Errno::SRCH)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()))?;
        let pidfd = Arc::new(pidfd);
        let for_signals = Arc::clone(&pidfd);
        interrupt::on_exit(move || stop(&for_signals));
        Ok(Self { child, pidfd })
    }

    /// Its errors, if they were to come here.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Result<Option<std::process::ExitStatus>> {
        self.child
            .try_wait()
            .map_err(|error| Failure::system("wait for the partner process", error))
    }

    /// Whether it was stopped, and goes on only when [told](Self::resume).
    pub fn is_stopped(&self) -> Result<bool> {
        let stops = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::PidFd(self.pidfd.as_fd()), stops)
            .map(|stopped| stopped.is_some())
            .map_err(|errno| Failure::system("look at the partner process", errno))
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        pidfd_send_signal(&self.pidfd, Signal::CONT)
            .map_err(|errno| Failure::system("let the partner process go on", errno))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        stop(&self.pidfd);
        let _ = self.child.wait();
    }
}

/// Asks the process to end, kills it if it does not, and removes the name it may have left: one that ends
/// in the middle of opening a port cannot do that itself.
fn stop(pidfd: &OwnedFd) {
    let _ = pidfd_send_signal(pidfd, Signal::TERM);
    let mut fds = [PollFd::new(pidfd, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: PATIENCE.as_secs() as i64,
        tv_nsec: 0,
    };
    if poll(&mut fds, Some(&timeout)) != Ok(1) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
        let _ = poll(&mut fds, Some(&timeout));
    }
    if let Ok(folder) = Folder::open(Folder::default_path()) {
        let _ = folder.sweep();
    }
}

/// The child gets SIGTERM when the thread that starts it ends, so that it can tidy up.
pub fn die_with_this_process(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only two system calls are made, which are allowed there.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            // The parent may have died before the line above.
            match rustix::process::getppid() == Some(parent) {
                true => Ok(()),
                false => Err(Errno::SRCH.into()),
            }
        });
    }
}
