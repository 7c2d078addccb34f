//! The byte ring: payload too long for a cell, contiguous, 64-byte aligned.
//!
//! Both ends compute positions by the same rule ([SHM-3.3]), so no offset travels and none can be forged.

use crate::Corrupt;
use crate::prefetch;
use bcl_os::sync::{AtomicU64, Ordering};

const ALIGN: u64 = 64;

/// A longer payload is not handed on: the receiver then outruns the cache that all cores share (measured: 1 KiB
/// gains 30 %, 4 KiB nothing, 8 KiB loses 20 %).
const HANDED_ON_BYTES: u32 = 2048;
/// More than this is not fetched ahead: the stores of a long payload overlap among themselves.
const PREPARED_BYTES: u32 = 2048;

/// The longest payload of a ring of `size` bytes. One that is longer than half might find too little
/// room on either side of the tail for ever, even in an empty ring.
pub const fn max_len_bytes(size: u32) -> u32 {
    size / 2
}

/// Where a payload lies: absolute positions, that only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Position of the first byte.
    pub start: u64,
    /// Position after the last byte and its padding: where the next payload is placed.
    pub end: u64,
}

/// Places `len_bytes` after `tail` in a ring of `size` bytes: aligned, and never across the ring's end.
/// `len_bytes` is at most `size`, or it lies past the end.
#[inline]
pub fn place(tail: u64, len_bytes: u32, size: u32) -> Span {
    let size = u64::from(size);
    let padded = (u64::from(len_bytes) + ALIGN - 1) & !(ALIGN - 1);
    let room = size - tail % size;
    let start = if padded <= room { tail } else { tail + room };
    Span {
        start,
        end: start + padded,
    }
}

/// The writing end.
#[derive(Debug)]
pub struct ByteSender {
    base: *mut u8,
    size: u32,
    tail: u64,
    released_seen: u64,
    released: *const AtomicU64,
}

// SAFETY: the pointers are to shared memory that the owner keeps mapped.
unsafe impl Send for ByteSender {}

impl ByteSender {
    /// # Safety
    /// `base` points to `size` bytes (a multiple of 64) and `released` to the receiver's count for them, zero
    /// at the start, mapped while this value lives; no other sender exists for them.
    pub unsafe fn new(base: *mut u8, size: u32, released: *const AtomicU64) -> Self {
        Self {
            base,
            size,
            tail: 0,
            released_seen: 0,
            released,
        }
    }

    /// Room for `len_bytes` (at most [`max_len_bytes`]), or `None` until the receiver has released more.
    ///
    /// The place is taken: fill it, then publish the cell that announces it.
    #[inline]
    pub fn reserve(&mut self, len_bytes: u32) -> Result<Option<*mut u8>, Corrupt> {
        debug_assert!(len_bytes <= max_len_bytes(self.size));
        let span = place(self.tail, len_bytes, self.size);
        if span.end - self.released_seen > u64::from(self.size) {
            self.refresh()?;
            if span.end - self.released_seen > u64::from(self.size) {
                return Ok(None);
            }
        }
        self.tail = span.end;
        let offset = (span.start % u64::from(self.size)) as usize;
        // SAFETY: `place` keeps the span inside the ring.
        Ok(Some(unsafe { self.base.add(offset) }))
    }

    /// Passes a short payload on to where the receiver finds it sooner. To be called once it is written.
    #[inline]
    pub fn hand_on(&self, place: *const u8, len_bytes: u32) {
        if len_bytes > HANDED_ON_BYTES {
            return;
        }
        for line in (0..len_bytes as usize).step_by(ALIGN as usize) {
            prefetch::demote(place.wrapping_add(line));
        }
    }

    /// Fetches the place of the next payload for writing, if it is about as long as this. To be called once the
    /// last one is on its way.
    #[inline]
    pub fn prepare(&self, len_bytes: u32) {
        let len_bytes = len_bytes.min(PREPARED_BYTES);
        let span = place(self.tail, len_bytes, self.size);
        let start = self
            .base
            .wrapping_add((span.start % u64::from(self.size)) as usize);
        for line in (0..len_bytes as usize).step_by(ALIGN as usize) {
            prefetch::for_write(start.wrapping_add(line));
        }
    }

    #[cold]
    fn refresh(&mut self) -> Result<(), Corrupt> {
        // SAFETY: `released` is valid for the life of `self` (contract of `new`).
        let released = unsafe { &*self.released }.load(Ordering::Acquire);
        if released < self.released_seen || released > self.tail {
            return Err(Corrupt("count of released bytes"));
        }
        self.released_seen = released;
        Ok(())
    }
}

/// The reading end.
#[derive(Debug)]
pub struct ByteReceiver {
    base: *const u8,
    size: u32,
    tail: u64,
    released: *const AtomicU64,
}

// SAFETY: as for `ByteSender`.
unsafe impl Send for ByteReceiver {}

impl ByteReceiver {
    /// # Safety
    /// As for [`ByteSender::new`], with `released` the count that this side writes.
    pub unsafe fn new(base: *const u8, size: u32, released: *const AtomicU64) -> Self {
        Self {
            base,
            size,
            tail: 0,
            released,
        }
    }

    /// The next payload, of the announced length, and the position to release when it has been read.
    #[inline]
    pub fn take(&mut self, len_bytes: u32) -> Result<(*const u8, u64), Corrupt> {
        if len_bytes > max_len_bytes(self.size) {
            return Err(Corrupt("payload longer than its ring can hold"));
        }
        let span = place(self.tail, len_bytes, self.size);
        self.tail = span.end;
        let offset = (span.start % u64::from(self.size)) as usize;
        // SAFETY: `place` keeps the span inside the ring.
        Ok((unsafe { self.base.add(offset) }, span.end))
    }

    /// Gives everything before `position` back to the sender.
    #[inline]
    pub fn release(&mut self, position: u64) {
        // SAFETY: `released` is valid for the life of `self` (contract of `new`).
        unsafe { &*self.released }.store(position, Ordering::Release);
    }
}
