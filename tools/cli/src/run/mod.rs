//! `bcl run`: starts the processes of a job on this node and looks after them to the end.

mod exchange;
mod launch;
mod lines;
mod outcome;
mod signals;
mod supervise;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bcl::{Folder, JobKey};
use clap::{Args, ValueEnum};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::{Failure, Result};
use launch::Launcher;
use signals::Signals;
use supervise::Supervisor;

/// Start N processes of a program that find each other.
///
/// Each process gets BCL_RANK (from 0), BCL_SIZE, BCL_JOB_KEY (a new one for each job) and BCL_LAUNCH_FD, over which
/// `bcl::Job` and `bcl_job_exchange` exchange addresses. If one fails, the others get SIGTERM, and SIGKILL two
/// seconds later. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to all.
///
/// The exit status is that of the first process that failed, 128 + N if signal N killed it, 124 after --timeout,
/// 127 if the program is not found, 126 if it cannot be executed.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  bcl run -n 4 ./ring\n  bcl run -n 8 --prefix --bind core -- ./solver --steps 100"
)]
pub struct Arguments {
    /// How many processes.
    #[arg(short = 'n', long = "processes", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    processes: u32,
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

/// Runs the job; the status is what its processes deserve.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder =
        Folder::open(Folder::default_path()).map_err(|error| Failure::new(error.to_string()))?;
    raise_descriptor_limit();
    let signals = Signals::take()?;
    let key = JobKey::random().map_err(|error| Failure::new(error.to_string()))?;
    let launcher = Launcher::new(arguments, &folder, &key)?;
    let status = Supervisor::new(arguments, signals).run(&launcher);
    // What was killed could not take its names with it. That some may stay is no reason to fail.
    let _ = folder.sweep();
    Ok(ExitCode::from(status?))
}

/// Each connection takes descriptors, and the soft limit is 1024 by tradition only.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Where it is not allowed, the job may still be small enough.
    let _ = setrlimit(Resource::Nofile, raised);
}

fn parse_timeout(text: &str) -> std::result::Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("'{text}' is not a time: write seconds, as in 90"))
}
