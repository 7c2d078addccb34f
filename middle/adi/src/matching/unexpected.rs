//! Messages that no receive has met.

use bcl_raw::slab::{Id, Slab};

use super::index::Index;
use super::pattern::{Pattern, PeerNumber, Shape};

/// What waits for receives, in the order in which it came. A receive meets the oldest that it takes ([ADI-3.2]).
///
/// Few are gone through one after the other. Where there are more, the first receive of a shape makes an index of that shape,
/// which is kept up until nothing waits any more.
#[derive(Debug)]
pub struct Unexpected<T> {
    entries: Slab<Entry<T>>,
    /// The first is that of everything: all that waits, in its order.
    indexes: Vec<Index>,
    count: u64,
}

#[derive(Debug)]
struct Entry<T> {
    source: PeerNumber,
    tag: u64,
    order: u64,
    value: T,
}

/// As many are gone through before an index is made.
const SCANNED_MAX: usize = 16;
/// Shapes that have an index; the oldest index makes room for a new one.
const INDEXES_MAX: usize = 8;

impl<T> Default for Unexpected<T> {
    fn default() -> Self {
        Self {
            entries: Slab::default(),
            indexes: vec![Index::new(Shape::EVERYTHING)],
            count: 0,
        }
    }
}

impl<T> Unexpected<T> {
    pub fn add(&mut self, source: PeerNumber, tag: u64, value: T) -> Id {
        self.count += 1;
        let order = self.count;
        let entry = self.entries.insert(Entry {
            source,
            tag,
            order,
            value,
        });
        for index in &mut self.indexes {
            index.push(index.shape().key(source, tag), entry, order);
        }
        entry
    }

    /// The oldest that the pattern takes. It stays.
    #[inline]
    pub fn first(&mut self, pattern: &Pattern) -> Option<Id> {
        if self.entries.len() > SCANNED_MAX {
            return self.look_up(pattern);
        }
        if self.entries.is_empty() {
            return None;
        }
        let fits = |id: &Id| {
            let entry = self.entries.get(*id);
            entry.is_some_and(|entry| pattern.fits(entry.source, entry.tag))
        };
        let everything = Shape::EVERYTHING.key(0, 0);
        self.indexes[0].chain(everything).find(fits)
    }

    fn look_up(&mut self, pattern: &Pattern) -> Option<Id> {
        let shape = pattern.shape();
        let known = self.indexes.iter().position(|index| index.shape() == shape);
        let place = known.unwrap_or_else(|| {
            if self.indexes.len() == INDEXES_MAX {
                self.indexes.remove(1);
            }
            let index = self.indexed(shape);
            self.indexes.push(index);
            self.indexes.len() - 1
        });
        let entries = &self.entries;
        let is_there = |id| entries.get(id).is_some();
        let found = self.indexes[place].first(shape.key_of(pattern), is_there);
        found.map(|(id, _)| id)
    }

    /// All that waits, by another shape.
    fn indexed(&self, shape: Shape) -> Index {
        let mut index = Index::new(shape);
        for id in self.indexes[0].chain(Shape::EVERYTHING.key(0, 0)) {
            if let Some(entry) = self.entries.get(id) {
                index.push(shape.key(entry.source, entry.tag), id, entry.order);
            }
        }
        index
    }

    #[inline]
    pub fn get(&self, id: Id) -> Option<(PeerNumber, u64, &T)> {
        let entry = self.entries.get(id)?;
        Some((entry.source, entry.tag, &entry.value))
    }

    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.entries.get_mut(id).map(|entry| &mut entry.value)
    }

    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<(PeerNumber, u64, T)> {
        let Entry {
            source, tag, value, ..
        } = self.entries.remove(id)?;
        if self.entries.is_empty() {
            self.indexes.truncate(1);
        }
        let entries = &self.entries;
        for index in &mut self.indexes {
            let key = index.shape().key(source, tag);
            index.removed(key, id, |id| entries.get(id).is_some());
        }
        Some((source, tag, value))
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// All that waits, in no order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| &entry.value)
    }

    /// Those that `wanted` picks, in no order.
    pub fn find(&self, wanted: impl Fn(PeerNumber, &T) -> bool) -> impl Iterator<Item = Id> {
        let entries = self.entries.iter();
        entries.filter_map(move |(id, entry)| wanted(entry.source, &entry.value).then_some(id))
    }
}
