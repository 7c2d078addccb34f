//! The registration cache: which DMA buffer a pointer lies in, without a lock or a search ([SEM-6.1]).
//!
//! It remembers whole extents, a buffer or a gap between buffers, so that all of a program's ordinary memory is a
//! few entries. Nothing is remembered about ordinary memory itself: it may be unmapped, and something else mapped
//! in its place, and the answer "not in a DMA buffer" stays right. When a buffer comes or goes the epoch changes,
//! and all entries with it; so an answer is never older than the buffers.

use std::ops::Range;
use std::sync::{Arc, Weak};

use bcl_tier::{Region, RegionPlace};

/// Extents remembered; the least recently used goes first.
const ENTRIES_MAX: usize = 16;

/// Memory in a DMA buffer, and what keeps it there.
pub type Memory = (Arc<Region>, RegionPlace);

/// How often the cache knew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Answers from memory.
    pub hits: u64,
    /// Answers that had to be looked up.
    pub misses: u64,
    /// Entries that made room for others.
    pub evictions: u64,
    /// Times that everything was forgotten, because a buffer had come or gone.
    pub flushes: u64,
}

#[derive(Debug)]
struct Entry {
    range: Range<usize>,
    region: Option<Weak<Region>>,
}

/// Remembers which DMA buffer, or none, addresses lie in. For one thread at a time: it lies with the port.
#[derive(Debug, Default)]
pub struct RegionCache {
    epoch: u64,
    /// Least recently used first.
    entries: Vec<Entry>,
    counts: CacheCounts,
}

impl RegionCache {
    /// The DMA buffer that holds all of `[address, address + len_bytes)`, if one does.
    #[inline]
    pub fn find(&mut self, address: usize, len_bytes: usize) -> Option<Memory> {
        let epoch = Region::epoch();
        if epoch == 0 {
            return None;
        }
        if epoch != self.epoch {
            self.forget(epoch);
        }
        let end = address.checked_add(len_bytes)?;
        let known = |entry: &Entry| entry.range.contains(&address);
        let entry = match self.entries.iter().rposition(known) {
            Some(index) => self.used(index),
            None => self.look_up(address),
        };
        let region = entry.region.as_ref()?.upgrade()?;
        (end <= entry.range.end).then(|| {
            let place = RegionPlace {
                region: region.id(),
                offset: (address - entry.range.start) as u64,
            };
            (region, place)
        })
    }

    /// How often the cache knew, so far.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    #[inline]
    fn used(&mut self, index: usize) -> &Entry {
        self.counts.hits += 1;
        self.entries[index..].rotate_left(1);
        &self.entries[self.entries.len() - 1]
    }

    #[cold]
    fn look_up(&mut self, address: usize) -> &Entry {
        self.counts.misses += 1;
        if self.entries.len() == ENTRIES_MAX {
            self.counts.evictions += 1;
            self.entries.remove(0);
        }
        let extent = Region::around(address);
        self.entries.push(Entry {
            range: extent.range,
            region: extent.region.as_ref().map(Arc::downgrade),
        });
        &self.entries[self.entries.len() - 1]
    }

    #[cold]
    fn forget(&mut self, epoch: u64) {
        self.counts.flushes += 1;
        self.entries.clear();
        self.epoch = epoch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Buffers come and go by the epoch of the whole process, so the tests here take turns.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn agree(cache: &mut RegionCache, address: usize, len_bytes: usize) {
        let plain = Region::containing(address, len_bytes);
        let cached = cache.find(address, len_bytes);
        assert_eq!(
            cached.map(|(region, place)| (region.id(), place)),
            plain.map(|(region, place)| (region.id(), place)),
            "{len_bytes} bytes at {address:#x}"
        );
    }

    #[derive(Debug, Clone)]
    enum Step {
        Allocate(usize),
        Free(usize),
        Find {
            near: usize,
            offset: isize,
            len_bytes: usize,
        },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            1 => (1usize..20_000).prop_map(Step::Allocate),
            1 => any::<usize>().prop_map(Step::Free),
            8 => (any::<usize>(), -9000isize..30_000, 1usize..20_000)
                .prop_map(|(near, offset, len_bytes)| Step::Find { near, offset, len_bytes }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_cache_agrees_with_the_plain_look_up(steps in prop::collection::vec(step(), 1..200)) {
            let _turn = TURN.lock();
            let mut cache = RegionCache::default();
            let mut regions = vec![Region::allocate(5000).unwrap()];
            // Addresses outlive their buffers: asking for them again is the point.
            let mut places = vec![regions[0].start() as usize];
            for step in steps {
                match step {
                    Step::Allocate(len_bytes) => {
                        let region = Region::allocate(len_bytes).unwrap();
                        places.push(region.start() as usize);
                        regions.push(region);
                    }
                    Step::Free(which) if !regions.is_empty() => {
                        regions.swap_remove(which % regions.len());
                    }
                    Step::Free(_) => {}
                    Step::Find { near, offset, len_bytes } => {
                        let address = places[near % places.len()].saturating_add_signed(offset);
                        agree(&mut cache, address, len_bytes);
                        agree(&mut cache, address, len_bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn it_remembers_a_bounded_number_and_evicts_the_least_recently_used() {
        let _turn = TURN.lock();
        let regions: Vec<_> = (0..=ENTRIES_MAX)
            .map(|_| Region::allocate(4096).unwrap())
            .collect();
        let mut cache = RegionCache::default();
        let start = |index: usize| regions[index].start() as usize;
        for index in 0..ENTRIES_MAX {
            assert!(cache.find(start(index), 10).is_some());
        }
        assert!(cache.find(start(0), 10).is_some(), "used again");
        assert!(cache.find(start(ENTRIES_MAX), 10).is_some(), "evicts 1");
        assert!(cache.find(start(0), 10).is_some(), "still known");
        let before = cache.counts();
        assert!(cache.find(start(1), 10).is_some(), "looked up again");
        let counts = cache.counts();
        assert_eq!(counts.misses, before.misses + 1);
        assert_eq!((counts.hits, counts.evictions, counts.flushes), (2, 2, 1));
        assert_eq!(cache.entries.len(), ENTRIES_MAX);
    }

    #[test]
    fn ordinary_memory_is_one_entry() {
        let _turn = TURN.lock();
        let _region = Region::allocate(4096).unwrap();
        let memory = vec![0u8; 1 << 20];
        let mut cache = RegionCache::default();
        for offset in (0..memory.len()).step_by(4096) {
            assert!(
                cache
                    .find(memory.as_ptr() as usize + offset, 4096)
                    .is_none()
            );
        }
        assert_eq!(cache.counts().misses, 1);
    }

    #[test]
    fn a_buffer_that_is_gone_is_forgotten_at_once() {
        let _turn = TURN.lock();
        let region = Region::allocate(1 << 20).unwrap();
        let start = region.start() as usize;
        let mut cache = RegionCache::default();
        assert!(cache.find(start, 100).is_some());
        drop(region);
        assert!(cache.find(start, 100).is_none());
    }
}
