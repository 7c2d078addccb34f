//! Memory that a program lends to an operation: in one piece or in several.

use std::sync::Arc;

use bcl_raw::{PIECES_MAX, Piece, Pieces, RegionPlace, Source};

use crate::error::Error;

/// Where a message is sent from or received into. Carries addresses; who starts an operation vouches for them.
#[derive(Debug, Clone)]
pub struct Memory {
    lies: Lies,
    region: Option<RegionPlace>,
}

#[derive(Debug, Clone)]
enum Lies {
    InOne(Piece),
    Scattered(Arc<[Piece]>, usize),
}

impl Memory {
    /// Memory in one piece.
    #[inline]
    pub fn one(start: *mut u8, len_bytes: usize) -> Self {
        Self {
            lies: Lies::InOne(Piece { start, len_bytes }),
            region: None,
        }
    }

    /// As [`one`](Self::one), of memory that is only read.
    #[inline]
    pub fn to_read(start: *const u8, len_bytes: usize) -> Self {
        Self::one(start.cast_mut(), len_bytes)
    }

    /// Memory in several pieces, one after the other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there are more than [`PIECES_MAX`], or more bytes than memory has.
    pub fn several(pieces: &[Piece]) -> Result<Self, Error> {
        if let [only] = pieces {
            return Ok(Self::one(only.start, only.len_bytes));
        }
        // SAFETY: nothing but its length is used.
        match unsafe { Pieces::several(pieces) } {
            Some(memory) => Ok(Self {
                lies: Lies::Scattered(pieces.into(), memory.len_bytes()),
                region: None,
            }),
            None => Err(Error::InvalidArgument(format!(
                "{} pieces of memory: there can be at most {PIECES_MAX}, which together are no longer than memory",
                pieces.len()
            ))),
        }
    }

    /// The same memory, which lies in a DMA buffer at this place: it can be read there without a copy. Of memory in several
    /// pieces that is of no use.
    #[must_use]
    pub fn in_region(mut self, place: RegionPlace) -> Self {
        self.region = Some(place);
        self
    }

    /// Length of all pieces.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        match &self.lies {
            Lies::InOne(piece) => piece.len_bytes,
            Lies::Scattered(_, len_bytes) => *len_bytes,
        }
    }

    /// The table of the pieces, if there are several, which the operation has to keep.
    pub(crate) fn table(&self) -> Option<&Arc<[Piece]>> {
        match &self.lies {
            Lies::InOne(_) => None,
            Lies::Scattered(table, _) => Some(table),
        }
    }

    /// Where it is, if it is in one piece.
    #[inline]
    pub(crate) fn start_and_len(&self) -> (*mut u8, usize) {
        match &self.lies {
            Lies::InOne(piece) => (piece.start, piece.len_bytes),
            Lies::Scattered(_, len_bytes) => (std::ptr::null_mut(), *len_bytes),
        }
    }

    /// The same as a number, or 0.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        match &self.lies {
            Lies::InOne(piece) => piece.start as usize,
            Lies::Scattered(..) => 0,
        }
    }

    /// As a port takes it, if it is in one piece.
    #[inline]
    pub(crate) fn source(&self) -> Source {
        let memory = self.pieces();
        let region = self.region;
        Source { memory, region }
    }

    /// A part of memory that is in one piece.
    #[inline]
    pub(crate) fn part(&self, offset: usize, len_bytes: usize) -> Self {
        match &self.lies {
            Lies::InOne(piece) => Self::one(piece.start.wrapping_add(offset), len_bytes),
            Lies::Scattered(..) => self.clone(),
        }
    }

    /// Good for as long as this is there.
    #[inline]
    fn pieces(&self) -> Pieces {
        match &self.lies {
            Lies::InOne(piece) => Pieces::one(piece.start, piece.len_bytes),
            Lies::Scattered(table, _) => {
                // SAFETY: the table is in an Arc, which the users of the result keep.
                let pieces = unsafe { Pieces::several(table) };
                // Its length was looked at when it was made.
                pieces.unwrap_or(Pieces::one(std::ptr::null_mut(), 0))
            }
        }
    }

    /// Copies all of it to the beginning of other memory.
    ///
    /// # Safety
    /// This can be read; the other can be written, is at least as long, and does not overlap it.
    pub unsafe fn copy_to(&self, other: &Self) {
        let len_bytes = self.len_bytes();
        // SAFETY: by the contract; the pieces are as long as they say.
        unsafe {
            match (&self.lies, &other.lies) {
                (_, Lies::InOne(to)) => self.pieces().copy_out(0, len_bytes, to.start),
                (Lies::InOne(from), _) => other.pieces().copy_in(0, len_bytes, from.start),
                _ => {
                    let mut all = vec![0; len_bytes];
                    self.gather(&mut all);
                    other.scatter(&all);
                }
            }
        }
    }

    /// Gathers the first bytes.
    ///
    /// # Safety
    /// The memory can be read, is at least as long, and does not overlap `to`.
    #[inline]
    pub unsafe fn gather(&self, to: &mut [u8]) {
        // SAFETY: by the contract.
        unsafe { self.pieces().copy_out(0, to.len(), to.as_mut_ptr()) }
    }

    /// Scatters bytes to the beginning.
    ///
    /// # Safety
    /// The memory can be written, is at least as long, and does not overlap `from`.
    #[inline]
    pub unsafe fn scatter(&self, from: &[u8]) {
        // SAFETY: by the contract.
        unsafe { self.pieces().copy_in(0, from.len(), from.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes cut in two, each part where it lies, or as they are.
    fn cut(bytes: &mut [u8], at: Option<usize>) -> Memory {
        let Some(at) = at else {
            return Memory::one(bytes.as_mut_ptr(), bytes.len());
        };
        let (first, second) = bytes.split_at_mut(at.min(bytes.len()));
        let pieces = [first, second].map(|part| Piece {
            start: part.as_mut_ptr(),
            len_bytes: part.len(),
        });
        Memory::several(&pieces).unwrap()
    }

    proptest! {
        /// ADI-1.6: however both lie, all bytes arrive in their order, and what is behind them stays.
        #[test]
        fn all_of_it_is_copied_wherever_it_lies(
            mut bytes in prop::collection::vec(any::<u8>(), 0..100),
            from in prop::option::of(0usize..100),
            to in prop::option::of(0usize..100),
            more in 0usize..3,
        ) {
            let mut room = vec![7; bytes.len() + more];
            let expected = [bytes.clone(), vec![7; more]].concat();
            let (from, to) = (cut(&mut bytes, from), cut(&mut room, to));
            // SAFETY: both are here, and the room is as long.
            unsafe { from.copy_to(&to) };
            prop_assert_eq!(room, expected);
        }
    }
}
