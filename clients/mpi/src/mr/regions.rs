//! Keys of memory regions, and which of them peers may reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use bcl_adi::{Access, Hidden, Region as Exposed, Regions as Reached};

use crate::abi::{FI_MR_BASIC, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_REMOTE_READ, FI_REMOTE_WRITE};
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

/// Why memory is not given a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionError {
    /// Two regions of one key.
    #[error("key {0:#x} has a region already: choose another, or close that one")]
    Taken(u64),
    /// No room.
    #[error("the domain has {MR_COUNT} regions, which is the most")]
    Full,
}

/// The regions of a domain.
#[derive(Debug)]
pub struct Regions {
    /// We choose keys, not the program.
    chooses: bool,
    /// Others say where by the program's addresses, not by the distance from the beginning of a region.
    by_address: bool,
    keys: BTreeSet<u64>,
    next_key: u64,
    /// Those that peers may reach, as endpoints have them.
    reached: Arc<Reached>,
}

impl Regions {
    /// None yet, to be used as the bits of `mr_mode` say.
    pub fn new(mr_mode: i32) -> Self {
        Self {
            chooses: mr_mode & (FI_MR_BASIC | FI_MR_PROV_KEY) != 0,
            by_address: mr_mode & (FI_MR_BASIC | FI_MR_VIRT_ADDR) != 0,
            keys: BTreeSet::new(),
            next_key: 1,
            reached: Arc::default(),
        }
    }

    /// Those that peers may reach.
    pub fn reached(&self) -> &Arc<Reached> {
        &self.reached
    }

    /// Registers a region, under `key` if the program chooses keys. Returns its key.
    ///
    /// # Errors
    /// If it cannot have that key, or there is no room.
    ///
    /// # Safety
    /// As of [`Reached::expose`], if others may do anything with it.
    pub unsafe fn insert(&mut self, region: Region, key: u64) -> Result<u64, RegionError> {
        if self.keys.len() == MR_COUNT {
            return Err(RegionError::Full);
        }
        let key = if self.chooses { self.next_key } else { key };
        if !self.keys.insert(key) {
            return Err(RegionError::Taken(key));
        }
        self.next_key += u64::from(self.chooses);
        let exposed = Exposed {
            start: region.start,
            len_bytes: region.len,
            first_address: if self.by_address {
                region.start as u64
            } else {
                0
            },
            access: access_of(region.access),
        };
        // While memory is exposed its endpoints are looked after, which costs something.
        if exposed.access != Access::NONE {
            // SAFETY: by the contract.
            let is_new = unsafe { self.reached.expose(key, exposed) };
            debug_assert!(is_new, "a key is taken here first");
        }
        Ok(key)
    }

    /// Nobody reaches it any more; what is returned tells when all that was begun is over.
    pub fn hide(&mut self, key: u64) -> Option<Hidden> {
        self.reached.hide(key)
    }

    /// Its key is free.
    pub fn remove(&mut self, key: u64) {
        self.keys.remove(&key);
    }
}

fn access_of(access: u64) -> Access {
    let may = |bit: u64, what: Access| {
        if access & bit != 0 {
            what
        } else {
            Access::NONE
        }
    };
    may(FI_REMOTE_READ, Access::GET) | may(FI_REMOTE_WRITE, Access::PUT)
}
