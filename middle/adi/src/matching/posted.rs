//! Receives that no message has met.

use bcl_raw::slab::{Id, Slab};

use super::index::Index;
use super::pattern::{Pattern, PeerNumber};

/// What waits for messages, in the order in which it was posted. A message meets the oldest that takes it ([ADI-3.2]).
///
/// The eldest are gone through one after the other, for where there are few that is quickest. Each of the others is in the index
/// of its shape. A message is looked up once in each index: as many times as there are shapes, however many receives there are.
#[derive(Debug)]
pub struct Posted<T> {
    entries: Slab<(Pattern, T)>,
    /// In their order. Joined only by one that no other is older than.
    eldest: Vec<(Id, Pattern)>,
    indexes: Vec<Index>,
    count: u64,
}

/// As many are gone through.
const ELDEST_MAX: usize = 8;
/// Indexes that are kept although nothing is in them.
const IDLE_INDEXES: usize = 8;

impl<T> Default for Posted<T> {
    fn default() -> Self {
        Self {
            entries: Slab::default(),
            eldest: Vec::with_capacity(ELDEST_MAX),
            indexes: Vec::new(),
            count: 0,
        }
    }
}

impl<T> Posted<T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn add(&mut self, pattern: Pattern, value: T) -> Id {
        let is_indexed = self.has_indexed() || self.eldest.len() == ELDEST_MAX;
        let entry = self.entries.insert((pattern, value));
        if !is_indexed {
            self.eldest.push((entry, pattern));
            return entry;
        }
        self.count += 1;
        let order = self.count;
        let index = self.index_for(&pattern);
        index.push(index.shape().key_of(&pattern), entry, order);
        entry
    }

    /// The oldest that takes a message from there with this tag. It stays.
    #[inline]
    pub fn first(&mut self, source: PeerNumber, tag: u64) -> Option<Id> {
        let mut eldest = self.eldest.iter();
        match eldest.find(|(_, pattern)| pattern.fits(source, tag)) {
            Some((entry, _)) => Some(*entry),
            None if self.has_indexed() => self.look_up(source, tag),
            None => None,
        }
    }

    #[inline]
    fn has_indexed(&self) -> bool {
        self.entries.len() > self.eldest.len()
    }

    #[inline]
    fn look_up(&mut self, source: PeerNumber, tag: u64) -> Option<Id> {
        let mut oldest: Option<(Id, u64)> = None;
        for index in &mut self.indexes {
            if index.is_empty() {
                continue;
            }
            let key = index.shape().key(source, tag);
            let found = index.first(key, |id| self.entries.get(id).is_some());
            if let Some((entry, order)) = found {
                if oldest.is_none_or(|(_, before)| order < before) {
                    oldest = Some((entry, order));
                }
            }
        }
        oldest.map(|(entry, _)| entry)
    }

    #[inline]
    pub fn get(&self, id: Id) -> Option<&T> {
        self.entries.get(id).map(|(_, value)| value)
    }

    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<(Pattern, T)> {
        let (pattern, value) = self.entries.remove(id)?;
        if let Some(place) = self.eldest.iter().position(|(entry, _)| *entry == id) {
            self.eldest.remove(place);
            return Some((pattern, value));
        }
        let shape = pattern.shape();
        let mut indexes = self.indexes.iter_mut();
        let index = indexes.find(|index| index.shape() == shape)?;
        let entries = &self.entries;
        index.removed(shape.key_of(&pattern), id, |id| entries.get(id).is_some());
        Some((pattern, value))
    }

    /// Of those that want messages from one peer alone, that peer.
    pub fn sources(&self) -> impl Iterator<Item = PeerNumber> {
        let entries = self.entries.iter();
        entries.filter_map(|(_, (pattern, _))| pattern.source)
    }

    /// Those that `wanted` picks, in no order.
    pub fn find(&self, wanted: impl Fn(&Pattern, &T) -> bool) -> impl Iterator<Item = Id> {
        let entries = self.entries.iter();
        entries.filter_map(move |(id, (pattern, value))| wanted(pattern, value).then_some(id))
    }

    #[inline]
    fn index_for(&mut self, pattern: &Pattern) -> &mut Index {
        let shape = pattern.shape();
        let known = self.indexes.iter().position(|index| index.shape() == shape);
        let place = known.unwrap_or_else(|| {
            if self.indexes.len() >= IDLE_INDEXES {
                self.indexes.retain(|index| !index.is_empty());
            }
            self.indexes.push(Index::new(shape));
            self.indexes.len() - 1
        });
        &mut self.indexes[place]
    }
}
