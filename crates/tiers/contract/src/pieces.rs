//! Memory in pieces: a message is gathered from several places, or scattered to them.

use std::slice;

/// Most pieces of one message.
pub const PIECES_MAX: usize = 256;

/// Some memory. To C it is a `struct iovec`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Piece {
    /// First byte.
    pub start: *mut u8,
    /// Length.
    pub len_bytes: usize,
}

// SAFETY: an address that is only carried.
unsafe impl Send for Piece {}
// SAFETY: as above.
unsafe impl Sync for Piece {}

impl Piece {
    /// Memory that is only read from.
    pub fn to_read(start: *const u8, len_bytes: usize) -> Self {
        Self {
            start: start.cast_mut(),
            len_bytes,
        }
    }
}

/// Where the bytes of a message lie, one after the other: in one piece or in several.
#[derive(Debug, Clone, Copy)]
pub struct Pieces {
    /// The only piece. If there are others, `start` is that of their table, and the length that of all of them.
    only: Piece,
    /// Entries of the table; 0: there is none.
    count: usize,
}

impl Pieces {
    /// Memory in one piece.
    #[inline]
    pub fn one(start: *mut u8, len_bytes: usize) -> Self {
        let only = Piece { start, len_bytes };
        Self { only, count: 0 }
    }

    /// Memory in several pieces, at most [`PIECES_MAX`]; `None` if there are more, or more bytes than memory has.
    ///
    /// # Safety
    /// The table stays where and as it is for as long as the result, or a copy of it, is used.
    pub unsafe fn several(table: &[Piece]) -> Option<Self> {
        if let &[only] = table {
            return Some(Self { only, count: 0 });
        }
        let len_bytes = len_of(table)?;
        Some(Self {
            only: Piece::to_read(table.as_ptr().cast(), len_bytes),
            count: table.len(),
        })
    }

    /// Length of all pieces.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.only.len_bytes
    }

    /// The pieces.
    #[inline]
    pub fn table(&self) -> &[Piece] {
        if self.count == 0 {
            return slice::from_ref(&self.only);
        }
        // SAFETY: by the contract of `several`.
        unsafe { slice::from_raw_parts(self.only.start.cast::<Piece>(), self.count) }
    }

    /// The address of the table and how many entries it has, or of the only piece and 0.
    pub fn to_words(self) -> (u64, usize) {
        (self.only.start as u64, self.count)
    }

    /// Where a range of the bytes lies, if it is in one piece. The range is inside.
    #[inline]
    pub fn within_one(&self, offset: usize, len_bytes: usize) -> Option<*mut u8> {
        if self.count == 0 {
            return Some(self.only.start.wrapping_add(offset));
        }
        let mut ranges = ranges(self.table(), offset, len_bytes);
        let Some(first) = ranges.next() else {
            return Some(self.only.start);
        };
        (first.len_bytes == len_bytes).then_some(first.start)
    }

    /// Gathers a range of the bytes.
    ///
    /// # Safety
    /// The range is inside, the memory can be read, and `to` has room for it elsewhere.
    #[inline]
    pub unsafe fn copy_out(&self, offset: usize, len_bytes: usize, to: *mut u8) {
        // SAFETY: by the contract.
        unsafe { self.gather(offset, len_bytes, to, bcl_os::copy) }
    }

    /// The same [past the caches](bcl_os::copy::copy_past_caches).
    ///
    /// # Safety
    /// As of [`copy_out`](Self::copy_out).
    pub unsafe fn copy_out_past_caches(&self, offset: usize, len_bytes: usize, to: *mut u8) {
        // SAFETY: by the contract.
        unsafe { self.gather(offset, len_bytes, to, bcl_os::copy::copy_past_caches) }
    }

    /// # Safety
    /// As of [`copy_out`](Self::copy_out), and of the function that copies.
    #[inline]
    unsafe fn gather(
        &self,
        offset: usize,
        len_bytes: usize,
        to: *mut u8,
        copy: unsafe fn(*const u8, *mut u8, usize),
    ) {
        if self.count == 0 {
            let from = self.only.start.wrapping_add(offset);
            // SAFETY: by the contract.
            return unsafe { copy(from, to, len_bytes) };
        }
        let mut done = 0;
        for range in ranges(self.table(), offset, len_bytes) {
            // SAFETY: by the contract; the ranges together are as long as the range.
            unsafe { copy(range.start, to.wrapping_add(done), range.len_bytes) };
            done += range.len_bytes;
        }
    }

    /// Scatters bytes to a range.
    ///
    /// # Safety
    /// The range is inside, the memory can be written, and `from` holds so many bytes elsewhere.
    #[inline]
    pub unsafe fn copy_in(&self, offset: usize, len_bytes: usize, from: *const u8) {
        if self.count == 0 {
            let to = self.only.start.wrapping_add(offset);
            // SAFETY: by the contract.
            return unsafe { bcl_os::copy(from, to, len_bytes) };
        }
        let mut done = 0;
        for range in ranges(self.table(), offset, len_bytes) {
            let from = from.wrapping_add(done);
            // SAFETY: by the contract; the ranges together are as long as the range.
            unsafe { bcl_os::copy(from, range.start, range.len_bytes) };
            done += range.len_bytes;
        }
    }
}

