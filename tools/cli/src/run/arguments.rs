//! What `bcl run` can be told.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bcl_launch::{Host, Launch, Output};
use clap::{Args, ValueEnum};

use super::shell::ShellOptions;
use crate::failure::Result;

/// Start N processes of a program that find each other, on this host or on several.
///
/// Each process gets BCL_RANK (from 0), BCL_SIZE, BCL_JOB_KEY (a new one for each job) and BCL_LAUNCH_FD, over which
/// `bcl::Job` and `bcl_job_exchange` exchange addresses. If one fails, the others get SIGTERM, and SIGKILL two
/// seconds later. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to all.
///
/// The exit status is that of the first process that failed, 128 + N if signal N killed it, 124 after --timeout,
/// 127 if the program is not found, 126 if it cannot be executed, 255 if a host cannot be reached or is lost.
///
/// A process may have more of them started while the job runs (`bcl::Job::spawn`), with ranks of their own; they are called
/// GROUP.RANK where the others are called RANK, and count as the others do.
///
/// With --hosts or --hostfile the processes are started by ssh, or by the command that --launcher or BCL_LAUNCHER
/// names; it is given a host and a command, as ssh is, and must not ask for anything: ssh needs a key that lets it in.
/// This host needs no ssh. `bcl` has to be installed on the hosts. The processes run in the same working directory and
/// get the BCL_ variables of this one, those that -x names, BCL_NODE: the number that the nodes file (see bcl(1)) has
/// for the host, else that of its default route or only interface, and this host's nodes file, which they use instead of their own. A name
/// that only the nodes file knows is reached at the first address there. Rank 0 reads the input. The job's key is on no command line.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  bcl run -n 4 ./ring\n  bcl run -n 8 --prefix --bind core -- ./solver --steps 100\n  \
                  bcl run --hosts left:2,right:2 -n 4 ./ring"
)]
pub struct Arguments {
    /// How many processes [default with hosts: one for each slot].
    #[arg(short = 'n', long = "processes", value_name = "N", required_unless_present_any = ["hosts", "hostfile"], value_parser = clap::value_parser!(u32).range(1..=65535))]
    processes: Option<u32>,
    /// Hosts to run on, each with how many processes it takes before the next one's turn.
    #[arg(long, value_name = "HOST[:SLOTS]", value_delimiter = ',')]
    hosts: Vec<Host>,
    /// As --hosts, from a file: a host a line, `HOST`, `HOST:SLOTS` or `HOST slots=SLOTS`; # begins a remark.
    #[arg(long, value_name = "FILE", conflicts_with = "hosts")]
    hostfile: Option<PathBuf>,
    /// How ranks go round the hosts: filling the slots of one after the other, or one to each in turn.
    #[arg(long, value_enum, value_name = "WAY", default_value_t = MapBy::Slot)]
    map_by: MapBy,
    #[command(flatten)]
    shell: ShellOptions,
    /// How long a host, or for a host this command, may be silent before it counts as lost.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = parse_patience)]
    patience: Duration,
    /// Give the processes this variable: as it is here, or with this value. May be repeated.
    #[arg(short = 'x', value_name = "NAME[=VALUE]", value_parser = variable)]
    variables: Vec<(OsString, OsString)>,
    /// Put `[rank] ` before each line of output.
    #[arg(long, conflicts_with = "output")]
    prefix: bool,
    /// Write the output of each process to files in this folder: RANK.out and RANK.err.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Keep each process on one core, or let the system place them.
    #[arg(long, value_enum, default_value_t = Bind::None)]
    bind: Bind,
    /// End the job after this time, with status 124.
    #[arg(long, value_name = "SECONDS", value_parser = parse_timeout)]
    timeout: Option<Duration>,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bind {
    None,
    Core,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MapBy {
    /// As many to each host as it has slots, then the next.
    Slot,
    /// One to each host in turn, as long as it has slots.
    Node,
}

impl Arguments {
    /// The job that the user wants.
    pub fn launch(&self) -> Result<Launch> {
        let hosts = match &self.hostfile {
            Some(path) => bcl_launch::read_hosts(path)?,
            None => self.hosts.clone(),
        };
        let slots = || hosts.iter().map(|host| host.slots as u32).sum();
        let output = match &self.output {
            Some(folder) => Output::Files(folder.clone()),
            None if self.prefix => Output::Labelled,
            None => Output::Shared,
        };
        let map_by = match self.map_by {
            MapBy::Slot => bcl_launch::MapBy::Slot,
            MapBy::Node => bcl_launch::MapBy::Node,
        };
        let launch = Launch::new(&self.program, self.processes.unwrap_or_else(slots))
            .hosts(hosts)
            .map_by(map_by)
            .shell(self.shell.shell())
            .patience(self.patience)
            .variables(self.variables.clone())
            .output(output)
            .bind_to_cores(self.bind == Bind::Core)
            .timeout(self.timeout);
        Ok(launch)
    }
}

/// Names and values of variables, from what `-x` was given.
fn variable(text: &str) -> std::result::Result<(OsString, OsString), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.into())),
        None => (text, std::env::var_os(text)),
    };
    if name.is_empty() {
        return Err(format!(
            "'{text}' names no variable: write NAME or NAME=VALUE"
        ));
    }
    let value = value
        .ok_or_else(|| format!("{name} is not set here: write {name}=VALUE, or set it before"))?;
    Ok((name.into(), value))
}

fn parse_patience(text: &str) -> std::result::Result<Duration, String> {
    let patience = parse_timeout(text)?;
    match (0.1..=86400.0).contains(&patience.as_secs_f64()) {
        true => Ok(patience),
        false => Err(format!("{text} s is not a patience: write 0.1 to 86400")),
    }
}

fn parse_timeout(text: &str) -> std::result::Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{text}' is not a time: write seconds, as in 90"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_value() {
        assert_eq!(variable("A=b=c"), Ok(("A".into(), "b=c".into())));
        assert!(variable("PATH").is_ok());
        assert!(
            variable("BCL_NOT_SET_ANYWHERE")
                .unwrap_err()
                .contains("=VALUE")
        );
        assert!(variable("=x").is_err());
    }
}
