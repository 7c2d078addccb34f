//! The ring of cells: one cache line a message, one writer, one reader.
//!
//! Word 0 of a cell is written last and carries the cell's sequence number, so that one line crossing
//! from core to core brings both the news and the message ([SHM-3.1]).

use crate::Corrupt;
use crate::pair::ReturnLine;
use crate::prefetch;
use bcl_os::sync::{AtomicU64, Guarded, Ordering};

/// Words in a cell.
pub const CELL_WORDS: usize = 8;

/// A cell as it lies in shared memory.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Cell {
    first: AtomicU64,
    rest: [Guarded; CELL_WORDS - 1],
}

impl Cell {
    /// A cell that was never written.
    pub fn empty() -> Self {
        Self {
            first: AtomicU64::new(0),
            rest: std::array::from_fn(|_| Guarded::new(0)),
        }
    }
}

/// A private copy of a cell: word 0 with the sequence number taken out.
pub type Words = [u64; CELL_WORDS];

const SEQ_MASK: u64 = 0xffff_ffff;

/// How far ahead of its writing a cell is fetched.
const PREPARED_CELLS: u64 = 4;

/// The writing end.
#[derive(Debug)]
pub struct CellSender {
    cells: *const Cell,
    mask: u64,
    next: u64,
    consumed_seen: u64,
    line: *const ReturnLine,
}

// SAFETY: the pointers are to shared memory that the owner keeps mapped; all access is atomic.
unsafe impl Send for CellSender {}

impl CellSender {
    /// # Safety
    /// `cells` points to `count` (a power of two) cells and `line` to their return line, all zero at the
    /// start, mapped for as long as this value lives; no other sender exists for them.
    pub unsafe fn new(cells: *const Cell, count: u32, line: *const ReturnLine) -> Self {
        debug_assert!(count.is_power_of_two());
        Self {
            cells,
            mask: u64::from(count) - 1,
            next: 0,
            consumed_seen: 0,
            line,
        }
    }

    /// How many more cells can be sent now; looks at the receiver's line only if `wanted` are not known to be free.
    #[inline]
    pub fn free(&mut self, wanted: u64) -> Result<u64, Corrupt> {
        let free = self.mask + 1 - (self.next - self.consumed_seen);
        if free >= wanted {
            Ok(free)
        } else {
            self.refresh()
        }
    }

    #[cold]
    fn refresh(&mut self) -> Result<u64, Corrupt> {
        // SAFETY: `line` is valid for the life of `self` (contract of `new`).
        let consumed = unsafe { &*self.line }.cells.load(Ordering::Acquire);
        if consumed < self.consumed_seen || consumed > self.next {
            return Err(Corrupt("count of consumed cells"));
        }
        self.consumed_seen = consumed;
        Ok(self.mask + 1 - (self.next - consumed))
    }

    /// Publishes one cell. The low 32 bits of `words[0]` must be zero; they become the sequence number.
    ///
    /// The caller has seen [`free`](Self::free) return at least 1.
    #[inline]
    pub fn send(&mut self, words: &Words) {
        debug_assert_eq!(words[0] & SEQ_MASK, 0);
        debug_assert!(self.next - self.consumed_seen <= self.mask);
        // SAFETY: the index is masked to the ring, which is mapped (contract of `new`).
        let cell = unsafe { &*self.cells.add((self.next & self.mask) as usize) };
        for (slot, word) in cell.rest.iter().zip(&words[1..]) {
            slot.set(*word);
        }
        self.next += 1;
        cell.first
            .store(words[0] | (self.next & SEQ_MASK), Ordering::Release);
        prefetch::demote(cell);
        let soon = (self.next + PREPARED_CELLS) & self.mask;
        prefetch::for_write(self.cells.wrapping_add(soon as usize));
    }
}

/// The reading end.
#[derive(Debug)]
pub struct CellReceiver {
    cells: *const Cell,
    mask: u64,
    next: u64,
    line: *const ReturnLine,
}

// SAFETY: as for `CellSender`.
unsafe impl Send for CellReceiver {}

impl CellReceiver {
    /// # Safety
    /// As for [`CellSender::new`], with `line` the one that this side writes.
    pub unsafe fn new(cells: *const Cell, count: u32, line: *const ReturnLine) -> Self {
        debug_assert!(count.is_power_of_two());
        Self {
            cells,
            mask: u64::from(count) - 1,
            next: 0,
            line,
        }
    }

    /// Cells in the ring: whoever takes so many has taken all that were there when it began.
    pub fn capacity(&self) -> u64 {
        self.mask + 1
    }

    #[inline]
    fn head(&self) -> &Cell {
        // SAFETY: the index is masked to the ring, which is mapped (contract of `new`).
        unsafe { &*self.cells.add((self.next & self.mask) as usize) }
    }

    /// Whether [`receive`](Self::receive) would return a cell.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.head().first.load(Ordering::Acquire) & SEQ_MASK == (self.next + 1) & SEQ_MASK
    }

    /// Takes the next cell, copied once, and gives its place back to the sender.
    #[inline]
    pub fn receive(&mut self) -> Option<Words> {
        let words = self.take()?;
        self.give_back();
        Some(words)
    }

    /// Takes the next cell, copied once. Its place goes back to the sender with the next
    /// [`give_back`](Self::give_back): a sender that waits for room reads the return line again and again, and each
    /// write to it then costs a cache miss, so that a batch of cells should cost one.
    #[inline]
    pub fn take(&mut self) -> Option<Words> {
        let cell = self.head();
        let first = cell.first.load(Ordering::Acquire);
        if first & SEQ_MASK != (self.next + 1) & SEQ_MASK {
            return None;
        }
        let mut words = [first & !SEQ_MASK; CELL_WORDS];
        for (word, slot) in words[1..].iter_mut().zip(&cell.rest) {
            *word = slot.get();
        }
        self.next += 1;
        Some(words)
    }

    /// Gives the places of all cells taken so far back to the sender.
    #[inline]
    pub fn give_back(&mut self) {
        // SAFETY: `line` is valid for the life of `self` (contract of `new`).
        unsafe { &*self.line }
            .cells
            .store(self.next, Ordering::Release);
    }
}
