//! Section 5 of issue 39 as a table: MPI libraries on BCL, on what else they can run on, and BCL without them.

use super::Compare::{AtLeast, AtMost, Below};
use super::Reference::Best;
use super::{Kind, Mark, Ranks, Reference, Series, Wire, Work, mark};
use crate::subject::Subject::{
    self, Bcl, DebianOpenMpiOnBcl, DebianOpenMpiOnTcp, MpichOnBcl, MpichOnTcp, MpichOwn,
    MpichWithColl, OpenMpiOnBcl, OpenMpiOnUcx, OpenMpiOwn,
};

const WIRE: Wire = Wire {
    mtu: 1500,
    loss_ppm: None,
};
const WIDE_WIRE: Wire = Wire { mtu: 9000, ..WIRE };

const SHORT: usize = 8;
const LONG: usize = 1 << 20;

const LATENCY: Kind = Kind::BySize(Series::Latency);
/// As in the other tables: on one node a second message in flight would measure the cache.
const STREAM_OF_HOSTS: Kind = Kind::BySize(Series::Stream { in_flight: 4 });
const STREAM_OF_NODE: Kind = Kind::BySize(Series::Stream { in_flight: 1 });

const BETWEEN_HOSTS: &[Subject] = &[MpichOnBcl, Bcl, MpichOnTcp];
const IN_NODE: &[Subject] = &[MpichOnBcl, Bcl, MpichOwn];

const NEAR_RAW: Mark = mark("1 MiB: at least 0.95x raw BCL", AtLeast, 0.95, Best(&[Bcl])).at(LONG);
const FASTER_THAN_TCP: &[Mark] = &[mark(
    "below MPICH on tcp at every size",
    Below,
    1.0,
    Best(&[MpichOnTcp]),
)];
const NOT_BELOW_TCP: &[Mark] = &[mark(
    "not below tcp",
    AtLeast,
    1.0,
    Best(&[DebianOpenMpiOnTcp]),
)];
const NOT_ABOVE_TCP: &[Mark] = &[mark(
    "not above tcp",
    AtMost,
    1.0,
    Best(&[DebianOpenMpiOnTcp]),
)];
const FASTER_THAN_ITS_OWN: &[Mark] = &[
    mark("below its own on bcl", Below, 1.0, Best(&[MpichOnBcl])),
    mark("below its own on tcp", Below, 1.0, Best(&[MpichOnTcp])),
];
const BROADCAST_MARKS: &[Mark] = &[
    mark(
        "8 B: a third of tcp",
        AtMost,
        1.0 / 3.0,
        Best(&[MpichOnTcp]),
    )
    .at(SHORT),
    mark("64 KiB: the same", AtMost, 1.0 / 3.0, Best(&[MpichOnTcp])).at(64 << 10),
    mark("8 B: below its own on bcl", Below, 1.0, Best(&[MpichOnBcl])).at(SHORT),
    mark("64 KiB: the same", Below, 1.0, Best(&[MpichOnBcl])).at(64 << 10),
];
const SHARED_MEMORY: Reference = Best(&[MpichOwn, OpenMpiOwn]);

const NEAR_SHARED_MEMORY: &[Mark] = &[
    mark(
        "MPICH: within 3x of the best shared memory of their own",
        AtMost,
        3.0,
        SHARED_MEMORY,
    ),
    mark("Open MPI: the same", AtMost, 3.0, SHARED_MEMORY).of(OpenMpiOnBcl),
];

