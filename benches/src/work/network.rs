//! Between two hosts: section 7 of issue 3 as a table, with the marks of issues 40 and 45.

use super::Compare::{Above, AtLeast, AtMost};
use super::Reference::Best;
use super::{Kind, Mark, Wire, Work, mark};
use crate::subject::Subject::{
    self, Bcl, BclGeneric, BclNative, KernelTcp, LibfabricTcp, LibfabricUdp, RawTcp, RawUdp,
    RawUdpUnconnected, UcxTcp,
};

/// A network that loses nothing, and nothing on the way that might.
const WIRE: Wire = Wire {
    mtu: 1500,
    loss_ppm: None,
};
const WIDE_WIRE: Wire = Wire { mtu: 9000, ..WIRE };

/// As `ucx_perftest` is told to, too.
const STREAM: Kind = Kind::Stream {
    size_bytes: 1 << 20,
    in_flight: 4,
};
const STREAM_SUBJECTS: &[Subject] = &[Bcl, BclNative, BclGeneric, UcxTcp, LibfabricTcp, KernelTcp];
/// A veth takes no program in its driver at such an MTU.
const WIDE_STREAM_SUBJECTS: &[Subject] = &[Bcl, BclGeneric, UcxTcp, LibfabricTcp, KernelTcp];
const NARROW_MARKS: &[Mark] = &[
    mark("1.2x UCX tcp", AtLeast, 1.2, Best(&[UcxTcp])),
    mark("above libfabric tcp", Above, 1.0, Best(&[LibfabricTcp])),
    NATIVE_AS_FAST,
    GENERIC_AS_FAST,
];
const WIDE_MARKS: &[Mark] = &[
    mark("above UCX tcp", Above, 1.0, Best(&[UcxTcp])),
    mark("above libfabric tcp", Above, 1.0, Best(&[LibfabricTcp])),
    GENERIC_AS_FAST,
];
const LOSSY_MARKS: &[Mark] = &[mark("above kernel TCP", Above, 1.0, Best(&[KernelTcp]))];

/// A host that gets an agent has nothing slower than without.
const NATIVE_AS_FAST: Mark = mark("native as udp", AtLeast, 0.95, Best(&[Bcl])).of(BclNative);
const GENERIC_AS_FAST: Mark = mark("generic as udp", AtLeast, 0.95, Best(&[Bcl])).of(BclGeneric);
const NATIVE_AS_QUICK: Mark = mark("native as udp", AtMost, 1.05, Best(&[Bcl])).of(BclNative);
const GENERIC_AS_QUICK: Mark = mark("generic as udp", AtMost, 1.05, Best(&[Bcl])).of(BclGeneric);

/// Four pairs on two cores.
const CROWD_SUBJECTS: &[Subject] = &[Bcl, BclNative, BclGeneric, UcxTcp];
const CROWD_MARKS: &[Mark] = &[
    mark("above UCX tcp", Above, 1.0, Best(&[UcxTcp])),
    NATIVE_AS_FAST,
    GENERIC_AS_FAST,
];

/// Messages of several packets.
const LONGER_SUBJECTS: &[Subject] = &[Bcl, BclNative, BclGeneric, UcxTcp];
const LONGER_MARKS: &[Mark] = &[
    mark("as UCX tcp", AtMost, 1.0, Best(&[UcxTcp])),
    NATIVE_AS_QUICK,
    GENERIC_AS_QUICK,
];

