//! Which hosts a job may use, with how many processes each, and which rank goes where.

use std::path::Path;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A host as the user has named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// What the launcher is told, with `USER@` before it if that was given.
    pub name: String,
    /// Processes it takes before the next host's turn.
    pub slots: usize,
}

/// How ranks go round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapBy {
    /// As many to each host as it has slots, then the next.
    Slot,
    /// One to each host in turn, as long as it has slots.
    Node,
}

impl Host {
    /// The name in the nodes file.
    pub fn node_name(&self) -> &str {
        self.name.rsplit('@').next().unwrap_or(&self.name)
    }
}

/// `NAME` or `NAME:SLOTS`.
impl FromStr for Host {
    type Err = ParseHostError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseHostError> {
        let (name, slots) = match text.split_once(':') {
            Some((name, slots)) => (name, slots),
            None => (text, "1"),
        };
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
        // The launcher must not take it for an option.
        if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_allowed) {
            return Err(ParseHostError::Name(text.into()));
        }
        match slots.parse() {
            Ok(slots @ 1..=65535) => Ok(Self {
                name: name.to_owned(),
                slots,
            }),
            _ => Err(ParseHostError::Slots {
                name: name.into(),
                slots: slots.into(),
            }),
        }
    }
}

/// A text that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseHostError {
    /// Its name is none.
    #[error(
        "'{0}' is not a host: write NAME, NAME:SLOTS or USER@NAME, with letters, digits, '-', '_' and '.'"
    )]
    Name(String),
    /// Its slots are no number of them.
    #[error("'{slots}' is not a number of slots: write 1 to 65535, as in {name}:4")]
    Slots {
        /// The host.
        name: String,
        /// What stands behind the colon.
        slots: String,
    },
    /// A line of a file names more than that.
    #[error("'{0}' is not a host: write NAME, or NAME slots=N")]
    Line(String),
}

/// Some ten thousands of hosts.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Reads a file of hosts: one a line, `NAME`, `NAME:SLOTS` or `NAME slots=SLOTS`; `#` begins a remark.
pub fn read_hosts(path: &Path) -> Result<Vec<Host>> {
    let text = bcl::read_text(path, MAX_FILE_BYTES).map_err(|error| {
        Error::Configuration(format!("cannot read {}: {error}", path.display()))
    })?;
    parse(&text).map_err(|what| Error::Plan(format!("{}, {what}", path.display())))
}

fn parse(text: &str) -> std::result::Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let host = match words[..] {
            [] => continue,
            [host] => host.parse(),
            [name, slots] if slots.starts_with("slots=") => {
                format!("{name}:{}", &slots["slots=".len()..]).parse()
            }
            _ => Err(ParseHostError::Line(line.trim().into())),
        };
        hosts.push(host.map_err(|what| format!("line {}: {what}", number + 1))?);
    }
    match hosts.is_empty() {
        true => Err("no line names a host".into()),
        false => Ok(hosts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<Host> {
        text.split(',').map(|host| host.parse().unwrap()).collect()
    }

    #[test]
    fn a_host_has_a_name_and_slots() {
        let host: Host = "me@left:4".parse().unwrap();
        assert_eq!((host.name.as_str(), host.slots), ("me@left", 4));
        assert_eq!(host.node_name(), "left");
        for wrong in [
            "",
            "-oProxyCommand=x",
            "a b",
            "a;b",
            "a:0",
            "a:x",
            ":2",
            "a:1:2",
        ] {
            assert!(wrong.parse::<Host>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_never_ends_is_no_file_of_hosts() {
        let refused = read_hosts(Path::new("/dev/zero")).unwrap_err();
        assert!(refused.to_string().contains("regular file"), "{refused}");
    }

    #[test]
    fn both_kinds_of_host_files_are_read_and_mistakes_have_a_line() {
        let read = parse("# two\nleft slots=2\n\nright:3 # fast\nmiddle\n").unwrap();
        assert_eq!(read, hosts("left:2,right:3,middle"));
        assert!(
            parse("left\nright max_slots=2 a\n")
                .unwrap_err()
                .starts_with("line 2: ")
        );
        assert!(parse("left slots=\n").unwrap_err().starts_with("line 1: "));
        assert!(parse("# nothing\n").unwrap_err().contains("no line"));
    }
}
