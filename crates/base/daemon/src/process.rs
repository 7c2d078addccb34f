//! Processes that cannot be mistaken for others: number, time of start, and a pidfd to see their end.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bcl_node::watch::{PeerProcess, stat_fields};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

/// A process of this boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number, seen from here.
    pub pid: i32,
    /// When it started, in the kernel's ticks since boot.
    pub started: u64,
}

/// A process and the descriptor that tells of its end.
#[derive(Debug)]
pub struct Watched {
    /// Who it is.
    pub process: Process,
    /// Readable from its end on.
    pub pidfd: OwnedFd,
}

impl Watched {
    /// The process at the other end of a socket, whose number the kernel gave as `pid`.
    ///
    /// # Errors
    /// When it cannot be seen from here, or has ended.
    pub fn peer(socket: impl AsFd, pid: i32) -> io::Result<Watched> {
        let own = PeerProcess::open(&socket, None)?;
        match own.as_fd() {
            Some(pidfd) => Self::behind(pidfd.try_clone_to_owned()?, pid),
            // Before Linux 6.5. It was that process when it connected, which is not long ago.
            None => Self::behind(open(pid)?, pid),
        }
    }

    /// That same process, if it lives.
    pub fn find(process: Process) -> Option<Watched> {
        let found = Self::behind(open(process.pid).ok()?, process.pid).ok()?;
        (found.process == process).then_some(found)
    }

    fn behind(pidfd: OwnedFd, pid: i32) -> io::Result<Watched> {
        let started = start_of(pid)?;
        // Still alive: so the number was its own while its start was read.
        if has_ended(&pidfd) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let process = Process { pid, started };
        Ok(Watched { process, pidfd })
    }
}

/// Whether the process behind a pidfd has ended.
pub fn has_ended(pidfd: impl AsFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())) == Ok(1)
}

/// A name of the time since the machine was started, in which process numbers and times of start mean something.
///
/// # Errors
/// When the kernel does not tell.
pub fn boot() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim_end().to_owned())
}

fn open(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

fn start_of(pid: i32) -> io::Result<u64> {
    if pid <= 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    starttime(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Field 22 of /proc/PID/stat.
fn starttime(stat: &str) -> Option<u64> {
    stat_fields(stat)?.nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_start_is_field_22() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) 1 2) {}\n", fields.join(" "));
        assert_eq!(starttime(&stat), Some(22));
        assert_eq!(starttime("7 (a"), None);
    }

    #[test]
    fn a_process_is_found_while_it_lives() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id() as i32;
        let started = start_of(pid).unwrap();
        let process = Process { pid, started };
        let watched = Watched::find(process).unwrap();
        let other = Process {
            started: started + 1,
            ..process
        };
        assert!(Watched::find(other).is_none());
        assert!(!has_ended(&watched.pidfd));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&watched.pidfd));
        assert!(Watched::find(process).is_none());
    }

    #[test]
    fn a_peer_is_identified() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let own = std::process::id() as i32;
        let watched = Watched::peer(&one, own).unwrap();
        assert_eq!(watched.process.pid, own);
        assert!(Watched::peer(&one, 0).is_err());
    }
}
