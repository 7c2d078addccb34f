//! A process in a job: what the launcher (`bcl run`) told it, and meeting the others.
//!
//! # The launch protocol
//!
//! What a launcher has to know, all of it. Numbers have 32 bits, little-endian; a *blob* is its length, at most 65,536, and
//! its bytes; a text is a blob in UTF-8.
//!
//! The launcher sets `BCL_RANK` (from 0), `BCL_SIZE`, `BCL_JOB_KEY` (64 hex digits, the same for all) and `BCL_LAUNCH_FD`,
//! the number of a stream socket that it leaves open for the process. Over it, two things are said.
//!
//! **Exchange.** Each process sends a blob, and when all have, each gets the blobs of all, by rank. Who waits for one that
//! has ended, or has closed its end, waits in vain: the launcher may say so by closing the socket.
//!
//! **Requests.** Where a blob could stand, a process may send a request: a number from `0x8000_0000`, which no blob has as
//! its length; the length of what follows, at most 1 MiB; and that. It says nothing more until it has the answer, which
//! begins with a number: 0, it is done, and what is said below follows; 1, *not supported*, and nothing follows; 2, refused,
//! and the reason follows as a text. A launcher that knows no requests, or not this one, skips it and answers 1.
//!
//! `0x8000_0001`, *spawn*: start more processes in this job, as a group of their own: with ranks from 0, their number as
//! size, an exchange among themselves, and the job's key. They belong to the job as all others do, and how they end counts.
//!
//! - The request: how many processes; the number of words of the command line, and each as a blob; the number of variables,
//!   and for each name and value as blobs; the host as a text, empty where the launcher is to choose; a blob for the
//!   processes.
//! - The answer, once each has been started or cannot be: for each, by rank, 0 if it runs, else the status that a launcher
//!   would have ended with (127: no such program, 126: not executable, 255: the host is not reached); its process number, or
//!   0; and a text, the host that it runs on or why it does not run. Those that could be started run even if others could
//!   not; nobody has to wait for these in an exchange.
//!
//! `0x8000_0002`, *parent*: was this process spawned? The request is empty. The answer: a number, 0 if not, else 1 and the
//! blob that came with the spawn.

mod answer;
mod spawn;

use std::io::{Read, Write};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use bcl_os::{Fd, process};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketType, sockopt};

pub use answer::{Answer, Child, NotStarted, Spawned, request};
use answer::{put_blob, put_number, read_number, read_result, read_text};
use bcl_raw::Error;
pub use spawn::{SPAWN_MAX, Spawn};

/// Longest blob of an exchange, in bytes.
pub const BLOB_MAX: usize = 64 << 10;
/// Longest request to the launcher, in bytes.
pub const REQUEST_MAX: usize = 1 << 20;
/// How long a process waits for the others in an exchange, and for the launcher.
const PATIENCE: Duration = Duration::from_secs(300);

/// This process's place in its job.
#[derive(Debug)]
pub struct Job {
    rank: u32,
    size: u32,
    launcher: Launcher,
    /// Whose place it is: this process's, not its children's.
    generation: u64,
}

/// The connection to the launcher.
#[derive(Debug)]
struct Launcher(Fd);

