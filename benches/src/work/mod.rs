//! What is measured, of whom, and the mark each figure has to meet: a table for what happens within a [`node`] and one
//! for what happens over a [`network`].

mod network;
mod node;

use crate::subject::Subject;
use Compare::{Above, AtLeast, AtMost, Below};

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
    /// What lies between the processes, if they are on two hosts.
    pub wire: Option<Wire>,
    /// Who does it, in this order in each round. BCL comes first.
    pub subjects: &'static [Subject],
    /// What BCL's figure has to meet.
    pub marks: &'static [Mark],
}

/// A network of two hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// The longest packet.
    pub mtu: u32,
    /// Packets of a million that are lost, if anything is there to lose them.
    pub loss_ppm: Option<u32>,
}

/// What a measurement does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Ping-pong of messages, both ends spinning; one way in us.
    Latency { size_bytes: usize },
    /// Messages one way, each in flight from a buffer of its own; MB/s.
    Stream { size_bytes: usize, in_flight: usize },
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

/// Every row, in the order of the issues.
pub fn all() -> impl Iterator<Item = &'static Work> {
    node::WORKS.iter().chain(network::WORKS)
}

/// The row called `name`.
pub fn find(name: &str) -> Option<&'static Work> {
    all().find(|work| work.name == name)
}

/// [`find`] for the command line.
///
/// # Errors
/// With the names there are.
pub fn parse(name: &str) -> Result<&'static Work, String> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = all().map(|work| work.name).collect();
        format!("no such work; there are {}", names.join(", "))
    })
}

#[test]
fn every_row_measures_bcl_first_and_has_a_mark() {
    for work in all() {
        assert_eq!(work.subjects[0], Subject::Bcl, "{}", work.name);
        assert!(!work.marks.is_empty(), "{}", work.name);
        for mark in work.marks {
            match mark.reference {
                Reference::Best(subjects) => assert!(
                    subjects.iter().all(|s| work.subjects.contains(s)),
                    "{}: {} compares with someone who does not take part",
                    work.name,
                    mark.text
                ),
                Reference::OtherWork(name) => assert!(find(name).is_some(), "{name}"),
                Reference::Value(_) => {}
            }
        }
    }
}

#[test]
fn comparisons_include_their_bound_as_their_name_says() {
    assert!(AtMost.holds(1.0, 1.0) && !Below.holds(1.0, 1.0));
    assert!(AtLeast.holds(1.0, 1.0) && !Above.holds(1.0, 1.0));
}
