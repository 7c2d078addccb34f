//! Who is measured.

use std::fmt;

/// One of those measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This project.
    Bcl,
    /// `ucx_perftest` over POSIX shared memory, with `process_vm_readv` for long messages.
    UcxPosix,
    /// `ucx_perftest` over System V shared memory, copying through it.
    UcxSysv,
    /// MPICH's shared memory.
    Mpich,
    /// Open MPI's shared memory, which yields when processes outnumber cores.
    OpenMpi,
    /// The limit: a cache line handed from core to core.
    CacheLine,
    /// The same limit measured by the probe of the design brief.
    ProbeCacheLine,
    /// The limit of a single copy: a loop around the system call.
    ProcessVmReadv,
}

impl Subject {
    /// How reports and `results.json` name it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Bcl => "BCL",
            Subject::UcxPosix => "UCX posix,cma",
            Subject::UcxSysv => "UCX sysv",
            Subject::Mpich => "MPICH",
            Subject::OpenMpi => "Open MPI",
            Subject::CacheLine => "cache line",
            Subject::ProbeCacheLine => "cache line (limits.c)",
            Subject::ProcessVmReadv => "process_vm_readv",
        }
    }

    /// Whether it shows what the machine can do rather than what someone reaches.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Subject::CacheLine | Subject::ProbeCacheLine | Subject::ProcessVmReadv
        )
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
