//! What `bcld` can be told on its command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Deserialize;

use crate::limits::Resource;

/// The configuration file, if nothing else is said.
pub const DEFAULT_CONFIG: &str = "/etc/bcl/bcld.toml";

const CONFIGURATION_HELP: &str = "\
Configuration file (TOML), every line of it optional:
  group = \"bcl\"              # whose members may open ports, besides root
  interfaces = [\"eth0\"]      # where the interface program is attached
  mode = \"auto\"              # how: see --mode
  [limits]                   # of each user; these are the built-in ones
  clients = 320              # connections to the agent
  ports = 256
  ring_bytes = 268435456
  memory_bytes = 2147483648  # of windows; it is locked memory
  memories = 1024
  windows = 4096
  connections = 16384        # that the interface program has
  [user.alice]               # a name or number, for whom some limits are different
  ports = 1024

Ports outlive the agent: SIGTERM ends it and leaves them as they are, and the next bcld of the same name takes them over. \
Programs find the agent by BCL_AGENT, else at /run/bcl/agent.sock; without one they use UDP (`bcl info` says which).";

/// The agent of a node: opens ports of BCL's interface program for users.
///
/// It is the only process of BCL with privileges: it loads the interface program, enters ports, connections and
/// windows into its tables for programs that may, and hands them descriptors. No message passes through it.
#[derive(Debug, Parser)]
#[command(name = "bcld", version, max_term_width = 100, after_long_help = CONFIGURATION_HELP)]
pub struct Arguments {
    /// Settings of the agent.
    #[command(flatten)]
    pub options: Options,
    /// What to do instead of running.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Settings; those of the command line count before those of the file.
#[derive(Debug, Args)]
pub struct Options {
    /// Stay in the foreground, for containers and tests. Under systemd (NOTIFY_SOCKET) it always does.
    #[arg(long)]
    pub foreground: bool,
    /// Attach to this interface; may be repeated (default: the one that holds the default route, or the only one).
    #[arg(long = "interface", short, value_name = "IF", global = true)]
    pub interfaces: Vec<String>,
    /// How the interface program is attached (default: auto).
    #[arg(long, value_name = "HOW", global = true)]
    pub mode: Option<How>,
    /// Members of this group may open ports, besides root (default: bcl).
    #[arg(long, global = true)]
    pub group: Option<String>,
    /// Configuration file (default: /etc/bcl/bcld.toml, if it is there).
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Socket that programs ask at (default: BCL_AGENT, else /run/bcl/agent.sock).
    #[arg(long, value_name = "PATH", global = true)]
    pub socket: Option<PathBuf>,
    /// Name of this agent, if a machine has several, one in each network namespace: pinned maps and state are kept by it.
    #[arg(long, default_value = "default", value_parser = plain_name, global = true)]
    pub name: String,
    /// Folder for what the next agent has to know (default: /run/bcl/NAME).
    #[arg(long, value_name = "DIR", global = true)]
    pub state: Option<PathBuf>,
    /// BPF file system, mounted if it is not.
    #[arg(long, value_name = "DIR", default_value = "/sys/fs/bpf", global = true)]
    pub bpffs: PathBuf,
    /// Limit of each user, as under `[limits]` in the configuration file; may be repeated.
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = limit)]
    pub limits: Vec<(Resource, u64)>,
}

/// How the interface program is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// In the driver if it takes programs, else behind it; of veth interfaces always behind it.
    #[default]
    Auto,
    /// In the driver or not at all; of a veth interface only if the other end has an XDP program too, or joins packets
    /// (`ethtool -K IF gro on`): else what the interface program answers is lost.
    Native,
    /// Behind the driver, which is slower.
    Generic,
}

/// See [`Arguments::command`].
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what is missing on this machine, and the command that mends it.
    Check,
    /// Take the interface program off its interfaces and forget its maps, when no port is open.
    Withdraw,
    /// Write the manual page bcld.8 into a folder.
    #[command(hide = true)]
    Man {
        /// The folder.
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// It becomes a part of paths.
fn plain_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match text.len() {
        1..=32 if text.chars().all(is_plain) => Ok(text.to_owned()),
        _ => Err("use 1 to 32 letters, digits, '-' and '_'".into()),
    }
}

fn limit(text: &str) -> Result<(Resource, u64), String> {
    let (name, number) = text
        .split_once('=')
        .ok_or("write NAME=NUMBER, as in ports=64")?;
    let resource = Resource::from_str(name, false).map_err(|_| {
        let all = Resource::value_variants().iter();
        let names: Vec<_> = all
            .filter_map(ValueEnum::to_possible_value)
            .map(|value| value.get_name().to_owned())
            .collect();
        format!("there is no limit '{name}'; there are {}", names.join(", "))
    })?;
    let number = number
        .parse()
        .map_err(|_| format!("'{number}' is not a number"))?;
    Ok((resource, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn limits_are_told_by_name() {
        assert_eq!(limit("ring_bytes=5"), Ok((Resource::RingBytes, 5)));
        assert!(limit("rings=5").unwrap_err().contains("ring_bytes"));
        assert!(limit("ports").is_err() && limit("ports=-1").is_err());
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        assert!(plain_name("left-1").is_ok());
        for bad in ["", "..", "a/b", "a b", &"x".repeat(33)] {
            assert!(plain_name(bad).is_err(), "{bad}");
        }
    }
}
