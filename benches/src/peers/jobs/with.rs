//! How `testing/mpi/with` is told what to run, and what it says.

use std::path::{self, Path, PathBuf};
use std::time::Duration;

use crate::command;
use crate::cores::{Cores, Place};
use crate::error::{Error, Result, system};
use crate::work::Wire;

/// It ends a job that hangs, and tells where each process was.
const JOB_LIMIT: Duration = Duration::from_secs(150);
/// It may take so much longer to tell.
const LIMIT: Duration = Duration::from_secs(240);

/// One library on one thing to run on, and where.
pub struct Job<'a> {
    /// The folder with all libraries, and with our provider.
    pub libraries: &'a Path,
    /// The library, as the harness calls it.
    pub library: &'static str,
    /// A provider of libfabric, or another word of the harness.
    pub runs_on: &'static str,
    /// Its programs preload our collectives.
    pub with_coll: bool,
    /// The cores that all processes have together.
    pub cores: Cores,
    /// What is between the two hosts, if it is not one node.
    pub wire: Option<Wire>,
}

impl Job<'_> {
    /// Two processes, each spinning on a core of its own; what they printed.
    ///
    /// # Errors
    /// When the library or root's rights are missing, the job fails or hangs.
    pub fn pair(&self, program: &[String]) -> Result<String> {
        self.run(2, &["--pinned", "--spin"], program)
    }

    /// Several processes, each on the core of its host.
    ///
    /// # Errors
    /// Those of [`Job::pair`].
    pub fn several(&self, ranks: usize, program: &[String]) -> Result<String> {
        self.run(ranks, &["--pinned"], program)
    }

    /// More processes than cores, each where the scheduler likes.
    ///
    /// # Errors
    /// Those of [`Job::pair`].
    pub fn crowd(&self, ranks: usize, program: &Path) -> Result<String> {
        self.run(ranks, &[], &[program.display().to_string()])
    }

    fn run(&self, ranks: usize, how: &[&str], program: &[String]) -> Result<String> {
        let library = self.libraries.join(self.library);
        if !library.join("installed").is_file() {
            return Err(Error::Absent {
                path: library,
                hint: "make bench-mpi installs it, or testing/mpi/install FOLDER",
            });
        }
        let provider = self.libraries.join("provider");
        let hosts = if self.wire.is_some() { 2 } else { 1 };
        let mut words = Place::Either(self.cores).words();
        words.push(of_harness("with").display().to_string());
        words.extend(["--folder".into(), self.libraries.display().to_string()]);
        words.extend(["--mpi", self.library, "--provider", self.runs_on].map(str::to_owned));
        words.push(format!("--hosts={hosts}"));
        words.push(format!("--each={}", ranks / hosts));
        words.push(format!("--seconds={}", JOB_LIMIT.as_secs()));
        if let Some(wire) = self.wire {
            words.extend(["--cable".into(), format!("--mtu={}", wire.mtu)]);
        }
        if self.with_coll {
            words.push("--collectives=all".into());
        }
        words.extend(how.iter().map(|word| (*word).to_owned()));
        words.extend_from_slice(program);
        let mut command = command::from_words(&words);
        command.env("FI_PROVIDER_PATH", provider);
        command::run(&mut command, "python3", LIMIT)
    }
}

/// A file of testing/mpi.
pub fn of_harness(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testing/mpi")
        .join(name)
}

/// `path` from the root: whoever is told of it may be in another folder.
///
/// # Errors
/// When the current folder is gone.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    path::absolute(path).map_err(system("find", path.display()))
}

/// The figures that `program` has printed, a line for each, and nothing else.
///
/// # Errors
/// [`Error::Unreadable`] when it is something else.
pub fn figures(program: &[String], output: &str, count: usize) -> Result<Vec<f64>> {
    let read: Option<Vec<f64>> = output
        .lines()
        .map(|line| line.trim().parse().ok())
        .collect();
    read.filter(|figures| figures.len() == count)
        .ok_or_else(|| Error::Unreadable {
            command: program.join(" "),
            output: output.to_owned(),
        })
}

/// What a program of testing/mpi/programs says that it took.
///
/// # Errors
/// [`Error::Unreadable`] when it says nothing of it.
pub fn seconds_taken(output: &str) -> Result<f64> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("took ")?.strip_suffix(" s")?.parse().ok())
        .ok_or_else(|| Error::Unreadable {
            command: "a program of testing/mpi".into(),
            output: output.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_a_line_and_nothing_else_has() {
        let program = ["mpi".to_owned()];
        assert_eq!(figures(&program, "1.5\n 2\n", 2).unwrap(), [1.5, 2.0]);
        assert!(figures(&program, "1.5\n", 2).is_err());
        assert!(figures(&program, "1.5\nwarning: slow\n", 2).is_err());
        assert!(figures(&program, "1.5\n2\n3\n", 2).is_err());
    }

    #[test]
    fn what_was_taken_is_found_among_other_lines() {
        assert_eq!(seconds_taken("a warning\ntook 1.250000 s\n").unwrap(), 1.25);
        assert!(seconds_taken("took a while\n").is_err());
    }
}
