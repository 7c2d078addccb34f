//! What a launcher is asked beside blobs, and what it answers.

use std::io::{Error, ErrorKind, Read, Result};

use super::read_blob;

pub(super) const DONE: u32 = 0;
pub(super) const NOT_SUPPORTED: u32 = 1;
pub(super) const REFUSED: u32 = 2;

/// Longest text in an answer, in bytes.
const TEXT_MAX: usize = 4096;

/// What a process may ask of its launcher, as a number on the wire.
pub mod request {
    /// No blob is as long: from here on it is a request.
    pub const FIRST: u32 = 0x8000_0000;
    /// Start more processes.
    pub const SPAWN: u32 = 0x8000_0001;
    /// Was this process spawned?
    pub const PARENT: u32 = 0x8000_0002;
}

/// What became of one process of a spawn.
pub type Spawned = std::result::Result<Child, NotStarted>;

/// Why a process was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NotStarted {
    /// As of a launcher: 127, there is no such program; 126, it is not executable; 255, its host cannot be reached; 1,
    /// anything else.
    pub status: u8,
    /// In words.
    pub reason: String,
}

/// What a launcher answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a spawn: what became of each process, by rank.
    Spawned(Vec<Spawned>),
    /// To the question for the parent: its blob, if there is one.
    Parent(Option<Vec<u8>>),
    /// It does not know this request.
    NotSupported,
    /// It will not do it, for this reason.
    Refused(String),
}

/// A process that a spawn has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Where it runs.
    pub host: String,
    /// Its number there.
    pub pid: u32,
}

impl Answer {
    /// As it is sent to the process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Spawned(results) => {
                put_number(&mut bytes, DONE as usize);
                put_results(&mut bytes, results);
            }
            Self::Parent(blob) => {
                put_number(&mut bytes, DONE as usize);
                put_number(&mut bytes, usize::from(blob.is_some()));
                if let Some(blob) = blob {
                    put_blob(&mut bytes, blob);
                }
            }
            Self::NotSupported => put_number(&mut bytes, NOT_SUPPORTED as usize),
            Self::Refused(reason) => {
                put_number(&mut bytes, REFUSED as usize);
                put_text(&mut bytes, reason);
            }
        }
        bytes
    }
}

/// Adds what became of each process, as a launcher says it.
pub(super) fn put_results(bytes: &mut Vec<u8>, results: &[Spawned]) {
    for result in results {
        let (status, pid, text) = match result {
            Ok(child) => (0, child.pid, &child.host),
            // What was not started has no status of success.
            Err(not) => (not.status.max(1), 0, &not.reason),
        };
        put_number(bytes, status.into());
        put_number(bytes, pid as usize);
        put_text(bytes, text);
    }
}

/// Reads the same.
pub(super) fn read_result(from: &mut impl Read) -> Result<Spawned> {
    let status = read_number(from)?;
    let pid = read_number(from)?;
    let text = read_text(from)?;
    match u8::try_from(status) {
        Ok(0) => Ok(Ok(Child { host: text, pid })),
        Ok(status) => Ok(Err(NotStarted {
            status,
            reason: text,
        })),
        Err(_) => Err(Error::new(
            ErrorKind::InvalidData,
            format!("a status of {status}"),
        )),
    }
}

pub(super) fn read_number(from: &mut impl Read) -> Result<u32> {
    let mut number = [0; 4];
    from.read_exact(&mut number)?;
    Ok(u32::from_le_bytes(number))
}

pub(super) fn read_text(from: &mut impl Read) -> Result<String> {
    Ok(String::from_utf8_lossy(&read_blob(from)?).into_owned())
}

pub(super) fn put_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&(number as u32).to_le_bytes());
}

pub(super) fn put_blob(bytes: &mut Vec<u8>, blob: &[u8]) {
    put_number(bytes, blob.len());
    bytes.extend_from_slice(blob);
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(TEXT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    put_blob(bytes, &text.as_bytes()[..end]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_survive_the_way_and_long_reasons_are_cut() {
        let results = [
            Ok(Child {
                host: "left".into(),
                pid: 7,
            }),
            Err(NotStarted {
                status: 127,
                reason: "ö".repeat(TEXT_MAX),
            }),
        ];
        let mut bytes = Vec::new();
        put_results(&mut bytes, &results);
        let mut bytes = &bytes[..];
        assert_eq!(read_result(&mut bytes).unwrap(), results[0]);
        let cut = read_result(&mut bytes).unwrap().unwrap_err();
        assert_eq!(cut.reason, "ö".repeat(TEXT_MAX / 2));
        assert!(bytes.is_empty());
    }
}
