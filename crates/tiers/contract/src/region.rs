//! DMA buffers: memory of a descriptor, so that others can act on it without us: peers of the node on a memfd, the
//! interface program on a map of the agent's.

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bcl_os::cancel;
use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::{AtomicU64, Ordering};
use bcl_os::{Fd, PerProcess};
use rustix::io::Errno;

/// A place in a DMA buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionPlace {
    /// Which buffer; never 0, never reused in a process.
    pub region: u64,
    /// Offset of the first byte.
    pub offset: u64,
}

/// How a buffer may be mapped by others; decided by its first use ([SEM-6.4]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exposure {
    None,
    ReadOnly,
    Writable,
}

/// One DMA buffer. Peers that mapped it keep the memory alive, not its contents' meaning.
#[derive(Debug)]
pub struct Region {
    id: u64,
    mapping: Mapping,
    len_bytes: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    /// Peers of the node can be shown it.
    Memfd(Fd, Mutex<Exposure>),
    /// The interface program acts on it; this is the agent's number for it.
    Map(u32),
}

/// Buffers of this process by address, to find the buffer that a pointer lies in.
static REGIONS: PerProcess<Mutex<BTreeMap<usize, Weak<Region>>>> = PerProcess::new(Mutex::default);
/// Changes whenever `REGIONS` does.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// The buffer around an address, or the gap between buffers.
#[derive(Debug, Clone)]
pub struct Extent {
    /// Addresses for which the answer is the same.
    pub range: Range<usize>,
    /// The buffer, or `None` for a gap.
    pub region: Option<Arc<Region>>,
}

impl Region {
    /// Allocates a buffer of `len_bytes` (rounded up to pages), zeroed, its memory reserved.
    pub fn allocate(len_bytes: usize) -> Result<Arc<Self>, memfd::Error> {
        let page = rustix::param::page_size();
        let mapped = len_bytes
            .max(1)
            .checked_next_multiple_of(page)
            .unwrap_or(usize::MAX);
        let (fd, mapping) = memfd::create("bcl-dma", mapped, Writers::Anybody)?;
        let backing = Backing::Memfd(fd, Mutex::new(Exposure::None));
        Ok(Self::enter(mapping, len_bytes, backing))
    }

    /// A buffer of `len_bytes` in a map that the agent has made and calls `memory`.
    ///
    /// # Errors
    /// What the kernel says of a descriptor that cannot be mapped so far.
    pub fn of_map(map: BorrowedFd<'_>, memory: u32, len_bytes: usize) -> Result<Arc<Self>, Errno> {
        let page = rustix::param::page_size();
        let mapped = len_bytes.max(1).checked_next_multiple_of(page);
        let mapping = Mapping::new(map, 0, mapped.ok_or(Errno::NOMEM)?, true)?;
        Ok(Self::enter(mapping, len_bytes, Backing::Map(memory)))
    }

