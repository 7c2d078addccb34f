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
    /// `ucx_perftest` over TCP.
    UcxTcp,
    /// `fi_pingpong` over libfabric's `tcp`.
    LibfabricTcp,
    /// `fi_pingpong` over libfabric's `udp`, made reliable by `ofi_rxd`.
    LibfabricUdp,
    /// `iperf3` with the congestion control that suits it best.
    KernelTcp,
    /// The limit: both ends spin on a bare UDP socket, `sockets.c` of the design brief.
    RawUdp,
    /// The same with TCP.
    RawTcp,
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
            Subject::UcxTcp => "UCX tcp",
            Subject::LibfabricTcp => "libfabric tcp",
            Subject::LibfabricUdp => "libfabric udp;ofi_rxd",
            Subject::KernelTcp => "kernel TCP (iperf3)",
            Subject::RawUdp => "raw UDP, spinning",
            Subject::RawTcp => "raw TCP, spinning",
            Subject::CacheLine => "cache line",
            Subject::ProbeCacheLine => "cache line (limits.c)",
            Subject::ProcessVmReadv => "process_vm_readv",
        }
    }

    /// Whether it shows what the machine can do rather than what someone reaches.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Subject::CacheLine
                | Subject::ProbeCacheLine
                | Subject::ProcessVmReadv
                | Subject::RawUdp
                | Subject::RawTcp
        )
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
