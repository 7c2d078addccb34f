//! Open channels: which memory of a port others may read and write, and how ([SEM-5]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bcl_os::sync::Ordering;
use bcl_types::{Access, Atomic, Refusal};

use crate::page::{Counter, Page};
use crate::region::{Binding, Region};

/// Memory that is bound to an open channel, or is about to be.
#[derive(Debug)]
pub struct WindowMemory {
    start: *mut u8,
    len_bytes: usize,
    /// The DMA buffer that it lies in.
    buffer: Option<Binding>,
}

// SAFETY: the address is used only under the table's lock, and the binder vouches for it until unbound.
unsafe impl Send for WindowMemory {}

impl WindowMemory {
    /// # Safety
    /// The memory stays valid as long as this lives, and is read and written by others meanwhile.
    pub unsafe fn new(start: *mut u8, len_bytes: usize) -> Self {
        let buffer = Region::containing(start as usize, len_bytes);
        Self {
            start,
            len_bytes,
            buffer: buffer.map(|(region, _)| region.bind()),
        }
    }

    /// Length in bytes.
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The DMA buffer that it lies in, and where in it.
    pub fn buffer(&self) -> Option<(&Arc<Region>, usize)> {
        let region = self.buffer.as_ref()?.region();
        Some((region, self.start as usize - region.start() as usize))
    }

    /// The DMA buffer that it is the whole of: peers of the node act on that directly.
    fn whole_buffer(&self) -> Option<&Arc<Region>> {
        let (region, _) = self.buffer()?;
        Some(region).filter(|region| region.len_bytes() == self.len_bytes)
    }
}

/// Memory bound to an open channel.
#[derive(Debug)]
pub struct Window {
    memory: WindowMemory,
    access: Access,
}

/// How a peer reaches a window.
#[derive(Debug)]
pub struct WindowOffer {
    /// Address of the first byte in the owner's process.
    pub address: u64,
    /// Bytes that may be reached.
    pub len_bytes: u64,
    /// What may be done.
    pub access: Access,
    /// The buffer to map, for direct access.
    pub direct: Option<Arc<Region>>,
}

impl Window {
    /// What to tell a peer that asks.
    pub fn offer(&self) -> WindowOffer {
        let direct = self.memory.whole_buffer().cloned().filter(|region| {
            if self.access.lets_write() {
                region.expose_to_writers().is_some()
            } else {
                region.expose_to_readers().is_some()
            }
        });
        WindowOffer {
            address: self.memory.start as u64,
            len_bytes: self.memory.len_bytes as u64,
            access: self.access,
            direct,
        }
    }

    /// Whether the owner wants to hear of writes.
    pub fn notifies(&self) -> bool {
        self.access.contains(Access::NOTIFY)
    }

    /// Whether all of an access is permitted, for those that do it in pieces.
    pub fn permits(&self, offset: u64, len_bytes: u64, need: Access) -> Result<(), Refusal> {
        self.access
            .check(self.memory.len_bytes as u64, offset, len_bytes, need)
    }

    fn range(&self, offset: u64, len_bytes: u64, need: Access) -> Result<*mut u8, Refusal> {
        self.permits(offset, len_bytes, need)?;
        Ok(self.memory.start.wrapping_add(offset as usize))
    }

    /// Writes for a peer.
    pub fn put(&self, offset: u64, data: &[u8]) -> Result<(), Refusal> {
        let to = self.range(offset, data.len() as u64, Access::PUT)?;
        // SAFETY: inside the bound memory, which is valid until unbound, and unbinding takes the lock we hold.
        unsafe { bcl_os::copy(data.as_ptr(), to, data.len()) };
        Ok(())
    }

    /// Reads for a peer.
    pub fn get(&self, offset: u64, data: &mut [u8]) -> Result<(), Refusal> {
        let from = self.range(offset, data.len() as u64, Access::GET)?;
        // SAFETY: as in `put`.
        unsafe { bcl_os::copy(from, data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    /// Performs an atomic for a peer; returns what was there.
    pub fn atomic(&self, offset: u64, atomic: Atomic) -> Result<u64, Refusal> {
        let at = self.range(offset, 8, Access::ATOMIC)?;
        // SAFETY: as in `put`; `check_word` makes sure of the alignment.
        unsafe { apply(at, atomic) }
    }
}

/// # Safety
/// `at` points to 8 bytes that are valid for atomic access.
pub unsafe fn apply(at: *mut u8, atomic: Atomic) -> Result<u64, Refusal> {
    if !(at as usize).is_multiple_of(8) {
        return Err(Refusal::Range);
    }
    // SAFETY: valid by the contract, aligned as just checked.
    let word = unsafe { AtomicU64::from_ptr(at.cast::<u64>()) };
    Ok(match atomic {
        Atomic::FetchAdd(value) => word.fetch_add(value, Ordering::SeqCst),
        Atomic::CompareSwap { expected, new } => word
            .compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
            .unwrap_or_else(|found| found),
    })
}

/// All windows of a port; shared with the service thread, which serves peers from it.
#[derive(Debug, Default)]
pub struct WindowTable {
    bound: BTreeMap<u16, Window>,
}

impl WindowTable {
    /// Binds memory; false if there is some already, or no such number.
    pub fn bind(&mut self, page: &Page, number: u16, memory: WindowMemory, access: Access) -> bool {
        if number >= WINDOW_COUNT || self.bound.contains_key(&number) {
            return false;
        }
        self.bound.insert(number, Window { memory, access });
        self.tell(page, number);
        true
    }

    /// Takes memory back, if any is bound there.
    pub fn unbind(&mut self, page: &Page, number: u16) -> Option<WindowMemory> {
        let window = self.bound.remove(&number)?;
        self.tell(page, number);
        Some(window.memory)
    }

    /// What is bound there.
    pub fn get(&self, number: u16) -> Option<&Window> {
        self.bound.get(&number)
    }

    /// Peers that know of windows by this number ask anew, and people see how many there are. Under the lock of the table, so
    /// that nobody else counts.
    fn tell(&self, page: &Page, number: u16) {
        let epoch = page.window_epoch(number);
        epoch.store(epoch.load(Ordering::Relaxed) + 1, Ordering::Release);
        let count = page.counter(Counter::WindowsBound);
        count.store(self.bound.len() as u64, Ordering::Relaxed);
    }
}

/// Numbers below this can be bound.
pub const WINDOW_COUNT: u16 = 4096;
