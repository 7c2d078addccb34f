//! Between two hosts: section 7 of issue 3 as a table, with the marks of issue 40.

use super::Compare::{Above, AtLeast, AtMost};
use super::Reference::Best;
use super::{Kind, Mark, Wire, Work, mark};
use crate::subject::Subject::{
    self, Bcl, KernelTcp, LibfabricTcp, LibfabricUdp, RawTcp, RawUdp, RawUdpUnconnected, UcxTcp,
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
const STREAM_SUBJECTS: &[Subject] = &[Bcl, UcxTcp, LibfabricTcp, KernelTcp];
const NARROW_MARKS: &[Mark] = &[
    mark("1.2x UCX tcp", AtLeast, 1.2, Best(&[UcxTcp])),
    mark("above libfabric tcp", Above, 1.0, Best(&[LibfabricTcp])),
];
const WIDE_MARKS: &[Mark] = &[
    mark("above UCX tcp", Above, 1.0, Best(&[UcxTcp])),
    mark("above libfabric tcp", Above, 1.0, Best(&[LibfabricTcp])),
];
const LOSSY_MARKS: &[Mark] = &[mark("above kernel TCP", Above, 1.0, Best(&[KernelTcp]))];

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
        ],
    },
    Work {
        name: "net-rate-8",
        title: "hosts: message rate, 8 B",
        unit: "M/s",
        kind: Kind::Rate,
        wire: Some(WIRE),
        subjects: &[Bcl, UcxTcp],
        marks: &[mark("above UCX tcp", Above, 1.0, Best(&[UcxTcp]))],
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
        subjects: STREAM_SUBJECTS,
        marks: WIDE_MARKS,
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
