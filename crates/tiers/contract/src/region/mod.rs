//! DMA buffers: memory of a descriptor, so that others can act on it without us: peers of the node on a memfd, the
//! interface program on a map of the agent's.

mod backing;

use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bcl_os::cancel;
use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::{AtomicU64, Ordering};
use bcl_os::{Fd, PerProcess};
use rustix::io::Errno;

pub use backing::AgentMemories;
use backing::Backing;

/// A place in a DMA buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionPlace {
    /// Which buffer; never 0, never reused in a process.
    pub region: u64,
    /// Offset of the first byte.
    pub offset: u64,
}

/// One DMA buffer. Peers that mapped it keep the memory alive, not its contents' meaning.
#[derive(Debug)]
pub struct Region {
    id: u64,
    mapping: Mapping,
    len_bytes: usize,
    /// Only processes of this user are shown it.
    is_for_own_user: bool,
    backing: Mutex<Backing>,
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
        Self::make(len_bytes, false)
    }

    /// The same, which is to be shown only to processes that may read this one's memory anyway.
    pub fn allocate_for_own_user(len_bytes: usize) -> Result<Arc<Self>, memfd::Error> {
        Self::make(len_bytes, true)
    }

    fn make(len_bytes: usize, is_for_own_user: bool) -> Result<Arc<Self>, memfd::Error> {
        let page = rustix::param::page_size();
        let mapped = len_bytes
            .max(1)
            .checked_next_multiple_of(page)
            .unwrap_or(usize::MAX);
        let (fd, mapping) = memfd::create("bcl-dma", mapped, Writers::Anybody)?;
        let backing = Backing::memfd(fd);
        Ok(Self::enter(mapping, len_bytes, is_for_own_user, backing))
    }

    fn enter(
        mapping: Mapping,
        len_bytes: usize,
        is_for_own_user: bool,
        backing: Backing,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let region = Arc::new(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            mapping,
            len_bytes,
            is_for_own_user,
            backing: Mutex::new(backing),
        });
        let mut regions = table();
        regions.insert(region.start() as usize, Arc::downgrade(&region));
        EPOCH.fetch_add(1, Ordering::Release);
        region
    }

    fn backing(&self) -> MutexGuard<'_, Backing> {
        self.backing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's number for what the buffer lies in, if that is a memory of this port's, which the interface program acts on.
    pub fn memory(&self, port: &Arc<AgentMemories>) -> Option<u32> {
        self.backing().memory(port)
    }

    /// Whether it can be [moved](Self::move_to) by who has bound it: nobody else has, and it was shown to nobody.
    pub fn can_move(&self) -> bool {
        self.backing().can_move()
    }

    /// Moves the contents to a map that the agent has made for this port and calls `memory`. The addresses stay the same.
    /// What is written to them meanwhile may be lost.
    ///
    /// # Errors
    /// `EBUSY` if it cannot be moved, or what the kernel says of the map; all is as it was then.
    pub fn move_to(&self, map: Fd, memory: u32, port: &Arc<AgentMemories>) -> Result<(), Errno> {
        let mut backing = self.backing();
        if !backing.can_move() {
            return Err(Errno::BUSY);
        }
        let copy = Mapping::new(map.as_fd(), 0, self.mapping.len_bytes(), true)?;
        let (from, to) = (self.start(), copy.start().as_ptr());
        // SAFETY: both are mapped that far, and nobody else knows of the copy.
        unsafe { bcl_os::copy(from, to, self.mapping.len_bytes()) };
        drop(copy);
        if let Err(errno) = self.mapping.replace(map.as_fd()) {
            // It was there a moment ago.
            let earlier = backing.fd().map(|fd| self.mapping.replace(fd.as_fd()));
            debug_assert_eq!(earlier, Some(Ok(())));
            return Err(errno);
        }
        backing.moved_to(map, memory, port);
        Ok(())
    }

    /// The buffer, or a part of it, is bound once more, until what this returns is dropped.
    pub fn bind(self: &Arc<Self>) -> Binding {
        self.backing().bindings += 1;
        Binding(Arc::clone(self))
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

    /// Whether it is to be shown only to processes of this user.
    pub fn is_for_own_user(&self) -> bool {
        self.is_for_own_user
    }

    /// The buffer that is called so towards peers.
    pub fn by_id(id: u64) -> Option<Arc<Self>> {
        // Collected first: to drop a last reference while the lock is held would take the lock again.
        let alive: Vec<_> = table().values().filter_map(Weak::upgrade).collect();
        alive.into_iter().find(|region| region.id == id)
    }

    /// A descriptor for peers that only read; `None` if there is none to show.
    pub fn expose_to_readers(&self) -> Option<Arc<Fd>> {
        self.backing().expose_to_readers()
    }

    /// A descriptor through which peers can write, unless the buffer was sealed for readers before.
    pub fn expose_to_writers(&self) -> Option<Arc<Fd>> {
        self.backing().expose_to_writers()
    }
}