/// The rows.
pub const WORKS: &[Work] = &[
    Work {
        name: "mpi-hosts-latency",
        title: "MPICH, hosts: one way",
        unit: "us",
        kind: LATENCY,
        wire: Some(WIRE),
        subjects: BETWEEN_HOSTS,
        marks: &[
            mark("8 B: at most 1.30x raw BCL", AtMost, 1.30, Best(&[Bcl])).at(SHORT),
            mark("8 B: 0.8x tcp", AtMost, 0.8, Best(&[MpichOnTcp])).at(SHORT),
        ],
    },
    Work {
        name: "mpi-hosts-stream-1500",
        title: "MPICH, hosts: stream, MTU 1500",
        unit: "MB/s",
        kind: STREAM_OF_HOSTS,
        wire: Some(WIRE),
        subjects: BETWEEN_HOSTS,
        marks: &[NEAR_RAW],
    },
    Work {
        name: "mpi-hosts-stream-9000",
        title: "MPICH, hosts: stream, MTU 9000",
        unit: "MB/s",
        kind: STREAM_OF_HOSTS,
        wire: Some(WIDE_WIRE),
        subjects: BETWEEN_HOSTS,
        marks: &[
            NEAR_RAW,
            mark("1 MiB: 1.5x tcp", AtLeast, 1.5, Best(&[MpichOnTcp])).at(LONG),
        ],
    },
    Work {
        name: "mpi-node-latency-openmpi",
        title: "Open MPI, node: one way",
        unit: "us",
        kind: LATENCY,
        wire: None,
        subjects: &[OpenMpiOnBcl, Bcl, OpenMpiOnUcx, OpenMpiOwn],
        marks: &[mark(
            "8 B: 1.5x UCX shared memory",
            AtMost,
            1.5,
            Best(&[OpenMpiOnUcx]),
        )
        .at(SHORT)],
    },
    Work {
        name: "mpi-node-latency",
        title: "MPICH, node: one way",
        unit: "us",
        kind: LATENCY,
        wire: None,
        subjects: IN_NODE,
        marks: &[mark("8 B: 1.3x MPICH's own", AtMost, 1.3, Best(&[MpichOwn])).at(SHORT)],
    },
    Work {
        name: "mpi-node-stream",
        title: "MPICH, node: stream",
        unit: "MB/s",
        kind: STREAM_OF_NODE,
        wire: None,
        subjects: IN_NODE,
        marks: &[mark(
            "1 MiB: at least MPICH's own",
            AtLeast,
            1.0,
            Best(&[MpichOwn]),
        )
        .at(LONG)],
    },
    Work {
        name: "mpi-hosts-rate-8",
        title: "MPICH, hosts: message rate, 8 B",
        unit: "M/s",
        kind: Kind::Rate,
        wire: Some(WIRE),
        subjects: BETWEEN_HOSTS,
        marks: &[mark("2x tcp", AtLeast, 2.0, Best(&[MpichOnTcp]))],
    },
    barrier(
        "mpi-node-barrier-2",
        "MPICH, node: barrier of 2",
        Ranks::Two,
        None,
    ),
    barrier(
        "mpi-node-barrier-4",
        "MPICH, node: barrier of 4 on two cores",
        Ranks::Four,
        None,
    ),
    barrier(
        "mpi-hosts-barrier-2",
        "MPICH, 2 hosts: barrier",
        Ranks::Two,
        Some(WIRE),
    ),
    barrier(
        "mpi-hosts-barrier-4",
        "MPICH, 2 hosts x 2: barrier",
        Ranks::Four,
        Some(WIRE),
    ),
    broadcast(
        "mpi-hosts-bcast",
        "MPICH, 2 hosts x 2: broadcast, roots in turn",
        Ranks::Four,
    ),
    broadcast(
        "mpi-hosts-bcast-8",
        "MPICH, 2 hosts x 4: broadcast, roots in turn",
        Ranks::Eight,
    ),
    collective(
        "mpi-hosts-allreduce",
        "MPICH, 2 hosts x 2: allreduce",
        Series::Allreduce,
        &[MpichOnBcl, MpichWithColl, MpichOnTcp],
    ),
    collective(
        "mpi-hosts-alltoall",
        "MPICH, 2 hosts x 2: alltoall",
        Series::Alltoall,
        &[MpichOnBcl, MpichOnTcp],
    ),
    rate_of_hpcc("hpcc-hpl", "hpcc: HPL", "Gflop/s", ("HPL_Tflops", 1e3)),
    rate_of_hpcc("hpcc-ptrans", "hpcc: PTRANS", "MB/s", ("PTRANS_GBs", 1e3)),
    rate_of_hpcc(
        "hpcc-random-access",
        "hpcc: random access",
        "M updates/s",
        ("MPIRandomAccess_GUPs", 1e3),
    ),
    rate_of_hpcc(
        "hpcc-random-access-lcg",
        "hpcc: random access, LCG",
        "M updates/s",
        ("MPIRandomAccess_LCG_GUPs", 1e3),
    ),
    rate_of_hpcc("hpcc-fft", "hpcc: FFT", "Gflop/s", ("MPIFFT_Gflops", 1.0)),
    time_of_hpcc(
        "hpcc-ping-pong-latency",
        "hpcc: ping-pong, slowest pair",
        "MaxPingPongLatency_usec",
    ),
    time_of_hpcc(
        "hpcc-ring-latency",
        "hpcc: ring of ranks, 8 B",
        "NaturallyOrderedRingLatency_usec",
    ),
    time_of_hpcc(
        "hpcc-random-ring-latency",
        "hpcc: random ring, 8 B",
        "RandomlyOrderedRingLatency_usec",
    ),
    rate_of_hpcc(
        "hpcc-ping-pong-stream",
        "hpcc: long ping-pong, slowest pair",
        "MB/s",
        ("MinPingPongBandwidth_GBytes", 1e3),
    ),
    rate_of_hpcc(
        "hpcc-ring-stream",
        "hpcc: ring of ranks, long",
        "MB/s",
        ("NaturallyOrderedRingBandwidth_GBytes", 1e3),
    ),
    rate_of_hpcc(
        "hpcc-random-ring-stream",
        "hpcc: random ring, long",
        "MB/s",
        ("RandomlyOrderedRingBandwidth_GBytes", 1e3),
    ),
    oversubscribed("mpi-crowd-storm", "8 ranks on 2 cores: storm", "storm"),
    oversubscribed(
        "mpi-crowd-collectives",
        "8 ranks on 2 cores: collectives",
        "collectives",
    ),
];

