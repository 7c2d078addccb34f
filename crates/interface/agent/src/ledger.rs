//! What the agent writes down of each port, so that the next agent can go on ([AGENT-8.1]).
//!
//! One small file for each port, replaced as a whole. They lie where a restart of the machine removes them, and the maps
//! with them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use bcl_daemon::Process;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// A port, as the next agent has to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Which start of the machine this is of.
    pub boot: String,
    /// Number in the tables.
    pub index: u32,
    /// Address of the port.
    pub node: Ipv4Addr,
    /// Its number.
    pub number: u16,
    /// Its user.
    pub uid: u32,
    /// Its process.
    pub process: Process,
    /// Its job in the tables.
    pub job: u32,
    /// Name of the job, which tells nothing of its key.
    pub job_id: u64,
    /// Size of its ring.
    pub ring_bytes: u32,
    /// Memories for windows, by number, with their lengths.
    pub memories: BTreeMap<u32, u64>,
}

/// The folder with a file for each port that is entered. While it is open no other agent can open it ([AGENT-8.4]).
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    boot: String,
    lock: File,
}

/// Why it cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another agent has it.
    #[error(
        "{} belongs to an agent that runs{}: stop that one, or give this one another --name",
        folder.display(),
        .holder
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// Who it is, if it can be told.
        holder: String,
    },
    /// Anything else.
    #[error("cannot use {}: {source}; bcld needs a folder of its own that it can write to (--state)", folder.display())]
    System {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Ledger {
    /// Opens the ledger in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// When another agent has it, or it cannot be written.
    pub fn open(folder: &Path) -> Result<Ledger, LedgerError> {
        let system = |source| LedgerError::System {
            folder: folder.to_owned(),
            source,
        };
        fs::create_dir_all(folder).map_err(system)?;
        let path = folder.join("lock");
        let lock = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(system)?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                let holder = match holder.trim_end() {
                    "" => String::new(),
                    pid => format!(" as process {pid}"),
                };
                let folder = folder.to_owned();
                return Err(LedgerError::Held { folder, holder });
            }
            Err(errno) => return Err(system(errno.into())),
        }
        let mut ledger = Ledger {
            folder: folder.to_owned(),
            boot: bcl_daemon::boot().map_err(system)?,
            lock,
        };
        ledger.sign().map_err(system)?;
        Ok(ledger)
    }

    /// Writes down which process has it.
    ///
    /// # Errors
    /// When there is no room.
    pub fn sign(&mut self) -> io::Result<()> {
        self.lock.set_len(0)?;
        writeln!(self.lock, "{}", std::process::id())
    }

    /// Which start of the machine this is.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Writes a port down, in place of what was written before.
    ///
    /// # Errors
    /// When there is no room.
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let path = self.path(record.index);
        let new = path.with_extension("new");
        // Not flushed to a disk: after a restart of the machine it means nothing.
        fs::write(&new, serde_json::to_vec(record)?)?;
        fs::rename(&new, &path)
    }

    /// Forgets a port.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove(&self, index: u32) -> io::Result<()> {
        match fs::remove_file(self.path(index)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All ports of this boot that were written down. What cannot be read is removed: it belongs to nobody.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn read(&self) -> io::Result<Vec<Record>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            if !matches!(extension, Some("port" | "new")) {
                continue;
            }
            match self.read_one(&path) {
                Some(record) => records.push(record),
                None => fs::remove_file(&path)?,
            }
        }
        Ok(records)
    }

    fn read_one(&self, path: &Path) -> Option<Record> {
        let record: Record = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        (record.boot == self.boot && path == self.path(record.index)).then_some(record)
    }

    fn path(&self, index: u32) -> PathBuf {
        self.folder.join(format!("{index}.port"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ledger: &Ledger, index: u32) -> Record {
        Record {
            boot: ledger.boot().to_owned(),
            index,
            node: Ipv4Addr::LOCALHOST,
            number: 7,
            uid: 1000,
            process: Process { pid: 5, started: 6 },
            job: 1,
            job_id: u64::MAX,
            ring_bytes: 65_536,
            memories: BTreeMap::from([(3, 65_536)]),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let first = record(&ledger, 1);
        let mut second = record(&ledger, 2);
        ledger.write(&first).unwrap();
        ledger.write(&second).unwrap();
        second.memories.clear();
        ledger.write(&second).unwrap();
        let mut found = ledger.read().unwrap();
        found.sort_by_key(|record| record.index);
        assert_eq!(found, [first, second.clone()]);
        ledger.remove(1).unwrap();
        ledger.remove(1).unwrap();
        assert_eq!(ledger.read().unwrap(), [second]);
    }

    #[test]
    fn what_means_nothing_is_thrown_away() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path()).unwrap();
        let mut earlier = record(&ledger, 1);
        earlier.boot = "another".into();
        ledger.write(&earlier).unwrap();
        fs::write(folder.path().join("2.port"), "{\"half").unwrap();
        fs::write(folder.path().join("3.new"), "").unwrap();
        assert_eq!(ledger.read().unwrap(), []);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the lock");
    }

    // AGENT-8.4
    #[test]
    fn two_agents_exclude_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ledger::open(folder.path()).unwrap();
        let error = Ledger::open(folder.path()).unwrap_err().to_string();
        let pid = std::process::id().to_string();
        assert!(error.contains(&pid) && error.contains("--name"), "{error}");
        drop(first);
        Ledger::open(folder.path()).unwrap();
    }
}
