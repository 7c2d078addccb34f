//! What happens when, in virtual time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things to come, by time; those of one time in the order in which they were added.
#[derive(Debug)]
pub struct Schedule<E> {
    entries: BinaryHeap<Entry<E>>,
    added: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at_ns: u64,
    number: u64,
    event: E,
}

impl<E> Schedule<E> {
    /// Nothing to come.
    pub fn new() -> Self {
        Self {
            entries: BinaryHeap::new(),
            added: 0,
        }
    }

    /// Adds `event` at `at_ns`.
    pub fn add(&mut self, at_ns: u64, event: E) {
        self.entries.push(Entry {
            at_ns,
            number: self.added,
            event,
        });
        self.added += 1;
    }

    /// When the next thing happens.
    pub fn next_ns(&self) -> Option<u64> {
        self.entries.peek().map(|entry| entry.at_ns)
    }

    /// Takes the next thing out, with its time.
    pub fn take(&mut self) -> Option<(u64, E)> {
        self.entries.pop().map(|entry| (entry.at_ns, entry.event))
    }

    /// How many things are to come.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl<E> Default for Schedule<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Ord for Entry<E> {
    /// The heap yields its greatest, so the earliest is the greatest here.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[test]
fn by_time_then_by_addition() {
    let mut schedule = Schedule::new();
    for (at_ns, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
        schedule.add(at_ns, event);
    }
    assert_eq!((schedule.next_ns(), schedule.len()), (Some(1), 4));
    let order: String = std::iter::from_fn(|| schedule.take())
        .map(|(_, event)| event)
        .collect();
    assert_eq!(order, "abcd");
    assert!(schedule.is_empty());
}
