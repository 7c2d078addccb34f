//! The command that runs something on a host: ssh, or what the user has for it.

use std::env;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::Command;

use bcl::Nodes;

use super::list::Host;
use crate::error::{Error, Result};
use crate::machine::own_names;

/// Names a launcher command where `--launcher` does not.
const VARIABLE: &str = "BCL_LAUNCHER";
/// It must not ask, for the streams are ours; it must not hang, and must notice that a host is gone.
const SSH: &str = "ssh -T -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3";

/// Any does, for a name to be looked up.
const SSH_PORT: u16 = 22;

/// What has a program be the helper.
const ARGUMENT: &str = "run-remote";

/// How hosts are reached.
#[derive(Debug, Clone, Default)]
pub struct RemoteShell {
    /// The command that is given a host and a command, as ssh is, with options of its own; without it that of
    /// `BCL_LAUNCHER`, else ssh.
    pub command: Option<String>,
    /// The program on the hosts that, given the argument `run-remote`, is the [helper](crate::helper); without it the
    /// one that this process runs.
    pub helper: Option<PathBuf>,
}

/// How to start `bcl` on hosts.
pub struct Shell {
    words: Vec<String>,
    /// Whether the user has chosen it: then this host is reached by it as well.
    is_chosen: bool,
    /// The program there.
    pub helper: PathBuf,
}

impl Shell {
    /// From the options of the command line, else from the environment.
    pub fn new(options: &RemoteShell) -> Result<Self> {
        let chosen = options.command.clone().or_else(|| env::var(VARIABLE).ok());
        let text = chosen.as_deref().unwrap_or(SSH);
        let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(Error::Plan(
                "the launcher is an empty command: write one that takes a host and a command, as ssh does".into(),
            ));
        }
        let own = || {
            env::current_exe().map_err(|error| Error::system("find this program's own file", error))
        };
        Ok(Self {
            words,
            is_chosen: chosen.is_some(),
            helper: options.helper.clone().map_or_else(own, Ok)?,
        })
    }

    /// The command that starts the helper on a host.
    pub fn helper_on(&self, host: &Host, nodes: &Nodes) -> Command {
        if !self.is_chosen && is_this_host(host, nodes) {
            let mut command = Command::new(&self.helper);
            command.arg(ARGUMENT);
            return command;
        }
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if !self.is_chosen
            && let Some(address) = address_for_ssh(host, nodes)
        {
            // Who it is, and what else ssh's own files say of the name, stays.
            command.arg("-o").arg(format!("HostName={address}"));
        }
        command.arg(&host.name);
        command.arg(format!(
            "exec {} {ARGUMENT}",
            quoted(&self.helper.to_string_lossy())
        ));
        command
    }
}

/// Needs no remote shell.
fn is_this_host(host: &Host, nodes: &Nodes) -> bool {
    let by_file = nodes.this_host().ok().flatten();
    own_names().contains(&host.name) || by_file.is_some_and(|(node, _)| node.name == host.name)
}

/// Of a host whose name only the nodes file knows: neither the system's names nor ssh's own files do.
fn address_for_ssh(host: &Host, nodes: &Nodes) -> Option<IpAddr> {
    let name = host.node_name();
    let address = *nodes.by_name(name)?.addresses.first()?;
    let is_known = (name, SSH_PORT).to_socket_addrs().is_ok() || is_known_to_ssh(name);
    (!is_known).then_some(address)
}

fn is_known_to_ssh(name: &str) -> bool {
    let Ok(asked) = Command::new("ssh").args(["-G", name]).output() else {
        return false;
    };
    let settings = String::from_utf8_lossy(&asked.stdout);
    let host_name = settings
        .lines()
        .find_map(|line| line.strip_prefix("hostname "));
    host_name.is_some_and(|known| known != name)
}

/// For a shell on the other host, and only as much as needed.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<String> {
        let all = std::iter::once(command.get_program()).chain(command.get_args());
        all.map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_launcher_is_given_the_host_and_one_command() {
        let options = |launcher: &str| RemoteShell {
            command: Some(launcher.into()),
            helper: Some("/opt/b c/bcl".into()),
        };
        let shell = Shell::new(&options("rsh -l me")).unwrap();
        let command = shell.helper_on(&"localhost".parse().unwrap(), &Nodes::default());
        assert_eq!(
            words(&command),
            [
                "rsh",
                "-l",
                "me",
                "localhost",
                "exec '/opt/b c/bcl' run-remote"
            ]
        );
        assert!(Shell::new(&options(" ")).is_err());
    }

    #[test]
    fn quotes_are_quoted() {
        assert_eq!(quoted("/usr/bin/bcl"), "/usr/bin/bcl");
        assert_eq!(quoted("/it's"), "'/it'\\''s'");
    }
}