/// The rows.
pub const WORKS: &[Work] = &[
    Work {
        name: "net-latency-8",
        title: "hosts: 8 B one way",
        unit: "us",
        kind: Kind::Latency { size_bytes: 8 },
        wire: Some(WIRE),
        subjects: &[
            Bcl,
            BclNative,
            BclGeneric,
            UcxTcp,
            LibfabricTcp,
            LibfabricUdp,
            RawUdp,
            RawUdpUnconnected,
            RawTcp,
        ],
        marks: &[
            mark("1.25x a raw UDP spin", AtMost, 1.25, Best(&[RawUdp])),
            mark("0.8x UCX tcp", AtMost, 0.8, Best(&[UcxTcp])),
            mark("0.5x libfabric tcp", AtMost, 0.5, Best(&[LibfabricTcp])),
            mark(
                "0.35x libfabric udp;ofi_rxd",
                AtMost,
                0.35,
                Best(&[LibfabricUdp]),
            ),
            mark("native 0.55x UCX tcp", AtMost, 0.55, Best(&[UcxTcp])).of(BclNative),
            mark("generic 0.7x UCX tcp", AtMost, 0.7, Best(&[UcxTcp])).of(BclGeneric),
            NATIVE_AS_QUICK,
            GENERIC_AS_QUICK,
        ],
    },
    Work {
        name: "net-latency-3000",
        title: "hosts: 3,000 B one way",
        unit: "us",
        kind: Kind::Latency { size_bytes: 3_000 },
        wire: Some(WIRE),
        subjects: LONGER_SUBJECTS,
        marks: LONGER_MARKS,
    },
    Work {
        name: "net-latency-8k",
        title: "hosts: 8 KiB one way",
        unit: "us",
        kind: Kind::Latency { size_bytes: 8_192 },
        wire: Some(WIRE),
        subjects: LONGER_SUBJECTS,
        marks: LONGER_MARKS,
    },
    Work {
        name: "net-rate-8",
        title: "hosts: message rate, 8 B",
        unit: "M/s",
        kind: Kind::Rate,
        wire: Some(WIRE),
        subjects: &[Bcl, BclNative, BclGeneric, UcxTcp],
        marks: &[
            mark("above UCX tcp", Above, 1.0, Best(&[UcxTcp])),
            mark("native 3x UCX tcp", AtLeast, 3.0, Best(&[UcxTcp])).of(BclNative),
            mark("generic 3x UCX tcp", AtLeast, 3.0, Best(&[UcxTcp])).of(BclGeneric),
            NATIVE_AS_FAST,
            GENERIC_AS_FAST,
        ],
    },
    Work {
        name: "net-stream-1500",
        title: "hosts: 1 MiB stream, MTU 1500",
        unit: "MB/s",
        kind: STREAM,
        wire: Some(WIRE),
        subjects: STREAM_SUBJECTS,
        marks: NARROW_MARKS,
    },
    Work {
        name: "net-stream-9000",
        title: "hosts: 1 MiB stream, MTU 9000",
        unit: "MB/s",
        kind: STREAM,
        wire: Some(WIDE_WIRE),
        subjects: WIDE_STREAM_SUBJECTS,
        marks: WIDE_MARKS,
    },
    Work {
        name: "net-pairs",
        title: "hosts: 8 processes in 4 ping-pong pairs on 2 cores",
        unit: "k messages/s",
        kind: Kind::Pairs,
        wire: Some(WIRE),
        subjects: CROWD_SUBJECTS,
        marks: CROWD_MARKS,
    },
    Work {
        name: "net-streams-64k",
        title: "hosts: 4 streams of 64 KiB, 2 cores",
        unit: "MB/s",
        kind: Kind::Streams {
            size_bytes: 64 << 10,
            in_flight: 4,
        },
        wire: Some(WIRE),
        subjects: CROWD_SUBJECTS,
        marks: CROWD_MARKS,
    },
    Work {
        name: "net-streams-1m",
        title: "hosts: 4 streams of 1 MiB, 2 cores",
        unit: "MB/s",
        kind: Kind::Streams {
            size_bytes: 1 << 20,
            in_flight: 4,
        },
        wire: Some(WIRE),
        subjects: CROWD_SUBJECTS,
        marks: CROWD_MARKS,
    },
    lossy(
        "net-loss-0.1-1500",
        "hosts: stream, 0.1 % loss, MTU 1500",
        WIRE,
        1_000,
    ),
    lossy(
        "net-loss-0.1-9000",
        "hosts: stream, 0.1 % loss, MTU 9000",
        WIDE_WIRE,
        1_000,
    ),
    lossy(
        "net-loss-1-1500",
        "hosts: stream, 1 % loss, MTU 1500",
        WIRE,
        10_000,
    ),
    lossy(
        "net-loss-1-9000",
        "hosts: stream, 1 % loss, MTU 9000",
        WIDE_WIRE,
        10_000,
    ),
];

const fn lossy(name: &'static str, title: &'static str, wire: Wire, loss_ppm: u32) -> Work {
    Work {
        name,
        title,
        unit: "MB/s",
        kind: STREAM,
        wire: Some(Wire {
            loss_ppm: Some(loss_ppm),
            ..wire
        }),
        subjects: &[Bcl, KernelTcp],
        marks: LOSSY_MARKS,
    }
}
