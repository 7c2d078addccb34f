//! How commands that reach other hosts are told how.

use std::path::PathBuf;

use bcl_launch::RemoteShell;
use clap::Args;

/// How hosts are reached.
#[derive(Debug, Default, Args)]
pub struct ShellOptions {
    /// The remote shell that reaches hosts, with options of its own [default: BCL_LAUNCHER, else ssh].
    #[arg(long, value_name = "COMMAND")]
    launcher: Option<String>,
    /// Where `bcl` is on the hosts [default: where it is here].
    #[arg(long, value_name = "PATH")]
    remote_bcl: Option<PathBuf>,
}

impl ShellOptions {
    /// As the library has it.
    pub fn shell(&self) -> RemoteShell {
        RemoteShell {
            command: self.launcher.clone(),
            helper: self.remote_bcl.clone(),
        }
    }
}
