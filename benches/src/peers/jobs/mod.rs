//! Whole MPI jobs, on hosts of their own: unmodified libraries, started by testing/mpi/with on whatever they are to run on.

mod hpcc;
mod programs;
mod with;

use std::path::{Path, PathBuf};

use crate::cores::Cores;
use crate::effort::Effort;
use crate::error::Result;
use crate::work::{Kind, Ranks, Series, Work};
use hpcc::Hpcc;
use programs::Programs;
use with::Job;

/// The libraries, their programs, and where jobs run.
pub struct Jobs {
    libraries: PathBuf,
    cores: Cores,
    programs: Programs,
    hpcc: Hpcc,
}

impl Jobs {
    /// With the libraries in that folder, and programs made in `folder`.
    ///
    /// # Errors
    /// When a folder has no path that another process could be told.
    pub fn new(libraries: &Path, folder: &Path, cores: Cores) -> Result<Self> {
        let libraries = with::absolute(libraries)?;
        Ok(Self {
            programs: Programs::new(&libraries, &with::absolute(folder)?),
            libraries,
            cores,
            hpcc: Hpcc::default(),
        })
    }

    /// The figures of `library` in `work`, on what it `runs_on` there, and perhaps with our collectives, one for each size.
    ///
    /// # Errors
    /// When the library is not installed, a job fails or hangs, or prints something else.
    pub fn measure(
        &self,
        library: &'static str,
        runs_on: &'static str,
        with_coll: bool,
        work: &Work,
        effort: Effort,
    ) -> Result<Vec<f64>> {
        let job = Job {
            libraries: &self.libraries,
            library,
            runs_on,
            with_coll,
            cores: self.cores,
            wire: work.wire,
        };
        match work.kind {
            Kind::Hpcc { figure, times } => {
                let value = self.hpcc.figure(&job, figure)?;
                Ok(vec![value * times])
            }
            Kind::Program(name) => {
                let program = self.programs.of_tests(library, name)?;
                Ok(vec![with::seconds_taken(&job.crowd(8, &program)?)?])
            }
            Kind::Rate => {
                let steps = [format!("8:{}", effort.iterations(work.kind))];
                let per_s = self.bench(&job, Ranks::Two, &["rate"], &steps)?;
                Ok(per_s.iter().map(|rate| rate / 1e6).collect())
            }
            Kind::BarrierOf(ranks) => {
                let count = [effort.iterations(work.kind).to_string()];
                self.bench(&job, ranks, &["barrier"], &count)
            }
            Kind::BySize(series) => {
                let sizes = work.kind.sizes().into_iter().flatten();
                let steps: Vec<String> = sizes
                    .map(|size| format!("{size}:{}", effort.iterations_at(series, size)))
                    .collect();
                match series {
                    Series::Latency => self.bench(&job, Ranks::Two, &["latency"], &steps),
                    Series::Stream { in_flight } => {
                        let in_flight = in_flight.to_string();
                        self.bench(&job, Ranks::Two, &["stream", &in_flight], &steps)
                    }
                    Series::Bcast(ranks) => self.bench(&job, ranks, &["bcast"], &steps),
                    Series::Allreduce => self.bench(&job, Ranks::Four, &["allreduce"], &steps),
                    Series::Alltoall => self.bench(&job, Ranks::Four, &["alltoall"], &steps),
                }
            }
            _ => unreachable!("the table of works asks jobs for nothing else"),
        }
    }

    /// What the program of the benchmark prints for each of `steps`.
    fn bench(&self, job: &Job, ranks: Ranks, what: &[&str], steps: &[String]) -> Result<Vec<f64>> {
        let mut command = vec![self.programs.of_bench(job.library)?.display().to_string()];
        command.extend(what.iter().map(|word| (*word).to_owned()));
        command.extend_from_slice(steps);
        let output = match ranks {
            Ranks::Two => job.pair(&command)?,
            Ranks::Four => job.several(4, &command)?,
            Ranks::Eight => job.several(8, &command)?,
        };
        with::figures(&command, &output, steps.len())
    }
}