/// How long some pieces are together, if so many and so much is permitted.
pub fn len_of(table: &[Piece]) -> Option<usize> {
    let add = |sum: usize, piece: &Piece| sum.checked_add(piece.len_bytes);
    let len_bytes = table.iter().try_fold(0, add)?;
    (table.len() <= PIECES_MAX && isize::try_from(len_bytes).is_ok()).then_some(len_bytes)
}

/// Where a range of bytes lies, which is as long as the pieces permit. None of the parts is empty.
pub fn ranges(
    table: &[Piece],
    offset: usize,
    len_bytes: usize,
) -> impl Iterator<Item = Piece> + '_ {
    let (mut skipped, mut left) = (offset, len_bytes);
    table.iter().filter_map(move |piece| {
        let before = skipped.min(piece.len_bytes);
        skipped -= before;
        let len_bytes = left.min(piece.len_bytes - before);
        left -= len_bytes;
        let start = piece.start.wrapping_add(before);
        (len_bytes > 0).then_some(Piece { start, len_bytes })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(parts: &mut [Vec<u8>]) -> Vec<Piece> {
        let piece = |part: &mut Vec<u8>| Piece {
            start: part.as_mut_ptr(),
            len_bytes: part.len(),
        };
        parts.iter_mut().map(piece).collect()
    }

    /// Every range of pieces of many lengths, empty ones among them, against the bytes in one piece.
    #[test]
    fn ranges_are_those_of_the_bytes_in_one_piece() {
        let mut parts = [vec![], vec![1, 2, 3], vec![4], vec![], vec![5, 6], vec![]];
        let whole = parts.concat();
        let table = table(&mut parts);
        // SAFETY: the table outlives its use.
        let pieces = unsafe { Pieces::several(&table) }.unwrap();
        assert_eq!(pieces.len_bytes(), whole.len());
        for offset in 0..=whole.len() {
            for len in 0..=whole.len() - offset {
                let mut gathered = vec![0; len];
                // SAFETY: the range is inside, and the room as long.
                unsafe { pieces.copy_out(offset, len, gathered.as_mut_ptr()) };
                assert_eq!(gathered, &whole[offset..offset + len]);
                let place = pieces.within_one(offset, len);
                let is_within_one = [(0, 3), (3, 4), (4, 6)]
                    .iter()
                    .any(|(start, end)| *start <= offset && offset + len <= *end);
                assert_eq!(place.is_some(), is_within_one || len == 0, "{offset} {len}");
                if let Some(place) = place.filter(|_| len > 0) {
                    // SAFETY: one of the vectors.
                    assert_eq!(unsafe { *place }, whole[offset]);
                }
            }
        }
    }

    #[test]
    fn bytes_are_scattered_and_nothing_beside_them_is_written() {
        let mut parts = [vec![0u8; 2], vec![0; 3], vec![0; 2]];
        let table = table(&mut parts);
        // SAFETY: the table outlives its use.
        let pieces = unsafe { Pieces::several(&table) }.unwrap();
        // SAFETY: inside, and as long.
        unsafe { pieces.copy_in(1, 5, [1u8, 2, 3, 4, 5].as_ptr()) };
        assert_eq!(parts, [vec![0, 1], vec![2, 3, 4], vec![5, 0]]);
    }

    #[test]
    fn what_memory_cannot_hold_is_refused() {
        let long = Piece::to_read(std::ptr::null(), usize::MAX);
        let one = Piece::to_read(std::ptr::null(), 1);
        assert_eq!(len_of(&[long, one]), None);
        assert_eq!(len_of(&[long]), None);
        assert_eq!(len_of(&[one; PIECES_MAX]), Some(PIECES_MAX));
        assert_eq!(len_of(&[one; PIECES_MAX + 1]), None);
        assert_eq!(len_of(&[]), Some(0));
    }
}
