//! The test stand: all subjects, made ready once, and how each is asked for a figure.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cores::Cores;
use crate::effort::Effort;
use crate::error::{Result, system};
use crate::limits::probe::Probe;
use crate::limits::sockets::{Protocol, Sockets};
use crate::limits::{cache_line, vm_readv};
use crate::ours;
use crate::peers::jobs::Jobs;
use crate::peers::{iperf, libfabric, mpi, ucx};
use crate::site::Site;
use crate::subject::Subject;
use crate::work::{Kind, Work};

/// The figures of a subject in a work, one for each size, or why there are none.
pub type Outcome = std::result::Result<Vec<f64>, String>;

/// Everything that measurements need. What has to be compiled is, when it is first asked for; what is missing is reported
/// with its figures.
pub struct Stand {
    /// Where everything runs.
    pub cores: Cores,
    effort: Effort,
    folder: PathBuf,
    jobs: Option<Jobs>,
    mpich: OnceCell<Result<mpi::Program>>,
    open_mpi: OnceCell<Result<mpi::Program>>,
    probe: OnceCell<Result<Probe>>,
    sockets: OnceCell<Result<Sockets>>,
}

impl Stand {
    /// A stand that has its programs in `folder`, and MPI libraries for whole jobs in `libraries`.
    ///
    /// # Errors
    /// When the folder cannot be made or the cores cannot be read.
    pub fn build(folder: &Path, libraries: Option<&Path>, effort: Effort) -> Result<Self> {
        fs::create_dir_all(folder).map_err(system("make", folder.display()))?;
        let cores = Cores::available()?;
        Ok(Self {
            cores,
            effort,
            folder: folder.to_owned(),
            jobs: libraries
                .map(|libraries| Jobs::new(libraries, folder, cores))
                .transpose()?,
            mpich: OnceCell::new(),
            open_mpi: OnceCell::new(),
            probe: OnceCell::new(),
            sockets: OnceCell::new(),
        })
    }

    /// The figures of `subject` in `work`, one for each size, or why there are none.
    pub fn measure(&self, subject: Subject, work: &'static Work) -> Outcome {
        let effort = match work.wire {
            Some(_) => self.effort.between_hosts(),
            None => self.effort,
        };
        if let Some((library, runs_on)) = subject.job() {
            let jobs = self.jobs.as_ref().expect("only works of MPI ask for jobs");
            let with_coll = subject.has_coll();
            let figures = jobs.measure(library, runs_on, with_coll, work, effort);
            return figures.map_err(reason);
        }
        let site = Site::prepare(work.wire, subject.mode(), self.cores).map_err(reason)?;
        if subject.is_bcl() {
            return ours::measure(subject, work, &site, effort).map_err(reason);
        }
        self.measure_one(subject, work.kind, &site, effort)
            .map(|figure| vec![figure])
    }

    fn measure_one(
        &self,
        subject: Subject,
        kind: Kind,
        site: &Site,
        effort: Effort,
    ) -> std::result::Result<f64, String> {
        let (cores, folder) = (self.cores, &self.folder);
        let mpi = |cell: &OnceCell<Result<mpi::Program>>, library| {
            let program = cell.get_or_init(|| mpi::Program::build(library, folder));
            match program {
                Ok(program) => program.measure(kind, cores, effort).map_err(reason),
                Err(absent) => Err(reason(absent)),
            }
        };
        let ucx = |transports| ucx::measure(transports, kind, site, effort).map_err(reason);
        let libfabric = |provider| libfabric::measure(provider, kind, site, effort).map_err(reason);
        let sockets = |protocol| match self.sockets.get_or_init(|| Sockets::build(folder)) {
            Ok(sockets) => sockets
                .measure_us(protocol, kind, site, effort)
                .map_err(reason),
            Err(absent) => Err(reason(absent)),
        };
        let iterations = effort.iterations(kind);
        match subject {
            Subject::UcxPosix => ucx("posix,cma,self"),
            Subject::UcxSysv => ucx("sysv,self"),
            Subject::UcxTcp => ucx("tcp"),
            Subject::LibfabricTcp => libfabric("tcp"),
            Subject::LibfabricUdp => libfabric("udp;ofi_rxd"),
            Subject::KernelTcp => iperf::measure_mb_per_s(site, effort).map_err(reason),
            Subject::RawUdp => sockets(Protocol::Udp),
            Subject::RawUdpUnconnected => sockets(Protocol::UdpUnconnected),
            Subject::RawTcp => sockets(Protocol::Tcp),
            Subject::Mpich => mpi(&self.mpich, mpi::Library::Mpich),
            Subject::OpenMpi => mpi(&self.open_mpi, mpi::Library::OpenMpi),
            Subject::CacheLine => cache_line::measure_us(cores, iterations).map_err(reason),
            Subject::ProbeCacheLine => match self.probe.get_or_init(|| Probe::build(folder)) {
                Ok(probe) => probe.cache_line_us().map_err(reason),
                Err(absent) => Err(reason(absent)),
            },
            Subject::ProcessVmReadv => {
                let Kind::Stream { size_bytes, .. } = kind else {
                    unreachable!("the table of works asks for streams only");
                };
                vm_readv::measure_mb_per_s(cores, size_bytes, iterations).map_err(reason)
            }
            _ => unreachable!("{subject} is measured by jobs, or is BCL"),
        }
    }
}

fn reason(error: impl ToString) -> String {
    error.to_string()
}
