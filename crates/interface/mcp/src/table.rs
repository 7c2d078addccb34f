//! A table of the interface program, by key.

use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bcl_layout::Plain;

use crate::error::{Doing, Error};
use crate::sys;

/// A map of the kernel whose keys and values have these kinds.
#[derive(Debug)]
pub struct Table<K, V> {
    fd: OwnedFd,
    name: &'static str,
    kinds: PhantomData<(K, V)>,
}

impl<K: Plain, V: Plain> Table<K, V> {
    /// None if keys and values of the map have other lengths.
    pub(crate) fn new(name: &'static str, fd: OwnedFd) -> Result<Option<Self>, Error> {
        let shape = sys::shape(fd.as_fd()).doing(|| format!("asking what table '{name}' is"))?;
        let fits =
            shape.key_len as usize == size_of::<K>() && shape.value_len as usize == size_of::<V>();
        Ok(fits.then_some(Self {
            fd,
            name,
            kinds: PhantomData,
        }))
    }

    /// The value of a key, if it is there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn get(&self, key: &K) -> Result<Option<V>, Error> {
        let mut value = V::zeroed();
        let found = sys::lookup(self.fd(), key.bytes(), value.bytes_mut());
        Ok(found.doing(|| self.what("looking into"))?.then_some(value))
    }

    /// Enters a key, or replaces its value.
    ///
    /// # Errors
    /// When the kernel refuses, or the table is full.
    pub fn insert(&self, key: &K, value: &V) -> Result<(), Error> {
        sys::update(self.fd(), key.bytes(), value.bytes()).doing(|| self.what("writing to"))
    }

    /// Takes a key out; false if it was not there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn remove(&self, key: &K) -> Result<bool, Error> {
        sys::delete(self.fd(), key.bytes()).doing(|| self.what("removing from"))
    }

    /// All keys. What is entered or removed meanwhile may be missing or not.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn keys(&self) -> Result<Vec<K>, Error> {
        let mut keys: Vec<K> = Vec::new();
        loop {
            let mut next = K::zeroed();
            let last = keys.last().map(Plain::bytes);
            let is_there = sys::next_key(self.fd(), last, next.bytes_mut());
            if !is_there.doing(|| self.what("listing"))? {
                return Ok(keys);
            }
            keys.push(next);
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    fn what(&self, doing: &str) -> String {
        format!("{doing} table '{}' of the interface program", self.name)
    }
}
