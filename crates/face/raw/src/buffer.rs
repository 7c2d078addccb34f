//! Memory that operations work on. It belongs to the operation until the completion event brings it back.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bcl_tier::{Pieces, Region, RegionPlace, Source};
use rustix::io::Errno;
use rustix::mm::Advice;

use crate::error::Error;

/// Memory given to an operation ([SEM-6.1]).
#[derive(Debug)]
pub enum Buffer {
    /// A *normal* buffer: any memory.
    Vec(Vec<u8>),
    /// An *enabled* buffer: prepared once, used many times.
    Enabled(EnabledBuffer),
    /// A *DMA* buffer: peers on the node read it where it lies.
    Dma(DmaBuffer),
}

impl Buffer {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Enabled(buffer) => buffer,
            Self::Dma(buffer) => buffer,
        }
    }

    /// Its bytes, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Enabled(buffer) => buffer,
            Self::Dma(buffer) => buffer,
        }
    }

    /// The bytes as a vector; copies unless it is one.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Vec(bytes) => bytes,
            Self::Enabled(buffer) => buffer.0,
            Self::Dma(buffer) => buffer.to_vec(),
        }
    }

    /// Where its bytes are to be sent from.
    pub fn source(&self) -> Source {
        let bytes = self.as_slice();
        let region = match self {
            Self::Dma(buffer) => Some(RegionPlace {
                region: buffer.0.id(),
                offset: 0,
            }),
            _ => None,
        };
        Source {
            memory: Pieces::one(bytes.as_ptr().cast_mut(), bytes.len()),
            region,
        }
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Vec(bytes)
    }
}

impl From<EnabledBuffer> for Buffer {
    fn from(buffer: EnabledBuffer) -> Self {
        Self::Enabled(buffer)
    }
}

impl From<DmaBuffer> for Buffer {
    fn from(buffer: DmaBuffer) -> Self {
        Self::Dma(buffer)
    }
}

/// Memory that has been registered: its pages are there, and no operation has to look it up.
#[derive(Debug)]
pub struct EnabledBuffer(Vec<u8>);

impl EnabledBuffer {
    /// Registers memory. It stays an ordinary vector, at the same place.
    pub fn new(mut bytes: Vec<u8>) -> Self {
        populate(bytes.as_mut_ptr(), bytes.len());
        Self(bytes)
    }

    /// The memory, no longer registered.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }
}

impl Deref for EnabledBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for EnabledBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Faults the pages of a range in; false if they are not all mapped. A kernel before 5.14 cannot, and then they
/// come on first use, as ever.
pub fn populate(start: *mut u8, len_bytes: usize) -> bool {
    let page = rustix::param::page_size();
    let first = start as usize & !(page - 1);
    let len = (start as usize + len_bytes).saturating_sub(first);
    if len_bytes == 0 {
        return true;
    }
    // SAFETY: populating changes no contents; a range that is not mapped is refused by the kernel.
    let populated = unsafe { rustix::mm::madvise(first as *mut _, len, Advice::LinuxPopulateRead) };
    !matches!(populated, Err(Errno::NOMEM | Errno::FAULT))
}

/// Memory in shareable segments: a large message sent from it is copied once, by the receiver, and a window
/// on it is acted upon directly. Zero at first.
#[derive(Debug)]
pub struct DmaBuffer(Arc<Region>);

impl DmaBuffer {
    /// Allocates `len_bytes`. All of it is reserved now: too much is an error here, never a fault later.
    pub fn new(len_bytes: usize) -> Result<Self, Error> {
        Ok(Self(Region::allocate(len_bytes)?))
    }

    /// One that is there already, kept for as long as an operation has it.
    pub fn of(region: Arc<Region>) -> Self {
        Self(region)
    }
}

impl Deref for DmaBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the region is mapped for as long as `self`; while it is here no operation or window of this
        // process has it, and peers never get write access except through a window.
        unsafe { std::slice::from_raw_parts(self.0.start(), self.0.len_bytes()) }
    }
}

impl DerefMut for DmaBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.start(), self.0.len_bytes()) }
    }
}
