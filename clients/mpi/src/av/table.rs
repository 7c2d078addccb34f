//! What an address vector holds: names by index. An index that was given back is the first to be given out again.

use std::collections::{BTreeSet, HashMap};

use bcl_types::Address;

use crate::name::Name;

/// Addresses that a vector can hold.
const SIZE_MAX: usize = 1 << 24;

/// The addresses.
#[derive(Debug, Default)]
pub struct Table {
    names: Vec<Option<Name>>,
    free: BTreeSet<usize>,
    /// The first index of each.
    places: HashMap<Address, u64>,
}

/// Why an address does not come in, or is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The bytes are not a name.
    #[error("{0}")]
    NotAName(crate::name::NotAName),
    /// Nothing can be sent there.
    #[error(
        "the name {0} is one of an endpoint that is not open yet: take what fi_getname says when it is enabled"
    )]
    NoPort(Name),
    /// There is no room.
    #[error("the address vector has {SIZE_MAX} addresses, which is the most")]
    Full,
    /// The index was not given out, or was given back.
    #[error("the address vector has nothing at {0}")]
    Absent(u64),
}

impl Table {
    /// Puts an address in, and says where it is, and what.
    ///
    /// # Errors
    /// Why it does not come in.
    pub fn insert(&mut self, name: &[u8]) -> Result<(u64, Name), TableError> {
        let name = Name::from_bytes(name).map_err(TableError::NotAName)?;
        if name.address.port == 0 {
            return Err(TableError::NoPort(name));
        }
        let index = match self.free.pop_first() {
            Some(index) => index,
            None if self.names.len() == SIZE_MAX => return Err(TableError::Full),
            None => {
                self.names.push(None);
                self.names.len() - 1
            }
        };
        self.names[index] = Some(name);
        let place = self.places.entry(name.address);
        place.or_insert(index as u64);
        Ok((index as u64, name))
    }

    /// Takes one out. What is still there of the same address is returned: the first, if there are several.
    ///
    /// # Errors
    /// If it is not there.
    pub fn remove(&mut self, index: u64) -> Result<Option<Name>, TableError> {
        let address = self.get(index)?;
        self.names[index as usize] = None;
        self.free.insert(index as usize);
        if self.places.get(&address) == Some(&index) {
            self.places.remove(&address);
            let same = |other: &Option<Name>| other.is_some_and(|other| other.address == address);
            if let Some(other) = self.names.iter().position(same) {
                self.places.insert(address, other as u64);
            }
        }
        let left = self.places.get(&address);
        Ok(left.and_then(|left| self.names[*left as usize]))
    }

    /// The lowest known index of an address.
    pub fn place_of(&self, address: Address) -> Option<u64> {
        self.places.get(&address).copied()
    }

    /// The address at an index.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn get(&self, index: u64) -> Result<Address, TableError> {
        self.name(index).map(|name| name.address)
    }

    /// The name at an index.
    ///
    /// # Errors
    /// If there is none.
    #[inline]
    pub fn name(&self, index: u64) -> Result<Name, TableError> {
        let place = usize::try_from(index).ok();
        let name = place.and_then(|place| self.names.get(place));
        name.copied().flatten().ok_or(TableError::Absent(index))
    }
}
