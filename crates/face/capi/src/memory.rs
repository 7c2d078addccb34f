//! DMA buffers and registered memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bcl_cface::{Face, out, range};
use bcl_os::PerProcess;
use bcl_raw::Error;
use bcl_raw::{Memory, Region, RegionPlace, populate};

use crate::code::{Bcl, Failure};
use crate::handle::Open;

impl Open {
    /// The DMA buffer that memory lies in, if it does.
    #[inline]
    pub fn find(&mut self, start: *const u8, len: usize) -> Option<Memory> {
        if len == 0 {
            return None;
        }
        self.cache.find(start as usize, len)
    }
}

/// DMA buffers that the program has not freed, by their starts.
static BUFFERS: PerProcess<Mutex<BTreeMap<usize, Arc<Region>>>> = PerProcess::new(Mutex::default);

/// `bcl_dma_alloc`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_dma_alloc(len: usize, memory: *mut *mut c_void) -> c_int {
    Bcl::status("bcl_dma_alloc", || {
        // SAFETY: by the contract of the header.
        let place = unsafe { out(memory, "memory") }?;
        place.put(std::ptr::null_mut());
        if len == 0 {
            return Err(Failure::invalid("len is 0"));
        }
        range(std::ptr::null::<u8>().wrapping_add(1), len, "memory")?;
        let region = Region::allocate(len).map_err(Error::from)?;
        let start = region.start();
        unpoisoned(BUFFERS.get()).insert(start as usize, region);
        place.put(start.cast());
        Ok(())
    })
}

/// `bcl_dma_free`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_dma_free(memory: *mut c_void) -> c_int {
    Bcl::status("bcl_dma_free", || {
        if memory.is_null() {
            return Ok(());
        }
        // What else has the buffer, an operation or a window, keeps it.
        let buffer = unpoisoned(BUFFERS.get()).remove(&(memory as usize));
        buffer.map(drop).ok_or_else(|| {
            Failure::invalid(format!(
                "{memory:p} is not the start of a DMA buffer of this process, or was freed before"
            ))
        })
    })
}

/// "BCLmemo1"
const MAGIC: u64 = 0x316f_6d65_6d4c_4342;

/// `bcl_memory`: what a look-up would find, found beforehand.
pub struct CMemory {
    magic: u64,
    start: *const u8,
    len: usize,
    region: Option<Memory>,
}

/// Registrations that have not ended, by their addresses.
static REGISTERED: PerProcess<Mutex<BTreeSet<usize>>> = PerProcess::new(Mutex::default);

/// `bcl_register`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_register(
    start: *mut u8,
    len: usize,
    memory: *mut *mut CMemory,
) -> c_int {
    Bcl::status("bcl_register", || {
        // SAFETY: by the contract of the header.
        let place = unsafe { out(memory, "memory") }?;
        place.put(std::ptr::null_mut());
        range(start, len, "start")?;
        if len == 0 {
            return Err(Failure::invalid("len is 0"));
        }
        if !populate(start, len) {
            return Err(Failure::invalid(format!(
                "the {len} bytes at {start:p} are not all mapped"
            )));
        }
        let memory = Box::into_raw(Box::new(CMemory {
            magic: MAGIC,
            start,
            len,
            region: Region::containing(start as usize, len),
        }));
        unpoisoned(REGISTERED.get()).insert(memory as usize);
        place.put(memory);
        Ok(())
    })
}

/// `bcl_deregister`
///
/// # Safety
/// As in `bcl.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcl_deregister(memory: *mut CMemory) -> c_int {
    Bcl::status("bcl_deregister", || {
        if !unpoisoned(REGISTERED.get()).remove(&(memory as usize)) {
            return Err(Failure::invalid(format!(
                "{memory:p} is not one that this process had from bcl_register, or was deregistered before"
            )));
        }
        // SAFETY: it was in the table, so it came from `bcl_register`, and it is there no more.
        drop(unsafe { Box::from_raw(memory) });
        Ok(())
    })
}

impl CMemory {
    /// The registration behind a pointer of the program's.
    ///
    /// # Safety
    /// If not null, `memory` came from `bcl_register` and was not deregistered.
    #[inline]
    pub unsafe fn check<'a>(memory: *const Self) -> Result<&'a Self, Failure> {
        let wrong = || Failure::invalid("memory is NULL, or not one of bcl_register's");
        if memory.is_null() || !memory.is_aligned() {
            return Err(wrong());
        }
        // SAFETY: by the contract.
        let memory = unsafe { &*memory };
        if memory.magic != MAGIC {
            return Err(wrong());
        }
        Ok(memory)
    }

    /// A part of the memory, and the DMA buffer that it lies in.
    #[inline]
    pub fn part(&self, offset: usize, len: usize) -> Result<(*const u8, Option<Memory>), Failure> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(Failure::invalid(format!(
                "{len} bytes at offset {offset} reach outside the {} bytes that were registered",
                self.len
            )));
        }
        let region = self.region.as_ref().map(|(region, place)| {
            let place = RegionPlace {
                offset: place.offset + offset as u64,
                ..*place
            };
            (Arc::clone(region), place)
        });
        Ok((self.start.wrapping_add(offset), region))
    }
}

impl Drop for CMemory {
    fn drop(&mut self) {
        self.magic = 0;
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
