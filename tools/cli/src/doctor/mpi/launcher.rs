//! Whose `mpiexec` it is, and where its library may be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::bounded;
use crate::doctor::finding::{Finding, problem};
use crate::mpi::family::Family;

const CHECK: &str = "mpi_launcher";
const PATIENCE: Duration = Duration::from_secs(10);
/// Where to go from what is not known.
const NAME_ANOTHER: &str = "bcl doctor --mpi /where/it/is/bin/mpiexec, of MPICH, Open MPI or Intel MPI (one is had by `pip install mpich`)";

/// A launcher that was asked who it is.
pub struct Launcher {
    pub path: PathBuf,
    pub family: Family,
    pub version: String,
}

impl Launcher {
    /// The one at a path, or of a name in PATH.
    pub fn find(name: &str) -> Result<Self, Finding> {
        let Some(path) = in_path(name) else {
            let text = match name.contains('/') {
                true => format!("{name} is no program"),
                false => format!("there is no {name} in PATH"),
            };
            return Err(problem(CHECK, text, NAME_ANOTHER));
        };
        let shown = path.display();
        let outcome =
            bounded::run(Command::new(&path).arg("--version"), PATIENCE).map_err(|error| {
                problem(
                    CHECK,
                    format!("{shown} does not start: {error}"),
                    NAME_ANOTHER,
                )
            })?;
        if outcome.status.is_none() {
            let text = format!(
                "`{shown} --version` did not end within {} s",
                PATIENCE.as_secs()
            );
            return Err(problem(CHECK, text, NAME_ANOTHER));
        }
        let Some((family, version)) = identify(&outcome.stdout) else {
            let said = outcome.stdout.lines().chain(outcome.stderr.lines()).next();
            let text = format!(
                "`{shown} --version` says '{}', which is none of the MPI libraries that run over BCL",
                said.unwrap_or_default()
            );
            return Err(problem(CHECK, text, NAME_ANOTHER));
        };
        Ok(Self {
            path,
            family,
            version,
        })
    }

    /// Where its programs may have their library from: beside it, else as the loader finds it.
    pub fn libraries(&self) -> Vec<PathBuf> {
        let names: &[&str] = match self.family {
            Family::Openmpi => &["libmpi.so.40"],
            // Debian's MPICH calls it otherwise.
            Family::Mpich | Family::Intel => &["libmpi.so.12", "libmpich.so.12"],
        };
        let command = self
            .path
            .canonicalize()
            .unwrap_or_else(|_| self.path.clone());
        let prefix = command
            .parent()
            .and_then(Path::parent)
            .unwrap_or(Path::new("/"));
        let system = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
        let folders = ["lib", "lib64", "lib/release", &system].map(|folder| prefix.join(folder));
        let beside = folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let beside = beside.filter(|path| path.exists());
        beside.chain(names.iter().map(PathBuf::from)).collect()
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, family) = (self.path.display(), self.family.name());
        write!(f, "{path} is that of {family} {}", self.version)
    }
}

/// As a shell finds it.
fn in_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(is_program)
}

/// By what it says of its version.
fn identify(said: &str) -> Option<(Family, String)> {
    let after = |mark: &str| {
        let rest = &said[said.find(mark)? + mark.len()..];
        rest.split_whitespace().next().map(str::to_owned)
    };
    if said.contains("Intel(R) MPI Library") {
        return Some((Family::Intel, after(", Version ")?));
    }
    if said.contains("HYDRA build details") {
        return Some((Family::Mpich, after("Version:")?));
    }
    let of_open_mpi = after("(Open MPI)").or_else(|| after("(OpenRTE)"));
    of_open_mpi.map(|version| (Family::Openmpi, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_what_their_launchers_say() {
        for (said, expected) in [
            (
                "HYDRA build details:\n    Version:                                 4.3.2\n    Release Date: Mon\n",
                Some((Family::Mpich, "4.3.2")),
            ),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\n",
                Some((Family::Intel, "2021.18.1")),
            ),
            (
                "mpiexec (Open MPI) 5.0.11\n\nReport bugs to\n",
                Some((Family::Openmpi, "5.0.11")),
            ),
            (
                "mpirun.openmpi (OpenRTE) 4.1.4\n",
                Some((Family::Openmpi, "4.1.4")),
            ),
            ("slurm 22.05.8\n", None),
            ("", None),
        ] {
            let expected = expected.map(|(family, version)| (family, version.to_owned()));
            assert_eq!(identify(said), expected, "{said}");
        }
    }
}
