//! The test stand: all subjects, made ready once, and how each is asked for a figure.

use std::fs;
use std::path::Path;

use crate::cores::Cores;
use crate::effort::Effort;
use crate::error::{Result, system};
use crate::limits::probe::Probe;
use crate::limits::sockets::{Protocol, Sockets};
use crate::limits::{cache_line, vm_readv};
use crate::ours;
use crate::peers::{iperf, libfabric, mpi, ucx};
use crate::site::Site;
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
    sockets: Result<Sockets>,
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
            sockets: Sockets::build(folder),
        })
    }

    /// One figure of `subject` in `work`, or why there is none.
    pub fn measure(
        &self,
        subject: Subject,
        work: &'static Work,
    ) -> std::result::Result<f64, String> {
        let site = Site::prepare(work.wire, self.cores).map_err(reason)?;
        let effort = match work.wire {
            Some(_) => self.effort.between_hosts(),
            None => self.effort,
        };
        let (kind, cores) = (work.kind, self.cores);
        let mpi = |program: &Result<mpi::Program>| match program {
            Ok(program) => program.measure(kind, cores, effort).map_err(reason),
            Err(absent) => Err(reason(absent)),
        };
        let ucx = |transports| ucx::measure(transports, kind, &site, effort).map_err(reason);
        let libfabric =
            |provider| libfabric::measure(provider, kind, &site, effort).map_err(reason);
        let sockets = |protocol| match &self.sockets {
            Ok(sockets) => sockets
                .measure_us(protocol, kind, &site, effort)
                .map_err(reason),
            Err(absent) => Err(reason(absent)),
        };
        let iterations = effort.iterations(kind);
        match subject {
            Subject::Bcl => ours::measure(work, &site, effort).map_err(reason),
            Subject::UcxPosix => ucx("posix,cma,self"),
            Subject::UcxSysv => ucx("sysv,self"),
            Subject::UcxTcp => ucx("tcp"),
            Subject::LibfabricTcp => libfabric("tcp"),
            Subject::LibfabricUdp => libfabric("udp;ofi_rxd"),
            Subject::KernelTcp => iperf::measure_mb_per_s(&site, effort).map_err(reason),
            Subject::RawUdp => sockets(Protocol::Udp),
            Subject::RawTcp => sockets(Protocol::Tcp),
            Subject::Mpich => mpi(&self.mpich),
            Subject::OpenMpi => mpi(&self.open_mpi),
            Subject::CacheLine => cache_line::measure_us(cores, iterations).map_err(reason),
            Subject::ProbeCacheLine => match &self.probe {
                Ok(probe) => probe.cache_line_us().map_err(reason),
                Err(absent) => Err(reason(absent)),
            },
            Subject::ProcessVmReadv => {
                let Kind::Stream { size_bytes, .. } = kind else {
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