    fn enter(mapping: Mapping, len_bytes: usize, backing: Backing) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let region = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            mapping,
            len_bytes,
            backing,
        });
        let mut regions = table();
        regions.insert(region.start() as usize, Arc::downgrade(&region));
        EPOCH.fetch_add(1, Ordering::Release);
        region
    }

    /// The agent's number for it, if the interface program can act on it.
    pub fn memory(&self) -> Option<u32> {
        match self.backing {
            Backing::Map(memory) => Some(memory),
            Backing::Memfd(..) => None,
        }
    }

    /// A number that changes whenever a buffer comes or goes, before its addresses mean something else: what
    /// [`around`](Self::around) said holds for as long as this stays the same. 0 until there is a buffer.
    #[inline]
    pub fn epoch() -> u64 {
        EPOCH.load(Ordering::Acquire)
    }

    /// What lies at `address`, and how far around it the same is true.
    pub fn around(address: usize) -> Extent {
        let (before, end) = {
            let regions = table();
            let before = regions.range(..=address).next_back();
            let next = regions.range(address.saturating_add(1)..).next();
            // The lock goes first: should this turn out to be the last reference, dropping it takes the lock.
            (
                before.map(|(_, region)| region.upgrade()),
                next.map_or(usize::MAX, |(&start, _)| start),
            )
        };
        let (range, region) = match before {
            None => (0..end, None),
            // One that is on its way out: nothing is there, and of the addresses before nothing is known.
            Some(None) => (address..end, None),
            Some(Some(region)) => {
                let start = region.start() as usize;
                let past = start + region.len_bytes;
                if address < past {
                    (start..past, Some(region))
                } else {
                    (past..end, None)
                }
            }
        };
        Extent { range, region }
    }

    /// First byte.
    pub fn start(&self) -> *mut u8 {
        self.mapping.start().as_ptr()
    }

    /// Length that was asked for.
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Length of the mapping: whole pages.
    pub fn mapped_bytes(&self) -> usize {
        self.mapping.len_bytes()
    }

    /// Its name towards peers.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The buffer that starts at `address`.
    pub fn at(address: usize) -> Option<Arc<Self>> {
        table().get(&address).and_then(Weak::upgrade)
    }

    /// The buffer that holds all of `[address, address + len_bytes)`.
    pub fn containing(address: usize, len_bytes: usize) -> Option<(Arc<Self>, RegionPlace)> {
        let region = table()
            .range(..=address)
            .next_back()
            .and_then(|(_, region)| region.upgrade())?;
        let offset = address - region.start() as usize;
        let fits = offset
            .checked_add(len_bytes)
            .is_some_and(|end| end <= region.len_bytes);
        fits.then(|| {
            let place = RegionPlace {
                region: region.id,
                offset: offset as u64,
            };
            (region, place)
        })
    }

    /// The buffer that is called so towards peers.
    pub fn by_id(id: u64) -> Option<Arc<Self>> {
        // Collected first: to drop a last reference while the lock is held would take the lock again.
        let alive: Vec<_> = table().values().filter_map(Weak::upgrade).collect();
        alive.into_iter().find(|region| region.id == id)
    }

    /// A descriptor from which peers can only read; `None` if there is none to show.
    pub fn expose_to_readers(&self) -> Option<BorrowedFd<'_>> {
        let Backing::Memfd(fd, exposure) = &self.backing else {
            return None;
        };
        let mut exposure = exposure.lock().unwrap_or_else(PoisonError::into_inner);
        if *exposure == Exposure::None {
            memfd::seal_read_only(fd.as_fd()).ok()?;
            *exposure = Exposure::ReadOnly;
        }
        Some(fd.as_fd())
    }

    /// A descriptor through which peers can write, unless there is none or the buffer was sealed for readers before.
    pub fn expose_to_writers(&self) -> Option<BorrowedFd<'_>> {
        let Backing::Memfd(fd, exposure) = &self.backing else {
            return None;
        };
        let mut exposure = exposure.lock().unwrap_or_else(PoisonError::into_inner);
        if *exposure == Exposure::None {
            memfd::seal_as_it_is(fd.as_fd()).ok()?;
            *exposure = Exposure::Writable;
        }
        (*exposure == Exposure::Writable).then(|| fd.as_fd())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // The descriptor is closed here and not with the other fields: that is a cancellation point.
        let _off = cancel::Off::new();
        drop(std::mem::replace(&mut self.backing, Backing::Map(0)));
        let mut regions = table();
        regions.remove(&(self.start() as usize));
        EPOCH.fetch_add(1, Ordering::Release);
    }
}

fn table() -> std::sync::MutexGuard<'static, BTreeMap<usize, Weak<Region>>> {
    REGIONS.get().lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_found_in_its_buffer_and_nowhere_else() {
        let region = Region::allocate(10_000).unwrap();
        let start = region.start() as usize;
        let (_, place) = Region::containing(start + 100, 200).unwrap();
        assert_eq!(
            place,
            RegionPlace {
                region: region.id(),
                offset: 100
            }
        );
        assert!(Region::containing(start + 9_900, 200).is_none());
        assert!(
            Region::containing(start.wrapping_sub(1), 1)
                .is_none_or(|(other, _)| other.id() != region.id())
        );
        drop(region);
        assert!(Region::containing(start + 100, 200).is_none());
    }

    #[test]
    fn a_buffer_of_the_interface_programs_is_shown_to_nobody_else() {
        let (fd, _own) = memfd::create("map", 8192, Writers::Anybody).unwrap();
        let region = Region::of_map(fd.as_fd(), 7, 5000).unwrap();
        assert_eq!((region.memory(), region.len_bytes()), (Some(7), 5000));
        assert!(region.expose_to_readers().is_none() && region.expose_to_writers().is_none());
        let (found, _) = Region::containing(region.start() as usize + 4999, 1).unwrap();
        assert_eq!(found.id(), region.id());
        assert!(Region::of_map(fd.as_fd(), 7, usize::MAX).is_err());
        assert_eq!(Region::allocate(1).unwrap().memory(), None);
    }

    #[test]
    fn a_buffer_shown_to_readers_stays_read_only() {
        let region = Region::allocate(4096).unwrap();
        assert!(region.expose_to_readers().is_some());
        assert!(region.expose_to_writers().is_none());
        let other = Region::allocate(4096).unwrap();
        let fd = other.expose_to_writers().unwrap();
        assert!(memfd::adopt(fd, 4096, true).is_ok());
    }
}
