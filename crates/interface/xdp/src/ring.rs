//! The ring in which the interface program puts what is for a port: a `BPF_MAP_TYPE_RINGBUF` of the kernel.
//!
//! One process reads it, one thread at a time; the kernel writes it. A page with the reader's position comes first and is
//! the only one that the reader can write; a page with the writer's position and the data follow, the data mapped twice
//! so that no record is torn at the end. Each record has a word in front: its length, and two bits.

use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;

use bcl_layout::Record;
use bcl_layout::record::PREFIX_BYTES;
use bcl_os::Fd;
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use rustix::io::Errno;

/// The kernel has not finished writing the record.
const BUSY: u32 = 1 << 31;
/// There is nothing in the record.
const DISCARDED: u32 = 1 << 30;

/// The ring of a port, read without a system call.
#[derive(Debug)]
pub struct Ring {
    fd: Fd,
    reader: Mapping,
    writer_and_data: Mapping,
    page_bytes: usize,
    size_bytes: u64,
    /// Where the reader is.
    position: u64,
    /// Where it will be when the record that it looks at has been released.
    after: u64,
}

impl Ring {
    /// Maps a ring of `size_bytes`, a power of two and a multiple of the page size.
    ///
    /// # Errors
    /// What the kernel says of a descriptor that is no ring, or of another size.
    pub fn map(fd: Fd, size_bytes: usize) -> Result<Self, Errno> {
        let page_bytes = rustix::param::page_size();
        if !size_bytes.is_power_of_two() || size_bytes < page_bytes {
            return Err(Errno::INVAL);
        }
        let reader = Mapping::new(fd.as_fd(), 0, page_bytes, true)?;
        let len_bytes = page_bytes + 2 * size_bytes;
        let writer_and_data = Mapping::new(fd.as_fd(), page_bytes, len_bytes, false)?;
        let mut ring = Self {
            fd,
            reader,
            writer_and_data,
            page_bytes,
            size_bytes: size_bytes as u64,
            position: 0,
            after: 0,
        };
        ring.position = ring.reader_position().load(Ordering::Relaxed);
        ring.after = ring.position;
        Ok(ring)
    }

    /// Readable while there are records, once somebody was woken; see [`Control::sleep`](crate::Control::sleep).
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The oldest record that was not released, if there is one; the same until it is released.
    #[inline]
    pub fn first(&mut self) -> Option<Record<'_>> {
        loop {
            let (data, len_bytes) = self.look()?;
            // SAFETY: `look` has found that so many bytes of the mapping belong to a finished record, which the kernel
            // leaves alone until the reader's position has passed it, for which `self` is needed.
            let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr(), len_bytes) };
            if let Some(record) = Record::parse(bytes) {
                return Some(record);
            }
            // Not made by the interface program that this program knows.
            self.release();
        }
    }

    /// Gives back the record that [`first`](Self::first) has shown, if it has.
    #[inline]
    pub fn release(&mut self) {
        if self.after != self.position {
            self.position = self.after;
            self.reader_position()
                .store(self.position, Ordering::Release);
        }
    }

    /// Bytes between reader and writer: records that wait.
    pub fn waiting_bytes(&self) -> u64 {
        let written = self.writer_position().load(Ordering::Acquire);
        written.wrapping_sub(self.position)
    }

    /// Where the record that is reserved next will be: see [`has_passed`](Self::has_passed).
    pub fn end(&self) -> u64 {
        self.writer_position().load(Ordering::Acquire)
    }

    /// Whether all records that were reserved before such an [`end`](Self::end) have been released.
    pub fn has_passed(&self, end: u64) -> bool {
        self.position.wrapping_sub(end) as i64 >= 0
    }

    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Where the next record lies and how long it is, past those in which there is nothing.
    #[inline]
    fn look(&mut self) -> Option<(NonNull<u8>, usize)> {
        loop {
            let written = self.writer_position().load(Ordering::Acquire);
            let waiting_bytes = written.wrapping_sub(self.position);
            if waiting_bytes < PREFIX_BYTES as u64 || waiting_bytes > self.size_bytes {
                return None;
            }
            let at = self.page_bytes + (self.position & (self.size_bytes - 1)) as usize;
            let prefix = self.writer_and_data.start().cast::<u8>();
            // SAFETY: `at` lies in the first of the two views of the data, so that 8 bytes more do in the mapping; it
            // is aligned, since positions are multiples of 8; the kernel writes the word atomically.
            let (word, data) = unsafe {
                let prefix = prefix.add(at);
                (
                    prefix.cast::<AtomicU32>().as_ref(),
                    prefix.add(PREFIX_BYTES),
                )
            };
            let word = word.load(Ordering::Acquire);
            if word & BUSY != 0 {
                return None;
            }
            let len_bytes = u64::from(word & !DISCARDED);
            let step = (len_bytes + PREFIX_BYTES as u64).next_multiple_of(8);
            if step > waiting_bytes {
                return None;
            }
            self.after = self.position + step;
            if word & DISCARDED == 0 {
                return Some((data, len_bytes as usize));
            }
            self.release();
        }
    }

    fn reader_position(&self) -> &AtomicU64 {
        // SAFETY: the first word of a mapped page, aligned, which this process and the kernel use as one.
        unsafe { self.reader.start().cast().as_ref() }
    }

    fn writer_position(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.writer_and_data.start().cast().as_ref() }
    }
}

#[cfg(test)]
mod tests;
