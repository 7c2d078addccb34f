//! A process in a job: what the launcher (`bcl run`) told it, and meeting the others.
//!
//! The launcher sets `BCL_RANK`, `BCL_SIZE`, `BCL_JOB_KEY` and `BCL_LAUNCH_FD`, a stream socket. Over it goes one
//! kind of talk: each process sends a blob, and when all have, each gets the blobs of all, by rank. A blob
//! travels as its length, 32 bits little-endian, and its bytes.

use std::io::{Read, Write};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use bcl_os::{Fd, process};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketType, sockopt};

use bcl_raw::Error;

/// Longest blob of an exchange, in bytes.
pub const BLOB_MAX: usize = 64 << 10;
/// How long a process waits for the others in an exchange.
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

    /// Gives `mine` to all and returns what each has given, by rank. Blocks until all have called it.
    pub fn exchange(&mut self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        if self.generation != process::generation() {
            return Err(Error::ForkedFromJob);
        }
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
    let len = u32::try_from(blob.len()).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let mut bytes = Vec::with_capacity(4 + blob.len());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(blob);
    to.write_all(&bytes)
}

/// Reads one blob.
pub fn read_blob(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 4];
    from.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
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
