//! What two processes share in a model: rings, the return line, and payload that loom watches.

use bcl_rings::bytes::{ByteReceiver, ByteSender};
use bcl_rings::cells::{Cell, CellReceiver, CellSender, Words};
use bcl_rings::pair::ReturnLine;
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// Payload is placed in lines of 64 bytes.
pub const LINE_BYTES: u32 = 64;

/// One direction of a pair.
pub struct Direction {
    pub line: ReturnLine,
    cells: Vec<Cell>,
    /// The addresses that the byte ring hands out; nothing is stored here, but in `lines`.
    addresses: Vec<u8>,
    lines: Vec<UnsafeCell<u64>>,
}

// SAFETY: all shared access is through atomics or cells that loom watches.
unsafe impl Send for Direction {}
// SAFETY: as above.
unsafe impl Sync for Direction {}

impl Direction {
    pub fn new(cells: usize, lines: usize) -> Arc<Self> {
        Arc::new(Self {
            line: ReturnLine::new(),
            cells: (0..cells).map(|_| Cell::empty()).collect(),
            addresses: vec![0; lines * LINE_BYTES as usize],
            lines: (0..lines).map(|_| UnsafeCell::new(0)).collect(),
        })
    }

    pub fn cell_sender(&self) -> CellSender {
        // SAFETY: the model keeps the direction alive and makes one sender for it.
        unsafe { CellSender::new(self.cells.as_ptr(), self.cells.len() as u32, &self.line) }
    }

    pub fn cell_receiver(&self) -> CellReceiver {
        // SAFETY: as for the sender.
        unsafe { CellReceiver::new(self.cells.as_ptr(), self.cells.len() as u32, &self.line) }
    }

    pub fn byte_sender(&self) -> ByteSender {
        let base = self.addresses.as_ptr().cast_mut();
        // SAFETY: as for the cells; the addresses are not written through.
        unsafe { ByteSender::new(base, self.addresses.len() as u32, &self.line.stream) }
    }

    pub fn byte_receiver(&self) -> ByteReceiver {
        let base = self.addresses.as_ptr();
        // SAFETY: as for the cells.
        unsafe { ByteReceiver::new(base, self.addresses.len() as u32, &self.line.stream) }
    }

    /// Fills the payload at an address that the byte ring gave out.
    pub fn fill(&self, place: *const u8, len_bytes: u32, value: u64) {
        for line in self.lines_at(place, len_bytes) {
            // SAFETY: loom fails the model if another access is concurrent.
            line.with_mut(|line| unsafe { *line = value });
        }
    }

    /// Whether all of the payload has this value.
    pub fn holds(&self, place: *const u8, len_bytes: u32, value: u64) -> bool {
        self.lines_at(place, len_bytes)
            .iter()
            // SAFETY: loom fails the model if a write is concurrent.
            .all(|line| line.with(|line| unsafe { *line }) == value)
    }

    fn lines_at(&self, place: *const u8, len_bytes: u32) -> &[UnsafeCell<u64>] {
        let first = (place as usize - self.addresses.as_ptr() as usize) / LINE_BYTES as usize;
        &self.lines[first..first + len_bytes.div_ceil(LINE_BYTES) as usize]
    }
}

/// A cell all of whose words tell its number.
pub fn numbered(number: u64) -> Words {
    let mut words = [number; 8];
    words[0] = number << 32;
    words
}

/// The number, if all words agree on it.
pub fn number_of(words: &Words) -> u64 {
    assert_eq!(*words, numbered(words[0] >> 32), "a torn cell");
    words[0] >> 32
}

/// Waits for the other thread. loom cannot run a loop that only turns.
pub fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = attempt() {
            return value;
        }
        loom::thread::yield_now();
    }
}