const fn collective(
    name: &'static str,
    title: &'static str,
    series: Series,
    subjects: &'static [Subject],
) -> Work {
    Work {
        name,
        title,
        unit: "us",
        kind: Kind::BySize(series),
        wire: Some(WIRE),
        subjects,
        marks: FASTER_THAN_TCP,
    }
}

const fn broadcast(name: &'static str, title: &'static str, ranks: Ranks) -> Work {
    let subjects = &[MpichWithColl, MpichOnBcl, MpichOnTcp];
    Work {
        marks: BROADCAST_MARKS,
        ..collective(name, title, Series::Bcast(ranks), subjects)
    }
}

const fn barrier(
    name: &'static str,
    title: &'static str,
    ranks: Ranks,
    wire: Option<Wire>,
) -> Work {
    Work {
        name,
        title,
        unit: "us",
        kind: Kind::BarrierOf(ranks),
        wire,
        subjects: &[MpichWithColl, MpichOnBcl, MpichOnTcp],
        marks: FASTER_THAN_ITS_OWN,
    }
}

const fn rate_of_hpcc(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    (figure, times): (&'static str, f64),
) -> Work {
    hpcc(
        name,
        title,
        unit,
        Kind::Hpcc { figure, times },
        NOT_BELOW_TCP,
    )
}

const fn time_of_hpcc(name: &'static str, title: &'static str, figure: &'static str) -> Work {
    let kind = Kind::Hpcc { figure, times: 1.0 };
    hpcc(name, title, "us", kind, NOT_ABOVE_TCP)
}

const fn hpcc(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    kind: Kind,
    marks: &'static [Mark],
) -> Work {
    Work {
        name,
        title,
        unit,
        kind,
        wire: Some(WIRE),
        subjects: &[DebianOpenMpiOnBcl, DebianOpenMpiOnTcp],
        marks,
    }
}

const fn oversubscribed(name: &'static str, title: &'static str, program: &'static str) -> Work {
    Work {
        name,
        title,
        unit: "s",
        kind: Kind::Program(program),
        wire: None,
        subjects: &[MpichOnBcl, OpenMpiOnBcl, MpichOwn, OpenMpiOwn],
        marks: NEAR_SHARED_MEMORY,
    }
}
