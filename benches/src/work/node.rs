//! Section 5 of issue 2 as a table: between the processes of one node.

use super::Compare::{Above, AtLeast, AtMost, Below};
use super::Reference::{Best, OtherWork, Value};
use super::{Kind, Mark, Operation, Work, mark};
use crate::subject::Subject::{
    self, Bcl, CacheLine, Mpich, OpenMpi, ProbeCacheLine, ProcessVmReadv, UcxPosix, UcxSysv,
};

/// `ucx_perftest` and the bare `process_vm_readv` loop use one buffer for all messages, which then stays in the cache;
/// with two buffers the cache is what would be measured.
const IN_FLIGHT: usize = 1;

const UCX: &[Subject] = &[UcxPosix, UcxSysv];
const WITH_UCX_AND_MPICH: &[Subject] = &[Bcl, UcxPosix, UcxSysv, Mpich];
const WITH_UCX_MPICH_AND_BARE_READ: &[Subject] = &[Bcl, UcxPosix, UcxSysv, Mpich, ProcessVmReadv];
const CROWD: &[Subject] = &[Bcl, OpenMpi, Mpich, UcxPosix, UcxSysv];

const MESSAGE_MARKS: &[Mark] = &[
    mark("below UCX", Below, 1.0, Best(UCX)),
    mark("below MPICH", Below, 1.0, Best(&[Mpich])),
];
const STREAM_MARKS: &[Mark] = &[
    mark("above UCX", Above, 1.0, Best(UCX)),
    mark("above MPICH", Above, 1.0, Best(&[Mpich])),
    mark(
        "at least 0.9x a bare process_vm_readv loop",
        AtLeast,
        0.9,
        Best(&[ProcessVmReadv]),
    ),
];
const EXCHANGE_MARKS: &[Mark] = &[mark(
    "within 2x of a cache-line exchange",
    AtMost,
    2.0,
    Best(&[CacheLine]),
)];
const MEMORY_MARK: Mark = mark("at most 160 KiB a peer", AtMost, 1.0, Value(160.0));

