//! MPICH and Open MPI as Debian has them: one MPI program (`peers/mpi`), compiled and started by each.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;
use crate::cores::{Cores, Place};
use crate::effort::{Effort, LIMIT};
use crate::error::Result;
use crate::peers::program;
use crate::work::Kind;

/// An MPI library as Debian names its tools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Library {
    /// Spins, however many processes there are.
    Mpich,
    /// Yields when processes outnumber cores.
    OpenMpi,
}

/// The benchmark program built with one of the libraries.
pub struct Program {
    library: Library,
    path: PathBuf,
}

impl Library {
    fn suffix(self) -> &'static str {
        match self {
            Library::Mpich => "mpich",
            Library::OpenMpi => "openmpi",
        }
    }

    fn packages(self) -> &'static str {
        match self {
            Library::Mpich => "mpich libmpich-dev",
            Library::OpenMpi => "openmpi-bin libopenmpi-dev",
        }
    }

    /// The words that start programs, each process free to move when they are a crowd.
    fn launcher(self, crowd: bool) -> Vec<&'static str> {
        let mut words = match self {
            Library::Mpich => vec!["mpiexec.mpich"],
            // Without these it might choose another transport than shared memory, or refuse more
            // processes than cores.
            Library::OpenMpi => vec![
                "mpirun.openmpi",
                "--allow-run-as-root",
                "--oversubscribe",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "self,vader",
            ],
        };
        if crowd {
            words.extend(match self {
                Library::Mpich => ["-bind-to", "none"],
                Library::OpenMpi => ["--bind-to", "none"],
            });
        }
        words
    }
}

impl Program {
    /// Compiles the program into `folder`.
    ///
    /// # Errors
    /// When the library's compiler is missing or fails.
    pub fn build(library: Library, folder: &Path) -> Result<Self> {
        command::require(library.launcher(false)[0], library.packages())?;
        let path = folder.join(format!("mpi-{}", library.suffix()));
        let mut compiler = Command::new(format!("mpicc.{}", library.suffix()));
        program::compile(&mut compiler, &path, library.packages())?;
        Ok(Self { library, path })
    }

    /// One figure.
    ///
    /// # Errors
    /// When the launcher is missing or the program fails.
    pub fn measure(&self, kind: Kind, cores: Cores, effort: Effort) -> Result<f64> {
        let iterations = effort.iterations(kind).to_string();
        match kind {
            Kind::Latency { size_bytes } => {
                self.pair(cores, &["latency", &format!("{size_bytes}:{iterations}")])
            }
            Kind::Stream {
                size_bytes,
                in_flight,
            } => {
                let step = format!("{size_bytes}:{iterations}");
                self.pair(cores, &["stream", &in_flight.to_string(), &step])
            }
            Kind::Rate => Ok(self.pair(cores, &["rate", &format!("8:{iterations}")])? / 1e6),
            Kind::Pairs => {
                let seconds = effort.duration().as_secs().to_string();
                Ok(self.crowd(8, cores, &["pairs", "8", &seconds])? / 1e3)
            }
            Kind::Barrier if self.library == Library::Mpich => {
                let barriers = effort.spinning_barriers().to_string();
                self.crowd(4, cores, &["barrier", &barriers])
            }
            Kind::Barrier => self.crowd(4, cores, &["barrier", &iterations]),
            _ => unreachable!("the table of works asks MPI for nothing else"),
        }
    }

    /// Two processes, each on its core.
    fn pair(&self, cores: Cores, arguments: &[&str]) -> Result<f64> {
        let mut words: Vec<String> = owned(&self.library.launcher(false));
        for rank in 0..2 {
            if rank > 0 {
                words.push(":".into());
            }
            words.extend(owned(&["-n", "1"]));
            words.extend(cores.of_rank(rank).words());
            words.push(self.path.display().to_string());
            words.extend(owned(arguments));
        }
        self.run(&words)
    }

    /// More processes than cores, each where the scheduler likes.
    fn crowd(&self, processes: usize, cores: Cores, arguments: &[&str]) -> Result<f64> {
        let mut words: Vec<String> = Place::Either(cores).words();
        words.extend(owned(&self.library.launcher(true)));
        words.extend(["-n".into(), processes.to_string()]);
        words.push(self.path.display().to_string());
        words.extend(owned(arguments));
        self.run(&words)
    }

    fn run(&self, words: &[String]) -> Result<f64> {
        let mut command = command::from_words(words);
        let output = command::run(&mut command, self.library.packages(), LIMIT)?;
        command::figure(&command, &output)
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
