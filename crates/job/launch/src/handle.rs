//! A running job for other threads than the one that looks after it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use bcl::job::{Answer, Spawn, Spawned};
use rustix::event::{EventfdFlags, eventfd};

use crate::error::{Error, Result};

/// Tells a running job what to do. May be cloned, and used by any thread but the one that waits for the job.
#[derive(Debug, Clone)]
pub struct Handle {
    commands: Sender<Command>,
    bell: Arc<OwnedFd>,
}

/// The other end.
#[derive(Debug)]
pub(crate) struct Desk {
    commands: Receiver<Command>,
    bell: Arc<OwnedFd>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Spawn(Spawn, Sender<Answer>),
    Signal(i32),
}

pub(crate) fn pair() -> Result<(Handle, Desk)> {
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|errno| Error::system("make a descriptor that wakes the launcher", errno))?;
    let bell = Arc::new(bell);
    let (sender, receiver) = channel();
    let handle = Handle {
        commands: sender,
        bell: Arc::clone(&bell),
    };
    let desk = Desk {
        commands: receiver,
        bell,
    };
    Ok((handle, desk))
}

impl Handle {
    /// Starts more processes in the job, as [`bcl::Job::spawn`] does for one of its processes. Blocks until each of them has
    /// been started or cannot be: as long as it takes to reach a host.
    ///
    /// # Errors
    /// [`Error::Plan`] where the spawn makes no sense, [`Error::Refused`] where the job has no such host or is being ended,
    /// [`Error::Over`] where it has ended.
    pub fn spawn(&self, spawn: Spawn) -> Result<Vec<Spawned>> {
        if let Some(mistake) = spawn.mistake() {
            return Err(Error::Plan(mistake));
        }
        let (tell, told) = channel();
        self.command(Command::Spawn(spawn, tell))?;
        match told.recv().map_err(|_| Error::Over)? {
            Answer::Spawned(results) => Ok(results),
            Answer::Refused(reason) => Err(Error::Refused(reason)),
            Answer::Parent(_) | Answer::NotSupported => unreachable!("not to a spawn of ours"),
        }
    }

    /// Sends a signal to all processes of the job.
    ///
    /// # Errors
    /// [`Error::Over`] where it has ended.
    pub fn signal(&self, signal: i32) -> Result<()> {
        match (1..=64).contains(&signal) {
            true => self.command(Command::Signal(signal)),
            false => Err(Error::Plan(format!("{signal} is not a signal"))),
        }
    }

    fn command(&self, command: Command) -> Result<()> {
        self.commands.send(command).map_err(|_| Error::Over)?;
        // It is full only if the other end has much to wake up for.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        Ok(())
    }
}

impl Desk {
    /// The next command that waits.
    pub fn next(&self) -> Option<Command> {
        let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        self.commands.try_recv().ok()
    }
}

impl AsFd for Desk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
