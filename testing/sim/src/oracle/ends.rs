//! Operations: each ends with exactly one event, and none too late.

use std::collections::BTreeMap;

use super::Violation;

/// How an operation ended, as far as the oracle cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was not, or perhaps not, and the program was told.
    Failed,
}

/// The operations of one process, each with what the world wants to know when it ends.
#[derive(Debug)]
pub struct Ends<T> {
    pending: BTreeMap<u64, (u64, T)>,
    begun: u64,
    failed: u64,
}

impl<T> Ends<T> {
    /// None yet.
    pub fn new() -> Self {
        Self {
            pending: BTreeMap::new(),
            begun: 0,
            failed: 0,
        }
    }

    /// The number of the next operation.
    pub fn next(&self) -> u64 {
        self.begun
    }

    /// An operation was accepted at `now_ns`.
    pub fn begin(&mut self, now_ns: u64, what: T) -> u64 {
        let op = self.begun;
        self.begun += 1;
        self.pending.insert(op, (now_ns, what));
        op
    }

    /// An operation that is under way.
    pub fn pending(&self, op: u64) -> Option<&T> {
        self.pending.get(&op).map(|(_, what)| what)
    }

    /// The event of `op` came.
    pub fn end(&mut self, op: u64, outcome: Outcome) -> Result<T, Violation> {
        let Some((_, what)) = self.pending.remove(&op) else {
            return Err(format!("operation {op} ended twice, or never began"));
        };
        self.failed += u64::from(outcome == Outcome::Failed);
        Ok(what)
    }

    /// The oldest operation for which `concerns` holds: its number and when it began.
    pub fn oldest(&self, concerns: impl Fn(&T) -> bool) -> Option<(u64, u64)> {
        let mut pending = self.pending.iter();
        let (op, (began_ns, _)) = pending.find(|(_, (_, what))| concerns(what))?;
        Some((*op, *began_ns))
    }

    /// All that is under way, by number.
    pub fn all(&self) -> impl Iterator<Item = (u64, &T)> {
        self.pending.iter().map(|(op, (_, what))| (*op, what))
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether none is under way.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// How many have begun, and how many of them failed.
    pub fn totals(&self) -> (u64, u64) {
        (self.begun, self.failed)
    }
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[test]
fn an_operation_ends_once() {
    let mut ends = Ends::new();
    let first = ends.begin(5, 'a');
    let second = ends.begin(6, 'b');
    assert_eq!(ends.oldest(|what| *what == 'b'), Some((second, 6)));
    assert_eq!(ends.end(first, Outcome::Done), Ok('a'));
    assert!(ends.end(first, Outcome::Done).is_err());
    assert_eq!(ends.end(second, Outcome::Failed), Ok('b'));
    assert!(ends.is_empty());
    assert_eq!(ends.totals(), (2, 1));
}
