//! Starts one process as its user would start a program, and collects what that tells.

use std::process::Command;
use std::time::Duration;

use super::bounded;
use super::launcher::Launcher;
use crate::failure::{Failure, Result};
use crate::mpi::family::{Family, Settings};
use crate::mpi::probe::{MARK, Told};

/// Longer than the process itself gives itself.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What came of it.
pub struct Outcome {
    pub told: Vec<Told>,
    /// It ended by itself.
    pub ended: bool,
    /// What was said beside that.
    pub said: String,
}

/// Runs this program in the place of an MPI program.
pub fn one_process(launcher: &Launcher, folder: &str) -> Result<Outcome> {
    let failed = |error| Failure::system(format_args!("start {}", launcher.path.display()), error);
    let mut command = Command::new(&launcher.path);
    command
        .args(["-n", "1"])
        .arg(std::env::current_exe().map_err(failed)?)
        .arg("mpi-probe")
        .args(launcher.libraries())
        .envs(Settings::of(&[launcher.family], folder).environment)
        // What the provider refuses, it says.
        .envs([("FI_LOG_LEVEL", "warn"), ("FI_LOG_PROV", "bcl")])
        .envs(for_one_process(launcher.family).iter().copied());
    let outcome = bounded::run(&mut command, PATIENCE).map_err(failed)?;
    let is_told = |line: &&str| line.contains(MARK);
    let beside = outcome.stdout.lines().filter(|line| !is_told(line));
    Ok(Outcome {
        told: outcome.stdout.lines().filter_map(told).collect(),
        ended: outcome.status.is_some(),
        said: outcome
            .stderr
            .lines()
            .chain(beside)
            .collect::<Vec<_>>()
            .join("\n"),
    })
}

/// So that one process alone uses the network, and whoever looks for mistakes as root may.
fn for_one_process(family: Family) -> &'static [(&'static str, &'static str)] {
    match family {
        Family::Mpich => &[],
        Family::Openmpi => &[
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ],
        Family::Intel => &[("I_MPI_FABRICS", "ofi")],
    }
}

/// Some launchers put something before each line.
fn told(line: &str) -> Option<Told> {
    let (_, text) = line.split_once(MARK)?;
    serde_json::from_str(text).ok()
}
