//! Memory that others may reach, by key.

use std::collections::BTreeMap;

use crate::abi::{FI_MR_BASIC, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR};
use crate::getinfo::limits::MR_COUNT;

/// A piece of the program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins. With a length of all, 0 is where all memory does.
    pub start: usize,
    /// Bytes.
    pub len: usize,
    /// `FI_REMOTE_READ` and so on: what others may do.
    pub access: u64,
}

/// Why memory is not reached, or not given a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// Two regions of one key.
    #[error("key {0:#x} has a region already: choose another, or close that one")]
    Taken(u64),
    /// No room.
    #[error("the domain has {MR_COUNT} regions, which is the most")]
    Full,
    /// No region of this key.
    #[error("no region has key {0:#x}")]
    NoKey(u64),
    /// Not permitted.
    #[error("the region of key {0:#x} was not registered for this")]
    Denied(u64),
    /// Outside.
    #[error("that reaches outside of the region of key {0:#x}")]
    Outside(u64),
}

/// The regions of a domain.
#[derive(Debug)]
pub struct Regions {
    /// We choose keys, not the program.
    chooses: bool,
    /// Others say where by the program's addresses, not by the distance from the beginning of a region.
    by_address: bool,
    regions: BTreeMap<u64, Region>,
    next_key: u64,
}

impl Regions {
    /// None yet, to be used as the bits of `mr_mode` say.
    pub fn new(mr_mode: i32) -> Self {
        Self {
            chooses: mr_mode & (FI_MR_BASIC | FI_MR_PROV_KEY) != 0,
            by_address: mr_mode & (FI_MR_BASIC | FI_MR_VIRT_ADDR) != 0,
            regions: BTreeMap::new(),
            next_key: 1,
        }
    }

    /// Registers a region, under `key` if the program chooses keys. Returns its key.
    ///
    /// # Errors
    /// If it cannot have that key, or there is no room.
    pub fn insert(&mut self, region: Region, key: u64) -> Result<u64, RegionError> {
        if self.regions.len() == MR_COUNT {
            return Err(RegionError::Full);
        }
        let key = match self.chooses {
            true => self.next_key,
            false if self.regions.contains_key(&key) => return Err(RegionError::Taken(key)),
            false => key,
        };
        self.next_key += u64::from(self.chooses);
        self.regions.insert(key, region);
        Ok(key)
    }

    /// Nobody reaches it any more.
    pub fn remove(&mut self, key: u64) {
        self.regions.remove(&key);
    }

    /// Where the memory is that somebody names by key and address, if all of `access` is permitted there.
    ///
    /// # Errors
    /// If it is not.
    pub fn locate(
        &self,
        key: u64,
        address: u64,
        len: usize,
        access: u64,
    ) -> Result<usize, RegionError> {
        let region = self.regions.get(&key).ok_or(RegionError::NoKey(key))?;
        if region.access & access != access {
            return Err(RegionError::Denied(key));
        }
        let outside = RegionError::Outside(key);
        let address = usize::try_from(address).map_err(|_| outside)?;
        let offset = match self.by_address {
            true => address.checked_sub(region.start).ok_or(outside)?,
            false => address,
        };
        let fits = offset <= region.len && len <= region.len - offset;
        let start = region
            .start
            .checked_add(offset)
            .filter(|start| start.checked_add(len).is_some());
        start.filter(|_| fits).ok_or(outside)
    }
}