/// A buffer is bound as long as this lives.
#[derive(Debug)]
pub struct Binding(Arc<Region>);

impl Binding {
    /// The buffer.
    pub fn region(&self) -> &Arc<Region> {
        &self.0
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.0.backing().bindings -= 1;
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // The descriptor is closed here and not with the other fields: that is a cancellation point.
        let _off = cancel::Off::new();
        self.backing().close();
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

    /// A file stands for the map.
    fn map() -> Fd {
        memfd::create("map", 12_288, Writers::Anybody).unwrap().0
    }

    #[test]
    fn a_buffer_moves_to_a_map_and_keeps_its_contents_and_addresses() {
        let region = Region::allocate(9000).unwrap();
        let port = Arc::default();
        // SAFETY: it is that long.
        let bytes = unsafe { std::slice::from_raw_parts_mut(region.start(), 9000) };
        bytes.fill(7);
        let bound = region.bind();
        let file = map();
        let written = Mapping::new(file.as_fd(), 0, 12_288, true).unwrap();
        region.move_to(file, 5, &port).unwrap();
        assert_eq!(region.memory(&port), Some(5));
        assert_eq!(region.memory(&Arc::default()), None);
        assert!(bytes.iter().all(|byte| *byte == 7));
        bytes[8999] = 8;
        // SAFETY: as above.
        assert_eq!(unsafe { written.start().add(8999).read_volatile() }, 8);
        // Nobody could be kept from writing.
        assert!(region.expose_to_readers().is_none());
        assert!(region.expose_to_writers().is_some() && region.expose_to_readers().is_some());
        drop((bound, region));
        assert_eq!([port.next_to_free(), port.next_to_free()], [Some(5), None]);
    }

    #[test]
    fn a_buffer_that_somebody_else_uses_stays_where_it_is() {
        let (one, other) = (Arc::default(), Arc::default());
        let region = Region::allocate(9000).unwrap();
        let twice = [region.bind(), region.bind()];
        assert_eq!(region.move_to(map(), 1, &one), Err(Errno::BUSY));
        drop(twice);
        region.move_to(map(), 2, &one).unwrap();
        region.move_to(map(), 3, &other).unwrap();
        assert_eq!(
            (one.next_to_free(), region.memory(&other)),
            (Some(2), Some(3))
        );
        assert!(region.expose_to_writers().is_some());
        assert_eq!(region.move_to(map(), 4, &one), Err(Errno::BUSY));
        // A port that has ended has no memories any more.
        drop(other);
        drop(region);
        let short = memfd::create("map", 4096, Writers::Anybody).unwrap().0;
        let region = Region::allocate(9000).unwrap();
        assert!(region.expose_to_readers().is_some());
        assert_eq!(region.move_to(short, 4, &one), Err(Errno::BUSY));
    }

    #[test]
    fn a_buffer_shown_to_readers_stays_read_only() {
        let region = Region::allocate(4096).unwrap();
        assert!(region.expose_to_readers().is_some());
        assert!(region.expose_to_writers().is_none());
        let other = Region::allocate(4096).unwrap();
        let fd = other.expose_to_writers().unwrap();
        assert!(memfd::adopt(fd.as_fd(), 4096, true).is_ok());
    }
}