/// The rows.
pub const WORKS: &[Work] = &[
    Work {
        name: "latency-8",
        title: "8 B one way",
        unit: "us",
        kind: Kind::Latency { size_bytes: 8 },
        wire: None,
        subjects: &[Bcl, UcxPosix, UcxSysv, Mpich, CacheLine, ProbeCacheLine],
        marks: &[
            mark("at or below UCX tag_lat", AtMost, 1.0, Best(UCX)),
            mark(
                "within 3x of the cache-line limit",
                AtMost,
                3.0,
                Best(&[CacheLine]),
            ),
        ],
    },
    Work {
        name: "latency-1k",
        title: "1 KiB one way",
        unit: "us",
        kind: Kind::Latency {
            size_bytes: 1 << 10,
        },
        wire: None,
        subjects: WITH_UCX_AND_MPICH,
        marks: MESSAGE_MARKS,
    },
    Work {
        name: "latency-16k",
        title: "16 KiB one way",
        unit: "us",
        kind: Kind::Latency {
            size_bytes: 16 << 10,
        },
        wire: None,
        subjects: WITH_UCX_AND_MPICH,
        marks: MESSAGE_MARKS,
    },
    Work {
        name: "latency-64k",
        title: "64 KiB one way",
        unit: "us",
        kind: Kind::Latency {
            size_bytes: 64 << 10,
        },
        wire: None,
        subjects: WITH_UCX_AND_MPICH,
        marks: MESSAGE_MARKS,
    },
    Work {
        name: "stream-1m",
        title: "1 MiB stream",
        unit: "MB/s",
        kind: Kind::Stream {
            size_bytes: 1 << 20,
            in_flight: IN_FLIGHT,
        },
        wire: None,
        subjects: WITH_UCX_MPICH_AND_BARE_READ,
        marks: STREAM_MARKS,
    },
    Work {
        name: "stream-4m",
        title: "4 MiB stream",
        unit: "MB/s",
        kind: Kind::Stream {
            size_bytes: 4 << 20,
            in_flight: IN_FLIGHT,
        },
        wire: None,
        subjects: WITH_UCX_MPICH_AND_BARE_READ,
        marks: STREAM_MARKS,
    },
    Work {
        name: "stream-16m",
        title: "16 MiB stream",
        unit: "MB/s",
        kind: Kind::Stream {
            size_bytes: 16 << 20,
            in_flight: IN_FLIGHT,
        },
        wire: None,
        subjects: WITH_UCX_MPICH_AND_BARE_READ,
        marks: STREAM_MARKS,
    },
    Work {
        name: "rate-8",
        title: "message rate, 8 B, one pair",
        unit: "M/s",
        kind: Kind::Rate,
        wire: None,
        subjects: WITH_UCX_AND_MPICH,
        marks: &[mark("above UCX tag_bw", Above, 1.0, Best(UCX))],
    },
    Work {
        name: "put",
        title: "put on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::Put),
        wire: None,
        subjects: &[Bcl, UcxPosix, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "get",
        title: "get on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::Get),
        wire: None,
        subjects: &[Bcl, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "fetch-add",
        title: "fetch-and-add on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::FetchAdd),
        wire: None,
        subjects: &[Bcl, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "reflected",
        title: "word of a region, written and seen",
        unit: "us",
        kind: Kind::Reflected,
        wire: None,
        subjects: &[Bcl, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "memory-1",
        title: "memory of a peer, 1 active peer",
        unit: "KiB",
        kind: Kind::Memory { peers: 1 },
        wire: None,
        subjects: &[Bcl],
        marks: &[MEMORY_MARK],
    },
    Work {
        name: "memory-10",
        title: "memory of a peer, 10 active peers",
        unit: "KiB",
        kind: Kind::Memory { peers: 10 },
        wire: None,
        subjects: &[Bcl],
        marks: &[MEMORY_MARK],
    },
    Work {
        name: "memory-100",
        title: "memory of a peer, 100 active peers",
        unit: "KiB",
        kind: Kind::Memory { peers: 100 },
        wire: None,
        subjects: &[Bcl],
        marks: &[
            MEMORY_MARK,
            mark(
                "linear: no more than among 10",
                AtMost,
                1.05,
                OtherWork("memory-10"),
            ),
        ],
    },
    Work {
        name: "system-calls",
        title: "system calls of a polling ping-pong",
        unit: "calls",
        kind: Kind::SystemCalls,
        wire: None,
        subjects: &[Bcl],
        marks: &[mark("0", AtMost, 1.0, Value(0.0))],
    },
    Work {
        name: "idle",
        title: "idle port in bcl_wait",
        unit: "% of a core",
        kind: Kind::Idle,
        wire: None,
        subjects: &[Bcl],
        marks: &[mark("under 1 % of a core", Below, 1.0, Value(1.0))],
    },
    Work {
        name: "pairs",
        title: "8 processes in 4 ping-pong pairs on 2 cores",
        unit: "k messages/s",
        kind: Kind::Pairs,
        wire: None,
        subjects: CROWD,
        marks: &[
            mark("at or above Open MPI", AtLeast, 1.0, Best(&[OpenMpi])),
            mark("at least 10x MPICH's", AtLeast, 10.0, Best(&[Mpich])),
            mark("at least 10x UCX's", AtLeast, 10.0, Best(UCX)),
        ],
    },
    Work {
        name: "barrier",
        title: "4 processes on 2 cores, a barrier of messages",
        unit: "us",
        kind: Kind::Barrier,
        wire: None,
        subjects: &[Bcl, OpenMpi, Mpich],
        marks: &[
            mark("at or below Open MPI", Below, 1.0, Best(&[OpenMpi])),
            mark("under 20 us", Below, 1.0, Value(20.0)),
        ],
    },
];
