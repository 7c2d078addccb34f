//! What the agent works by: its command line, its configuration file, and what is usual.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use bcl_agent_messages::{DEFAULT_SOCKET, default_socket};
use bcl_daemon::background;
use bcl_node::{FileError, only_interface, read_text};
use bcl_udp::route::route_to;
use rustix::io::Errno;
use serde::Deserialize;

use crate::arguments::{DEFAULT_CONFIG, How, Options};
use crate::limits::{Amounts, Limits};
use crate::names;

/// An address that nobody has (RFC 5737), and to which only the default route leads.
const FAR_AWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Some thousands of users with limits of their own.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Everything that the agent works by, from wherever it was said.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Stay in the foreground.
    pub foreground: bool,
    /// An interface that is not there is waited for.
    pub waits: bool,
    /// Interfaces for the program.
    pub interfaces: Vec<String>,
    /// How it is attached there.
    pub mode: How,
    /// Whose members may ask.
    pub group: String,
    /// The number of that group, if there is one.
    pub gid: Option<u32>,
    /// Where programs ask.
    pub socket: PathBuf,
    /// Name of the agent.
    pub name: String,
    /// Folder of the ledger.
    pub state: PathBuf,
    /// Where the BPF file system is.
    pub bpffs: PathBuf,
    /// Limits of users.
    pub limits: Limits,
}

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file is not there, or not to be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// The file says what it cannot.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: toml::de::Error,
    },
    /// A user who is not there.
    #[error("{}: there is no user '{name}' for [user.{name}]", path.display())]
    NoUser {
        /// The file.
        path: PathBuf,
        /// What stands there.
        name: String,
    },
    /// Nothing says which interface.
    #[error(
        "neither a default route nor there being only one tells the interface: say which with --interface (`ip -br address` lists them)"
    )]
    NoInterface,
}

/// The configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    group: Option<String>,
    interfaces: Vec<String>,
    mode: How,
    limits: Amounts,
    user: BTreeMap<String, Amounts>,
}

impl Settings {
    /// Reads the file and puts all together.
    ///
    /// # Errors
    /// When the file cannot be used, or nothing says which interface.
    pub fn gather(options: &Options) -> Result<Settings, SettingsError> {
        let path = options.config.clone();
        let path = path.unwrap_or_else(|| DEFAULT_CONFIG.into());
        let is_asked_for = options.config.is_some();
        let file = File::read(&path, is_asked_for)?;
        let mut everybody = file.limits;
        everybody.extend(options.limits.iter().copied());
        let users = file.user.into_iter().map(|(name, amounts)| {
            let uid = names::user(&name);
            let path = path.clone();
            uid.map(|uid| (uid, amounts))
                .ok_or(SettingsError::NoUser { path, name })
        });
        let group = options.group.clone().or(file.group);
        let group = group.unwrap_or_else(|| "bcl".into());
        let state = || Path::new(DEFAULT_SOCKET).with_file_name(&options.name);
        Ok(Settings {
            foreground: options.foreground,
            waits: background::is_awaited(),
            interfaces: interfaces(&options.interfaces, file.interfaces)?,
            mode: options.mode.unwrap_or(file.mode),
            gid: names::group(&group),
            group,
            socket: options.socket.clone().unwrap_or_else(default_socket),
            name: options.name.clone(),
            state: options.state.clone().unwrap_or_else(state),
            bpffs: options.bpffs.clone(),
            limits: Limits::new(&everybody, users.collect::<Result<_, _>>()?),
        })
    }

    /// The folder in which maps, programs and links are pinned.
    pub fn pins(&self) -> PathBuf {
        self.bpffs.join("bcl").join(&self.name)
    }
}

impl File {
    fn read(path: &Path, is_asked_for: bool) -> Result<File, SettingsError> {
        let text = match read_text(path, MAX_FILE_BYTES) {
            Ok(text) => text,
            Err(error) if error.errno() == Some(Errno::NOENT) && !is_asked_for => {
                return Ok(File::default());
            }
            Err(source) => {
                let path = path.to_owned();
                return Err(SettingsError::Unreadable { path, source });
            }
        };
        toml::from_str(&text).map_err(|source| {
            let path = path.to_owned();
            SettingsError::Malformed { path, source }
        })
    }
}

fn interfaces(asked: &[String], of_file: Vec<String>) -> Result<Vec<String>, SettingsError> {
    let mut all = match (asked, of_file) {
        ([], of_file) if of_file.is_empty() => {
            let routed = route_to(IpAddr::V4(FAR_AWAY)).map(|route| route.interface.name);
            let name = routed.ok().or_else(only_interface);
            vec![name.ok_or(SettingsError::NoInterface)?]
        }
        ([], of_file) => of_file,
        (asked, _) => asked.to_vec(),
    };
    all.sort();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use crate::limits::Resource;
    use clap::Parser;
    use std::fs;

    fn gather(words: &[&str]) -> Result<Settings, SettingsError> {
        let words = ["bcld"].iter().chain(words);
        Settings::gather(&Arguments::parse_from(words).options)
    }

    fn with_file(text: &str, words: &[&str]) -> Result<Settings, SettingsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bcld.toml");
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        gather(&[&["--config", path], words].concat())
    }

    #[test]
    fn the_command_line_counts_before_the_file() {
        let file = "group = 'root'\ninterfaces = ['b', 'a', 'a']\nmode = 'generic'\n[limits]\nports = 5\nwindows = 6\n[user.root]\nports = 7";
        let settings = with_file(file, &["--limit", "ports=9"]).unwrap();
        assert_eq!(settings.gid, Some(0));
        assert_eq!(settings.interfaces, ["a", "b"]);
        assert_eq!(settings.mode, How::Generic);
        let limits = &settings.limits;
        assert_eq!(limits.of(1, Resource::Ports), 9);
        assert_eq!(limits.of(1, Resource::Windows), 6);
        assert_eq!(limits.of(0, Resource::Ports), 7);
        let settings = with_file(file, &["-i", "c", "--group", "12", "--mode", "native"]).unwrap();
        assert_eq!(settings.interfaces, ["c"]);
        assert_eq!(settings.mode, How::Native);
        assert_eq!(settings.gid, Some(12));
    }

    #[test]
    fn what_never_ends_is_no_configuration_file() {
        let refused = gather(&["--config", "/dev/zero", "-i", "lo"]).unwrap_err();
        assert!(refused.to_string().contains("regular file"), "{refused}");
    }

    #[test]
    fn a_mistake_in_the_file_is_told_with_its_place() {
        for (file, told) in [
            ("grup = 'x'", "grup"),
            ("[limits]\nport = 5", "port"),
            ("[limits]\nports = -5", "-5"),
            (
                "[user.nobody-of-that-name]\nports = 5",
                "nobody-of-that-name",
            ),
        ] {
            let error = with_file(file, &["-i", "lo"]).unwrap_err().to_string();
            assert!(
                error.contains(told) && error.contains("bcld.toml"),
                "{error}"
            );
        }
        let error = gather(&["-i", "lo", "--config", "/no/such/file"]).unwrap_err();
        assert!(matches!(error, SettingsError::Unreadable { .. }), "{error}");
    }

    #[test]
    fn agents_of_different_names_share_nothing() {
        let one = gather(&["-i", "lo", "--name", "one"]).unwrap();
        let two = gather(&["-i", "lo", "--name", "two"]).unwrap();
        assert_ne!(one.state, two.state);
        assert_ne!(one.pins(), two.pins());
    }
}
