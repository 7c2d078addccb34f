//! Memory that an endpoint has exposed to its peers, by key ([ADI-8.1]).

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bcl_types::{Access, Refusal};

use crate::matching::Seeded;

/// A piece of the program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where it begins. With a length of all, 0 is where all memory does.
    pub start: usize,
    /// Bytes.
    pub len_bytes: usize,
    /// What peers call its first byte: 0, or where it is, or whatever they have been told.
    pub first_address: u64,
    /// What they may do: [`Access::GET`], [`Access::PUT`], or both. Atomic operations read, write, or both.
    pub access: Access,
}

/// The regions of one endpoint or of several. Threads may share it.
#[derive(Debug, Default)]
pub struct Regions {
    by_key: RwLock<HashMap<u64, Arc<Region>, Seeded>>,
}

/// A region that peers do not find any more. Some of what was begun before may still be going on.
#[derive(Debug)]
#[must_use = "until it is over, peers read and write the memory"]
pub struct Hidden(Arc<Region>);

/// Bytes of a region, which are not gone before this is.
#[derive(Debug)]
pub struct Place {
    pub start: *mut u8,
    _region: Arc<Region>,
}

// SAFETY: it is an address, and whoever follows it vouches for that.
unsafe impl Send for Place {}

impl Regions {
    /// Exposes memory under a key of the program's choice. False: the key has a region already.
    ///
    /// # Safety
    /// Until it was [hidden](Self::hide) and that is [over](Hidden::is_over), peers read and write the memory, as far as is
    /// permitted to them: it stays there, and nobody counts on what it holds but by agreement with them.
    #[must_use]
    pub unsafe fn expose(&self, key: u64, region: Region) -> bool {
        let mut by_key = self.write();
        if by_key.contains_key(&key) {
            return false;
        }
        by_key.insert(key, Arc::new(region));
        true
    }

    /// Peers do not find it any more.
    pub fn hide(&self, key: u64) -> Option<Hidden> {
        self.write().remove(&key).map(Hidden)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory that a peer names, if it may have that.
    pub(crate) fn find(
        &self,
        key: u64,
        address: u64,
        len_bytes: u64,
        need: Access,
    ) -> Result<Place, Refusal> {
        let region = Arc::clone(self.read().get(&key).ok_or(Refusal::NoWindow)?);
        let offset = address
            .checked_sub(region.first_address)
            .ok_or(Refusal::Range)?;
        region
            .access
            .check(region.len_bytes as u64, offset, len_bytes, need)?;
        // Inside of the region, which may be said to be longer than memory is.
        let start = region.start.checked_add(offset as usize);
        let fits = |start: &usize| start.checked_add(len_bytes as usize).is_some();
        let start = start.filter(fits).ok_or(Refusal::Range)?;
        Ok(Place {
            start: start as *mut u8,
            _region: region,
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Arc<Region>, Seeded>> {
        self.by_key.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, Arc<Region>, Seeded>> {
        self.by_key.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hidden {
    /// Nobody reads or writes it any more. What goes on ends as its endpoint makes progress, or its peer does.
    pub fn is_over(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn region(start: usize, len_bytes: usize, first_address: u64) -> Region {
        Region {
            start,
            len_bytes,
            first_address,
            access: Access::GET,
        }
    }

    /// Exposes it under a key, without anybody ever following an address of it.
    fn expose(regions: &Regions, key: u64, region: Region) -> bool {
        // SAFETY: nobody does.
        unsafe { regions.expose(key, region) }
    }

    fn found(regions: &Regions, address: u64, len_bytes: u64) -> Result<usize, Refusal> {
        let place = regions.find(1, address, len_bytes, Access::GET);
        place.map(|place| place.start as usize)
    }

    /// ADI-8.1
    #[test]
    fn only_what_was_permitted_is_found_until_it_is_hidden() {
        let regions = Regions::default();
        assert!(expose(&regions, 1, region(0x1000, 16, 0)));
        assert!(
            !expose(&regions, 1, region(0x2000, 16, 0)),
            "a key is of one"
        );
        let find = |key, need| regions.find(key, 0, 16, need).map(drop);
        assert_eq!(find(1, Access::GET), Ok(()));
        assert_eq!(find(1, Access::PUT), Err(Refusal::Denied));
        assert_eq!(find(1, Access::GET | Access::PUT), Err(Refusal::Denied));
        assert_eq!(find(2, Access::GET), Err(Refusal::NoWindow));

        let place = regions.find(1, 8, 8, Access::GET).unwrap();
        assert_eq!((place.start as usize, regions.len()), (0x1008, 1));
        let hidden = regions.hide(1).unwrap();
        assert!(regions.hide(1).is_none() && regions.is_empty());
        assert_eq!(find(1, Access::GET), Err(Refusal::NoWindow));
        assert!(!hidden.is_over());
        drop(place);
        assert!(hidden.is_over());
    }

    #[test]
    fn all_of_memory_can_be_a_region() {
        let regions = Regions::default();
        assert!(expose(&regions, 1, region(0, usize::MAX, 0)));
        assert_eq!(
            found(&regions, 0x7000_0000_0000, 4096),
            Ok(0x7000_0000_0000)
        );
        assert!(found(&regions, u64::MAX, 1).is_err());
    }

    proptest! {
        /// Whatever a peer names, nothing outside of the region is found, and all inside is.
        #[test]
        fn nothing_outside_is_found(
            start in 0usize..64,
            len in 0usize..64,
            first in prop_oneof![Just(0u64), 0u64..64, any::<u64>()],
            address in prop_oneof![0u64..160, any::<u64>()],
            wanted in prop_oneof![0u64..80, any::<u64>()],
        ) {
            let regions = Regions::default();
            prop_assert!(expose(&regions, 1, region(start, len, first)));
            let end = u128::from(address) + u128::from(wanted);
            let inside = address >= first && end <= u128::from(first) + len as u128;
            let expected = match inside {
                true => Ok(start + (address - first) as usize),
                false => Err(Refusal::Range),
            };
            prop_assert_eq!(found(&regions, address, wanted), expected);
        }
    }
}
