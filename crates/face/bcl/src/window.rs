//! The owner's view of a bound window: memory that peers read and write at the same time.

use std::sync::atomic::AtomicU64;

use bcl_os::sync::Ordering;

use bcl_raw::{Buffer, Error};

/// A bound window, as its owner sees it while peers act on it. Plain reads and writes may see a peer's write half done; words are atomic.
#[derive(Debug)]
pub struct WindowView<'a> {
    start: *mut u8,
    len_bytes: usize,
    _memory: std::marker::PhantomData<&'a mut Buffer>,
}

impl<'a> WindowView<'a> {
    pub(crate) fn of(buffer: &'a mut Buffer) -> Self {
        let bytes = buffer.as_mut_slice();
        Self {
            start: bytes.as_mut_ptr(),
            len_bytes: bytes.len(),
            _memory: std::marker::PhantomData,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len_bytes
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len_bytes == 0
    }

    fn range(&self, offset: usize, len: usize) -> Result<*mut u8, Error> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len_bytes => Ok(self.start.wrapping_add(offset)),
            _ => Err(Error::invalid(format!(
                "{len} bytes at offset {offset} reach outside a window of {} bytes",
                self.len_bytes
            ))),
        }
    }

    /// Copies bytes out.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        let from = self.range(offset, into.len())?;
        // SAFETY: the range was checked, and the memory is borrowed by `self`.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Copies bytes in.
    pub fn write(&mut self, offset: usize, from: &[u8]) -> Result<(), Error> {
        let to = self.range(offset, from.len())?;
        // SAFETY: as in `read`.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    fn word(&self, offset: usize) -> Result<&AtomicU64, Error> {
        let at = self.range(offset, 8)?;
        if !(at as usize).is_multiple_of(8) {
            return Err(Error::invalid(format!(
                "offset {offset} is not that of an aligned 64-bit word"
            )));
        }
        // SAFETY: in range, aligned, and only accessed atomically or as bytes while bound.
        Ok(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    /// Reads a word.
    pub fn load_u64(&self, offset: usize) -> Result<u64, Error> {
        Ok(self.word(offset)?.load(Ordering::SeqCst))
    }

    /// Writes a word.
    pub fn store_u64(&mut self, offset: usize, value: u64) -> Result<(), Error> {
        self.word(offset)?.store(value, Ordering::SeqCst);
        Ok(())
    }

    /// Adds to a word, atomically with what peers do; returns what was there.
    pub fn fetch_add(&mut self, offset: usize, value: u64) -> Result<u64, Error> {
        Ok(self.word(offset)?.fetch_add(value, Ordering::SeqCst))
    }
}
