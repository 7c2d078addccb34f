//! `bcl doctor --mpi`: whether the programs of an MPI library would run over BCL, and what is missing.
//!
//! - [`launcher`]: whose `mpiexec` it is;
//! - [`start`]: starts one process with it and the settings of `bcl mpi-env`, and [`diagnosis`] says what came of that;
//! - [`settings`]: whether they are in the environment already.

mod bounded;
mod diagnosis;
mod launcher;
mod settings;
mod start;

use super::finding::{Finding, Verdict, ok, problem};
use crate::failure::Result;
use crate::mpi::folder;
use launcher::Launcher;

/// Looks at the launcher of that name, or at the one in PATH.
pub fn look_at(name: &str, add: &mut dyn FnMut(Finding) -> Result<()>) -> Result<()> {
    let folder = match folder::installed() {
        Ok(folder) => {
            add(ok(
                "mpi_provider",
                format!("libfabric is to load it from {folder}"),
            ))?;
            Some(folder)
        }
        Err(failure) => {
            add(problem("mpi_provider", failure.text, "make install"))?;
            None
        }
    };
    let launcher = match Launcher::find(name) {
        Ok(launcher) => launcher,
        Err(finding) => return add(finding),
    };
    add(ok("mpi_launcher", launcher.to_string()))?;
    let Some(folder) = folder else { return Ok(()) };
    let outcome = start::one_process(&launcher, &folder)?;
    let mut is_well = true;
    for finding in diagnosis::of(&launcher, &outcome, &folder) {
        is_well &= finding.verdict != Verdict::Problem;
        add(finding)?;
    }
    // Settings would not help one that does not run with them.
    match is_well {
        true => add(settings::finding(&launcher, &folder)),
        false => Ok(()),
    }
}
