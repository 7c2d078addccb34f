//! Who is measured.

use std::fmt;

/// One of those measured side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This project, without MPI and without an agent.
    Bcl,
    /// The same on hosts whose agents have attached their program in the driver.
    BclNative,
    /// The same behind the driver.
    BclGeneric,
    /// A billboard of this project: a message to one,
    BoardMessage,
    /// messages along a tree, instead of a multicast,
    BoardTree,
    /// and a multicast without IP multicast.
    BoardOneByOne,
    /// MPICH 4.3 on our libfabric provider.
    MpichOnBcl,
    /// The same, with our collectives.
    MpichWithColl,
    /// MPICH 4.3 on libfabric's `tcp`.
    MpichOnTcp,
    /// The same on its own shared memory.
    MpichOwn,
    /// Open MPI 5 on our libfabric provider.
    OpenMpiOnBcl,
    /// The same on UCX's shared memory.
    OpenMpiOnUcx,
    /// The same on its own shared memory.
    OpenMpiOwn,
    /// Debian's Open MPI, with which its `hpcc` is linked, on our libfabric provider.
    DebianOpenMpiOnBcl,
    /// The same on libfabric's `tcp`.
    DebianOpenMpiOnTcp,
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
    /// The limit: both ends spin on a bare UDP socket that is connected, `sockets.c` of the design brief.
    RawUdp,
    /// The same, not connected.
    RawUdpUnconnected,
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
            Subject::BclNative => "BCL, xdp native",
            Subject::BclGeneric => "BCL, xdp generic",
            Subject::BoardMessage => "BCL, a message to one",
            Subject::BoardTree => "BCL, a tree of messages",
            Subject::BoardOneByOne => "BCL, no IP multicast",
            Subject::MpichOnBcl => "MPICH 4.3.2 on bcl",
            Subject::MpichWithColl => "MPICH 4.3.2 on bcl, bcl_coll",
            Subject::MpichOnTcp => "MPICH 4.3.2 on tcp",
            Subject::MpichOwn => "MPICH 4.3.2, its own",
            Subject::OpenMpiOnBcl => "Open MPI 5 on bcl",
            Subject::OpenMpiOnUcx => "Open MPI 5 on UCX",
            Subject::OpenMpiOwn => "Open MPI 5, its own",
            Subject::DebianOpenMpiOnBcl => "Open MPI 4.1 on bcl",
            Subject::DebianOpenMpiOnTcp => "Open MPI 4.1 on tcp",
            Subject::UcxPosix => "UCX posix,cma",
            Subject::UcxSysv => "UCX sysv",
            Subject::Mpich => "MPICH",
            Subject::OpenMpi => "Open MPI",
            Subject::UcxTcp => "UCX tcp",
            Subject::LibfabricTcp => "libfabric tcp",
            Subject::LibfabricUdp => "libfabric udp;ofi_rxd",
            Subject::KernelTcp => "kernel TCP (iperf3)",
            Subject::RawUdp => "raw UDP, spinning",
            Subject::RawUdpUnconnected => "raw UDP, unconnected",
            Subject::RawTcp => "raw TCP, spinning",
            Subject::CacheLine => "cache line",
            Subject::ProbeCacheLine => "cache line (limits.c)",
            Subject::ProcessVmReadv => "process_vm_readv",
        }
    }

    /// For the MPI libraries of testing/mpi, the words by which testing/mpi/with knows the library and what it runs on.
    pub fn job(self) -> Option<(&'static str, &'static str)> {
        const MPICH: &str = "mpich-4.3.2";
        const OPEN_MPI: &str = "openmpi-5.0.11";
        const DEBIAN: &str = "debian-openmpi-4.1.4";
        Some(match self {
            Subject::MpichOnBcl | Subject::MpichWithColl => (MPICH, "bcl"),
            Subject::MpichOnTcp => (MPICH, "tcp"),
            Subject::MpichOwn => (MPICH, "own"),
            Subject::OpenMpiOnBcl => (OPEN_MPI, "bcl"),
            Subject::OpenMpiOnUcx => (OPEN_MPI, "ucx"),
            Subject::OpenMpiOwn => (OPEN_MPI, "own"),
            Subject::DebianOpenMpiOnBcl => (DEBIAN, "bcl"),
            Subject::DebianOpenMpiOnTcp => (DEBIAN, "tcp"),
            _ => return None,
        })
    }

    /// Whether its programs have our collectives.
    pub fn has_coll(self) -> bool {
        self == Subject::MpichWithColl
    }

    /// Whether it is this project, without MPI.
    pub fn is_bcl(self) -> bool {
        matches!(
            self,
            Subject::Bcl
                | Subject::BclNative
                | Subject::BclGeneric
                | Subject::BoardMessage
                | Subject::BoardTree
                | Subject::BoardOneByOne
        )
    }

    /// The mode in which the agents of its hosts attach their program, if it has some.
    pub fn mode(self) -> Option<&'static str> {
        match self {
            Subject::BclNative => Some("native"),
            Subject::BclGeneric => Some("generic"),
            _ => None,
        }
    }

    /// Whether it is this project, with MPI or without.
    pub fn is_ours(self) -> bool {
        self.is_bcl() || self.job().is_some_and(|(_, runs_on)| runs_on == "bcl")
    }

    /// Whether it shows what the machine can do rather than what someone reaches.
    pub fn is_limit(self) -> bool {
        matches!(
            self,
            Subject::CacheLine
                | Subject::ProbeCacheLine
                | Subject::ProcessVmReadv
                | Subject::RawUdp
                | Subject::RawUdpUnconnected
                | Subject::RawTcp
        )
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
