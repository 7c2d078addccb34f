//! What is measured, of whom, and the mark each figure has to meet: section 5 of issue 2 as a table.

use crate::subject::Subject;
use Compare::{Above, AtLeast, AtMost, Below};
use Reference::{Best, OtherWork, Value};
use Subject::{Bcl, CacheLine, Mpich, OpenMpi, ProbeCacheLine, ProcessVmReadv, UcxPosix, UcxSysv};

/// One row of the table.
pub struct Work {
    /// How `--only` and `results.json` name it.
    pub name: &'static str,
    /// How a reader names it.
    pub title: &'static str,
    /// The unit of its figures.
    pub unit: &'static str,
    /// What is done.
    pub kind: Kind,
    /// Who does it, in this order in each round. BCL comes first.
    pub subjects: &'static [Subject],
    /// What BCL's figure has to meet.
    pub marks: &'static [Mark],
}

/// What a measurement does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Ping-pong of messages, both ends spinning; one way in us.
    Latency { size_bytes: usize },
    /// Messages one way, one after the other from one buffer; MB/s.
    Stream { size_bytes: usize },
    /// 8-byte messages one way as fast as they go; million messages a second.
    Rate,
    /// A word handed to and fro by an operation on the other's memory; one way in us.
    Exchange(Operation),
    /// Memory that a port takes for each of its peers; KiB.
    Memory { peers: usize },
    /// System calls in the middle of a ping-pong.
    SystemCalls,
    /// Processor time of a port that waits; percent of a core.
    Idle,
    /// Eight processes play four ping-pongs on two cores; thousand messages a second in all.
    Pairs,
    /// A barrier of four processes on two cores; us.
    Barrier,
}

/// A one-sided operation on 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Writes the other's word.
    Put,
    /// Reads the other's word.
    Get,
    /// Adds to the other's word.
    FetchAdd,
}

/// What BCL's figure has to be.
pub struct Mark {
    /// The mark in the words of the issue.
    pub text: &'static str,
    /// How the two figures compare.
    pub compare: Compare,
    /// BCL's figure is compared with the reference times this.
    pub factor: f64,
    /// The other figure.
    pub reference: Reference,
}

/// How BCL's figure stands to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compare {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// What BCL's figure is compared with.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// The best figure any of these reached in the same work.
    Best(&'static [Subject]),
    /// A fixed figure in the unit of the work.
    Value(f64),
    /// BCL's own figure in another work.
    OtherWork(&'static str),
}

impl Work {
    /// Whether a smaller figure is the better one.
    pub fn less_is_better(&self) -> bool {
        self.marks.iter().any(|mark| mark.compare.wants_less())
    }
}

impl Compare {
    /// Whether a smaller figure meets it.
    pub fn wants_less(self) -> bool {
        matches!(self, AtMost | Below)
    }

    /// Whether `ours` meets it against `limit`.
    pub fn holds(self, ours: f64, limit: f64) -> bool {
        match self {
            AtMost => ours <= limit,
            Below => ours < limit,
            AtLeast => ours >= limit,
            Above => ours > limit,
        }
    }
}

const fn mark(text: &'static str, compare: Compare, factor: f64, reference: Reference) -> Mark {
    Mark {
        text,
        compare,
        factor,
        reference,
    }
}

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

/// Every row, in the order of the issue.
pub const WORKS: &[Work] = &[
    Work {
        name: "latency-8",
        title: "8 B one way",
        unit: "us",
        kind: Kind::Latency { size_bytes: 8 },
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
        subjects: WITH_UCX_AND_MPICH,
        marks: MESSAGE_MARKS,
    },
    Work {
        name: "stream-1m",
        title: "1 MiB stream",
        unit: "MB/s",
        kind: Kind::Stream {
            size_bytes: 1 << 20,
        },
        subjects: WITH_UCX_MPICH_AND_BARE_READ,
        marks: STREAM_MARKS,
    },
    Work {
        name: "stream-4m",
        title: "4 MiB stream",
        unit: "MB/s",
        kind: Kind::Stream {
            size_bytes: 4 << 20,
        },
        subjects: WITH_UCX_MPICH_AND_BARE_READ,
        marks: STREAM_MARKS,
    },
    Work {
        name: "rate-8",
        title: "message rate, 8 B, one pair",
        unit: "M/s",
        kind: Kind::Rate,
        subjects: WITH_UCX_AND_MPICH,
        marks: &[mark("above UCX tag_bw", Above, 1.0, Best(UCX))],
    },
    Work {
        name: "put",
        title: "put on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::Put),
        subjects: &[Bcl, UcxPosix, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "get",
        title: "get on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::Get),
        subjects: &[Bcl, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "fetch-add",
        title: "fetch-and-add on a DMA buffer, one way",
        unit: "us",
        kind: Kind::Exchange(Operation::FetchAdd),
        subjects: &[Bcl, CacheLine],
        marks: EXCHANGE_MARKS,
    },
    Work {
        name: "memory-1",
        title: "memory of a peer, 1 active peer",
        unit: "KiB",
        kind: Kind::Memory { peers: 1 },
        subjects: &[Bcl],
        marks: &[MEMORY_MARK],
    },
    Work {
        name: "memory-10",
        title: "memory of a peer, 10 active peers",
        unit: "KiB",
        kind: Kind::Memory { peers: 10 },
        subjects: &[Bcl],
        marks: &[MEMORY_MARK],
    },
    Work {
        name: "memory-100",
        title: "memory of a peer, 100 active peers",
        unit: "KiB",
        kind: Kind::Memory { peers: 100 },
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
        subjects: &[Bcl],
        marks: &[mark("0", AtMost, 1.0, Value(0.0))],
    },
    Work {
        name: "idle",
        title: "idle port in bcl_wait",
        unit: "% of a core",
        kind: Kind::Idle,
        subjects: &[Bcl],
        marks: &[mark("under 1 % of a core", Below, 1.0, Value(1.0))],
    },
    Work {
        name: "pairs",
        title: "8 processes in 4 ping-pong pairs on 2 cores",
        unit: "k messages/s",
        kind: Kind::Pairs,
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
        subjects: &[Bcl, OpenMpi, Mpich],
        marks: &[mark("under 20 us", Below, 1.0, Value(20.0))],
    },
];

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static Work> {
    WORKS.iter().find(|work| work.name == name)
}

/// [`find`] for the command line.
///
/// # Errors
/// With the names there are.
pub fn parse(name: &str) -> Result<&'static Work, String> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = WORKS.iter().map(|work| work.name).collect();
        format!("no such work; there are {}", names.join(", "))
    })
}

#[test]
fn every_row_measures_bcl_first_and_has_a_mark() {
    for work in WORKS {
        assert_eq!(work.subjects[0], Bcl, "{}", work.name);
        assert!(!work.marks.is_empty(), "{}", work.name);
        for mark in work.marks {
            match mark.reference {
                Best(subjects) => assert!(
                    subjects.iter().all(|s| work.subjects.contains(s)),
                    "{}: {} compares with someone who does not take part",
                    work.name,
                    mark.text
                ),
                OtherWork(name) => assert!(find(name).is_some(), "{name}"),
                Value(_) => {}
            }
        }
    }
}

#[test]
fn comparisons_include_their_bound_as_their_name_says() {
    assert!(AtMost.holds(1.0, 1.0) && !Below.holds(1.0, 1.0));
    assert!(AtLeast.holds(1.0, 1.0) && !Above.holds(1.0, 1.0));
}