impl Job {
    /// The job this process was started in by a launcher, or `None` if it was started by hand.
    ///
    /// Call once: the connection to the launcher is taken over.
    ///
    /// # Errors
    /// [`Error::ForkedFromJob`] in a child that was forked from the process that the launcher started, where this library
    /// was in memory by then: its parent has the place.
    pub fn from_env() -> Result<Option<Self>, Error> {
        let Some(fd) = number::<RawFd>("BCL_LAUNCH_FD")? else {
            return Ok(None);
        };
        if process::is_forked() {
            return Err(Error::ForkedFromJob);
        }
        let missing = |name: &str| {
            Error::Configuration(format!(
                "BCL_LAUNCH_FD is set but {name} is not: the launcher sets both"
            ))
        };
        let rank = number("BCL_RANK")?.ok_or_else(|| missing("BCL_RANK"))?;
        let size = number("BCL_SIZE")?.ok_or_else(|| missing("BCL_SIZE"))?;
        if fd < 3 {
            return Err(Error::Configuration(format!(
                "BCL_LAUNCH_FD={fd} is a standard stream"
            )));
        }
        let launcher = Launcher::take(fd).map_err(|errno| {
            Error::Configuration(format!(
                "BCL_LAUNCH_FD={fd} is not the launcher's socket ({errno}): was the program started through something that closes descriptors, or by a process of the job?"
            ))
        })?;
        Ok(Some(Self {
            rank,
            size,
            launcher,
            generation: process::generation(),
        }))
    }

    /// Number of this process, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Has the launcher start more processes in this job. Returns for each, by rank, whether it runs.
    ///
    /// They are a group of their own: [`rank`](Self::rank) and [`size`](Self::size) count them only, an
    /// [`exchange`](Self::exchange) is among them, and [`parent`](Self::parent) gives each the blob of this call. Their key is
    /// that of the job, so that all can reach each other once they have addresses. They count for the end of the job as all
    /// others do: it ends with its last process, and if one fails, all are ended. That a process cannot be started ends
    /// nothing.
    ///
    /// Blocks until the launcher has started them or knows that it cannot: for as long as it takes to reach a host, and at
    /// most 300 seconds without a word. It does not wait for anything that they do.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the spawn makes no sense, [`Error::Job`] where the launcher cannot spawn, refuses (the
    /// host is not one of the job's, the job is being ended) or is gone; after the last, the launcher can do no more for this
    /// process.
    pub fn spawn(&mut self, spawn: &Spawn) -> Result<Vec<Spawned>, Error> {
        if let Some(mistake) = spawn.mistake() {
            return Err(Error::invalid(mistake));
        }
        let payload = spawn.to_bytes();
        if payload.len() > REQUEST_MAX {
            return Err(Error::invalid(format!(
                "a spawn with {} bytes of command line, variables and blob: at most {REQUEST_MAX}",
                payload.len()
            )));
        }
        let mut results = |launcher: &mut Launcher| {
            let results = (0..spawn.count).map(|_| read_result(launcher));
            results.collect::<std::io::Result<Vec<_>>>()
        };
        self.ask(request::SPAWN, &payload, &mut results)?
            .ok_or_else(|| {
                Error::Job(
                    "this job's launcher cannot start processes in a running job: start the job with bcl run".into(),
                )
            })
    }

    /// What the process that has spawned this one gave along with [`spawn`](Self::spawn); `None` if this one was not spawned.
    /// Blocks for the launcher's answer, as `spawn` does.
    pub fn parent(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut blob = |launcher: &mut Launcher| match read_number(launcher)? {
            0 => Ok(None),
            _ => read_blob(launcher).map(Some),
        };
        // Where nobody can spawn, nobody was spawned.
        let answer = self.ask(request::PARENT, &[], &mut blob)?;
        Ok(answer.flatten())
    }

    /// The place in the job is this process's.
    fn check(&self) -> Result<(), Error> {
        match self.generation == process::generation() {
            true => Ok(()),
            false => Err(Error::ForkedFromJob),
        }
    }

