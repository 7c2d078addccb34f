//! A process in a job: what the launcher (`bcl run`) told it, and meeting the others.
//!
//! The launcher sets `BCL_RANK`, `BCL_SIZE`, `BCL_JOB_KEY` and `BCL_LAUNCH_FD`, a stream socket. Over it goes one
//! kind of talk: each process sends a blob, and when all have, each gets the blobs of all, by rank. A blob
//! travels as its length, 32 bits little-endian, and its bytes.

use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::error::Error;

/// Longest blob of an exchange, in bytes.
pub const BLOB_MAX: usize = 64 << 10;
/// How long a process waits for the others in an exchange.
const PATIENCE: Duration = Duration::from_secs(300);

/// This process's place in its job.
#[derive(Debug)]
pub struct Job {
    rank: u32,
    size: u32,
    launcher: UnixStream,
}

impl Job {
    /// The job this process was started in by a launcher, or `None` if it was started by hand.
    ///
    /// Call once: the connection to the launcher is taken over.
    pub fn from_env() -> Result<Option<Self>, Error> {
        let Some(fd) = number::<RawFd>("BCL_LAUNCH_FD")? else {
            return Ok(None);
        };
        let missing = |name: &str| {
            Error::Configuration(format!(
                "BCL_LAUNCH_FD is set but {name} is not: the launcher sets both"
            ))
        };
        let rank = number("BCL_RANK")?.ok_or_else(|| missing("BCL_RANK"))?;
        let size = number("BCL_SIZE")?.ok_or_else(|| missing("BCL_SIZE"))?;
        let closed = |errno| {
            Error::Configuration(format!(
                "BCL_LAUNCH_FD={fd} is not an open descriptor ({errno}): was the program started through something that closes descriptors?"
            ))
        };
        if fd < 3 {
            return Err(Error::Configuration(format!(
                "BCL_LAUNCH_FD={fd} is a standard stream"
            )));
        }
        // SAFETY: the launcher opened this descriptor for us and nobody else in this process uses it; whether it
        // is open at all is checked at once.
        let launcher = unsafe { OwnedFd::from_raw_fd(fd) };
        if let Err(errno) = rustix::io::fcntl_setfd(launcher.as_fd(), rustix::io::FdFlags::CLOEXEC)
        {
            std::mem::forget(launcher);
            return Err(closed(errno));
        }
        let launcher = UnixStream::from(launcher);
        launcher
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| Error::Job(error.to_string()))?;
        Ok(Some(Self {
            rank,
            size,
            launcher,
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
