//! What is measured, of whom, and the mark each figure has to meet: a table for what happens within a [`node`], one for what
//! happens over a [`network`], one for a billboard ([`board`]), and one for [`mpi`] on both.

mod board;
mod compare;
mod kind;
mod mpi;
mod network;
mod node;

pub use compare::Compare;
pub use kind::{Board, BoardFigure, Kind, Operation, Ranks, Series};

use crate::subject::Subject;

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
    /// Who does it, in this order in each round. First whoever has to meet the marks: BCL, or an MPI library on it.
    pub subjects: &'static [Subject],
    /// What the figure of the first has to meet.
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

/// What a figure of ours has to be.
pub struct Mark {
    /// The mark in the words of the issue.
    pub text: &'static str,
    /// Whose figure has to meet it, if not that of the first of the work.
    pub subject: Option<Subject>,
    /// At which size, in a work that is done at several; at each if none is said.
    pub size_bytes: Option<usize>,
    /// How the two figures compare.
    pub compare: Compare,
    /// Our figure is compared with the reference times this.
    pub factor: f64,
    /// The other figure.
    pub reference: Reference,
}

/// What our figure is compared with.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// The best figure any of these reached in the same work.
    Best(&'static [Subject]),
    /// A fixed figure in the unit of the work.
    Value(f64),
    /// Our own figure in another work.
    OtherWork(&'static str),
}

impl Mark {
    /// The same, asked of somebody else than the first of the work.
    const fn of(self, subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..self
        }
    }

    /// The same at one size.
    const fn at(self, size_bytes: usize) -> Self {
        Self {
            size_bytes: Some(size_bytes),
            ..self
        }
    }
}

impl Work {
    /// Whether a smaller figure is the better one.
    pub fn less_is_better(&self) -> bool {
        self.marks.iter().any(|mark| mark.compare.wants_less())
    }

    /// Whose figure has to meet a mark that names nobody.
    pub fn ours(&self) -> Subject {
        self.subjects[0]
    }

    /// Whose figure has to meet `mark`.
    pub fn judged_by(&self, mark: &Mark) -> Subject {
        mark.subject.unwrap_or(self.ours())
    }
}

const fn mark(text: &'static str, compare: Compare, factor: f64, reference: Reference) -> Mark {
    Mark {
        text,
        subject: None,
        size_bytes: None,
        compare,
        factor,
        reference,
    }
}

/// The rows of `make bench`, in the order of the issues.
pub fn of_bcl() -> impl Iterator<Item = &'static Work> {
    let tables = [node::WORKS, network::WORKS, board::WORKS];
    tables.into_iter().flatten()
}

/// Those of `make bench-mpi`.
pub fn of_mpi() -> impl Iterator<Item = &'static Work> {
    mpi::WORKS.iter()
}

/// Every row.
pub fn all() -> impl Iterator<Item = &'static Work> {
    of_bcl().chain(of_mpi())
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
fn no_two_rows_have_the_same_name() {
    let names: Vec<&str> = all().map(|work| work.name).collect();
    for name in &names {
        assert_eq!(
            names.iter().filter(|other| *other == name).count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn every_row_measures_us_first_and_has_a_mark() {
    for work in all() {
        assert!(work.ours().is_ours(), "{}", work.name);
        assert!(!work.marks.is_empty(), "{}", work.name);
        for mark in work.marks {
            assert!(
                mark.subject
                    .is_none_or(|subject| subject.is_ours() && work.subjects.contains(&subject)),
                "{}: {} is asked of someone else",
                work.name,
                mark.text
            );
            assert!(
                mark.size_bytes
                    .is_none_or(|size| work.kind.sizes().contains(&Some(size))),
                "{}: {} is asked for at a size that is not measured",
                work.name,
                mark.text
            );
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