    /// Sends a request; `read` reads what follows where it was done. `None`: it is not supported.
    fn ask<T>(
        &mut self,
        kind: u32,
        payload: &[u8],
        read: &mut dyn FnMut(&mut Launcher) -> std::io::Result<T>,
    ) -> Result<Option<T>, Error> {
        self.check()?;
        let mut bytes = Vec::with_capacity(8 + payload.len());
        put_number(&mut bytes, kind as usize);
        put_number(&mut bytes, payload.len());
        bytes.extend_from_slice(payload);
        let launcher = &mut self.launcher;
        let answer = launcher
            .write_all(&bytes)
            .and_then(|()| match read_number(launcher)? {
                answer::DONE => read(launcher).map(|done| Ok(Some(done))),
                answer::NOT_SUPPORTED => Ok(Ok(None)),
                answer::REFUSED => read_text(launcher).map(Err),
                other => Err(std::io::Error::other(format!("it answers {other}"))),
            });
        match answer {
            Ok(answer) => {
                answer.map_err(|reason| Error::Job(format!("the launcher refuses: {reason}")))
            }
            Err(error) => {
                // What comes late must not be taken for the answer to something else.
                let _ = rustix::net::shutdown(&launcher.0, rustix::net::Shutdown::Both);
                Err(Error::Job(format!(
                    "the launcher does not answer: {error}; has it ended, or was this process started by something else than bcl run?"
                )))
            }
        }
    }

    /// Gives `mine` to all and returns what each has given, by rank. Blocks until all have called it.
    pub fn exchange(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.check()?;
        if mine.len() > BLOB_MAX {
            return Err(Error::invalid(format!(
                "{} bytes to exchange: at most {BLOB_MAX}",
                mine.len()
            )));
        }
        let failed = |error: std::io::Error| {
            Error::Job(format!(
                "the exchange with the other processes of the job failed: {error}; has one of them ended?"
            ))
        };
        write_blob(&mut self.launcher, mine).map_err(failed)?;
        (0..self.size)
            .map(|_| read_blob(&mut self.launcher).map_err(failed))
            .collect()
    }
}

impl Launcher {
    /// Takes the launcher's descriptor over, if it is one.
    fn take(fd: RawFd) -> Result<Self, Errno> {
        // SAFETY: looked at for a moment; if it is not open, the kernel says so.
        let seen = unsafe { BorrowedFd::borrow_raw(fd) };
        // Behind an exec the number may be anything by now.
        if sockopt::socket_domain(seen)? != AddressFamily::UNIX
            || sockopt::socket_type(seen)? != SocketType::STREAM
        {
            return Err(Errno::NOTSOCK);
        }
        rustix::io::fcntl_setfd(seen, rustix::io::FdFlags::CLOEXEC)?;
        sockopt::set_socket_timeout(seen, sockopt::Timeout::Recv, Some(PATIENCE))?;
        // SAFETY: the launcher opened it for us, and nobody else in this process uses it.
        Ok(Self(Fd::own(unsafe { OwnedFd::from_raw_fd(fd) })))
    }
}

impl Read for Launcher {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Launcher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // A launcher that has ended is an error of the call, and no signal.
        Ok(rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes one blob.
pub fn write_blob(to: &mut impl Write, blob: &[u8]) -> std::io::Result<()> {
    u32::try_from(blob.len()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let mut bytes = Vec::with_capacity(4 + blob.len());
    put_blob(&mut bytes, blob);
    to.write_all(&bytes)
}

/// Reads one blob.
pub fn read_blob(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let len = read_number(from)? as usize;
    if len > BLOB_MAX {
        return Err(std::io::Error::new(
            std::io::ErrorKind::InvalidData,
            format!("a blob of {len} bytes"),
        ));
    }
    let mut blob = vec![0; len];
    from.read_exact(&mut blob)?;
    Ok(blob)
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>, Error> {
    match std::env::var(name) {
        Err(_) => Ok(None),
        Ok(text) => match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(Error::Configuration(format!(
                "{name}='{text}' is not a number"
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_travel() {
        let mut wire = Vec::new();
        write_blob(&mut wire, b"one").unwrap();
        write_blob(&mut wire, b"").unwrap();
        let mut wire = &wire[..];
        assert_eq!(read_blob(&mut wire).unwrap(), b"one");
        assert_eq!(read_blob(&mut wire).unwrap(), b"");
        assert!(read_blob(&mut wire).is_err());
        assert!(read_blob(&mut &u32::MAX.to_le_bytes()[..]).is_err());
    }
}
