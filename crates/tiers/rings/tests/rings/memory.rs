//! One direction of a pair in ordinary memory, so that Miri can watch it.

use std::cell::UnsafeCell;

use bcl_rings::bytes::{ByteReceiver, ByteSender};
use bcl_rings::cells::{Cell, CellReceiver, CellSender};
use bcl_rings::pair::ReturnLine;

/// Rings and return line, as they lie in a segment.
pub struct Direction {
    pub line: ReturnLine,
    pub cells: Vec<Cell>,
    bytes: Box<[UnsafeCell<u8>]>,
}

// SAFETY: the rings order access to the bytes; all else is atomic.
unsafe impl Sync for Direction {}

impl Direction {
    pub fn new(cells: usize, bytes: u32) -> Self {
        Self {
            line: ReturnLine::new(),
            cells: (0..cells).map(|_| Cell::empty()).collect(),
            bytes: (0..bytes).map(|_| UnsafeCell::new(0)).collect(),
        }
    }

    /// Call once.
    pub fn cell_sender(&self) -> CellSender {
        // SAFETY: the tests keep the direction alive and make one sender for it.
        unsafe { CellSender::new(self.cells.as_ptr(), self.cells.len() as u32, &self.line) }
    }

    /// Call once.
    pub fn cell_receiver(&self) -> CellReceiver {
        // SAFETY: as for the sender.
        unsafe { CellReceiver::new(self.cells.as_ptr(), self.cells.len() as u32, &self.line) }
    }

    /// Call once.
    pub fn byte_sender(&self) -> ByteSender {
        // SAFETY: as for the cells.
        unsafe { ByteSender::new(self.base(), self.len_bytes(), &self.line.stream) }
    }

    /// Call once.
    pub fn byte_receiver(&self) -> ByteReceiver {
        // SAFETY: as for the cells.
        unsafe { ByteReceiver::new(self.base(), self.len_bytes(), &self.line.stream) }
    }

    pub fn len_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Where a place that a byte ring gave out lies; fails if it is not all inside the ring.
    pub fn offset_of(&self, place: *const u8, len_bytes: u32) -> u32 {
        let offset = (place as usize).checked_sub(self.base() as usize);
        let offset = offset.expect("a place before the ring") as u64;
        assert!(
            offset + u64::from(len_bytes) <= u64::from(self.len_bytes()),
            "a place across the end of the ring"
        );
        offset as u32
    }

    fn base(&self) -> *mut u8 {
        UnsafeCell::raw_get(self.bytes.as_ptr())
    }
}
