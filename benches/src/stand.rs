//! The test stand: all subjects, made ready once, and how each is asked for a figure.

use std::fs;
use std::path::Path;

use crate::cores::Cores;
use crate::effort::Effort;
use crate::error::{Result, system};
use crate::limits::{cache_line, probe::Probe, vm_readv};
use crate::ours;
use crate::peers::{mpi, ucx};
use crate::subject::Subject;
use crate::work::{Kind, Work};

/// Everything that measurements need.
pub struct Stand {
    /// Where everything runs.
    pub cores: Cores,
    effort: Effort,
    mpich: Result<mpi::Program>,
    open_mpi: Result<mpi::Program>,
    probe: Result<Probe>,
}

impl Stand {
    /// Compiles the peers' programs into `folder`. One that is missing is reported with its figures.
    ///
    /// # Errors
    /// When the folder cannot be made or the cores cannot be read.
    pub fn build(folder: &Path, effort: Effort) -> Result<Self> {
        fs::create_dir_all(folder).map_err(system("make", folder.display()))?;
        Ok(Self {
            cores: Cores::available()?,
            effort,
            mpich: mpi::Program::build(mpi::Library::Mpich, folder),
            open_mpi: mpi::Program::build(mpi::Library::OpenMpi, folder),
            probe: Probe::build(folder),
        })
    }

    /// One figure of `subject` in `work`, or why there is none.
    pub fn measure(
        &self,
        subject: Subject,
        work: &'static Work,
    ) -> std::result::Result<f64, String> {
        let (kind, cores, effort) = (work.kind, self.cores, self.effort);
        let mpi = |program: &Result<mpi::Program>| match program {
            Ok(program) => program.measure(kind, cores, effort).map_err(reason),
            Err(absent) => Err(reason(absent)),
        };
        let iterations = effort.iterations(kind);
        match subject {
            Subject::Bcl => ours::measure(work, cores, effort).map_err(reason),
            Subject::UcxPosix => {
                ucx::measure("posix,cma,self", kind, cores, effort).map_err(reason)
            }
            Subject::UcxSysv => ucx::measure("sysv,self", kind, cores, effort).map_err(reason),
            Subject::Mpich => mpi(&self.mpich),
            Subject::OpenMpi => mpi(&self.open_mpi),
            Subject::CacheLine => cache_line::measure_us(cores, iterations).map_err(reason),
            Subject::ProbeCacheLine => match &self.probe {
                Ok(probe) => probe.cache_line_us().map_err(reason),
                Err(absent) => Err(reason(absent)),
            },
            Subject::ProcessVmReadv => {
                let Kind::Stream { size_bytes } = kind else {
                    unreachable!("the table of works asks for streams only");
                };
                vm_readv::measure_mb_per_s(cores, size_bytes, iterations).map_err(reason)
            }
        }
    }
}

fn reason(error: impl ToString) -> String {
    error.to_string()
}
