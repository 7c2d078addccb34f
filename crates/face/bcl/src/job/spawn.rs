//! Processes that a job starts while it runs, as a process asks for them and as it says so to its launcher.

use std::ffi::OsString;
use std::io::{ErrorKind, Result};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::answer::{put_blob, put_number, read_number};
use super::{BLOB_MAX, read_blob};

/// Most processes of one spawn.
pub const SPAWN_MAX: u32 = 65_535;

/// Processes to be started in a running job: a group of their own, with ranks from 0, the job's key, and exchanges among
/// themselves.
///
/// ```
/// use bcl::job::Spawn;
///
/// let workers = Spawn::new(["./worker", "--quiet"], 4)
///     .env("DEPTH", "2")
///     .blob("127.0.0.1:7");
/// assert_eq!(workers.count, 4);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spawn {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How many, 1 to [`SPAWN_MAX`].
    pub count: u32,
    /// Variables beside those that all processes of the job get.
    pub environment: Vec<(OsString, OsString)>,
    /// The one of the job's hosts on which all of them are to run; as a rule, the launcher goes on round the hosts.
    pub host: Option<String>,
    /// What [`Job::parent`](super::Job::parent) tells each of them, at most [`BLOB_MAX`] bytes: for example where its parent
    /// can be reached.
    pub blob: Vec<u8>,
}

impl Spawn {
    /// So many processes of a program: its name, and its arguments.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>, count: u32) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            count,
            environment: Vec::new(),
            host: None,
            blob: Vec::new(),
        }
    }

    /// With this variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// On this host.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// Telling them this.
    pub fn blob(mut self, blob: impl Into<Vec<u8>>) -> Self {
        self.blob = blob.into();
        self
    }

    /// What makes no sense in it, if anything does not.
    pub fn mistake(&self) -> Option<String> {
        let words = self.command.iter().map(|word| word.len());
        let pairs = self.environment.iter();
        let longest = words
            .chain(pairs.flat_map(|(name, value)| [name.len(), value.len()]))
            .chain([self.blob.len(), self.host.as_ref().map_or(0, String::len)])
            .max();
        if self
            .command
            .first()
            .is_none_or(|program| program.is_empty())
        {
            Some("a spawn without a program".into())
        } else if !(1..=SPAWN_MAX).contains(&self.count) {
            Some(format!(
                "a spawn of {} processes: 1 to {SPAWN_MAX}",
                self.count
            ))
        } else if longest > Some(BLOB_MAX) {
            Some(format!(
                "a spawn with something longer than {BLOB_MAX} bytes"
            ))
        } else {
            None
        }
    }

    /// As it is sent to the launcher.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, self.count as usize);
        put_number(&mut bytes, self.command.len());
        for word in &self.command {
            put_blob(&mut bytes, word.as_bytes());
        }
        put_number(&mut bytes, self.environment.len());
        for (name, value) in &self.environment {
            put_blob(&mut bytes, name.as_bytes());
            put_blob(&mut bytes, value.as_bytes());
        }
        put_blob(&mut bytes, self.host.as_deref().unwrap_or("").as_bytes());
        put_blob(&mut bytes, &self.blob);
        bytes
    }

    /// For a launcher: what a process wants, or `None` if it has said something else.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let spawn = Self::read(&mut bytes).ok()?;
        bytes.is_empty().then_some(spawn)
    }

    fn read(from: &mut &[u8]) -> Result<Self> {
        let text = |from: &mut &[u8]| read_blob(from).map(OsString::from_vec);
        let count = read_number(from)?;
        // Each takes some bytes: a number that is too high ends with them.
        let command = (0..read_number(from)?)
            .map(|_| text(from))
            .collect::<Result<_>>()?;
        let environment = (0..read_number(from)?).map(|_| Ok((text(from)?, text(from)?)));
        let environment = environment.collect::<Result<_>>()?;
        let host = String::from_utf8(read_blob(from)?).map_err(|_| ErrorKind::InvalidData)?;
        Ok(Self {
            command,
            count,
            environment,
            host: (!host.is_empty()).then_some(host),
            blob: read_blob(from)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spawn() -> Spawn {
        Spawn::new(["program", "--option", ""], 3)
            .env("NAME", "value=1")
            .host("left")
            .blob(*b"\0\xff")
    }

    #[test]
    fn a_spawn_survives_the_way() {
        for spawn in [spawn(), Spawn::new(["x"], 1)] {
            assert_eq!(spawn.mistake(), None);
            assert_eq!(Spawn::from_bytes(&spawn.to_bytes()), Some(spawn));
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let none: [&str; 0] = [];
        assert!(Spawn::new(none, 1).mistake().unwrap().contains("program"));
        for count in [0, SPAWN_MAX + 1] {
            assert!(
                Spawn::new(["x"], count)
                    .mistake()
                    .unwrap()
                    .contains("65535")
            );
        }
        let long = spawn().blob(vec![0; BLOB_MAX + 1]);
        assert!(long.mistake().unwrap().contains("65536"));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_a_spawn_or_none(bytes: Vec<u8>) {
            if let Some(spawn) = Spawn::from_bytes(&bytes) {
                prop_assert_eq!(Spawn::from_bytes(&spawn.to_bytes()), Some(spawn));
            }
        }

        #[test]
        fn a_damaged_spawn_harms_nobody(at in 0usize..60, byte: u8, cut in 0usize..60) {
            let mut bytes = spawn().to_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = Spawn::from_bytes(&bytes);
        }
    }
}
