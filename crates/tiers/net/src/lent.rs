//! Memory that operations under way have lent to this tier, by the names of the operations.

use bcl_tier::Pieces;
use bcl_types::OpId;

/// What an operation lends.
#[derive(Debug, Clone, Copy)]
pub enum Memory {
    /// To be read: the source of a send or a put.
    Source(Pieces),
    /// To be written: a posted buffer, or the target of a get.
    Target(Pieces),
}

// SAFETY: an address that is only carried; the program vouches for the memory until the operation ends, whichever
// thread reads or writes it.
unsafe impl Send for Memory {}

/// The memory of operations under way. Names of operations come from a slab, so that their low half is a small number.
#[derive(Debug, Default)]
pub struct Lent {
    slots: Vec<Option<(OpId, Memory)>>,
    /// How much of it is to be read and lies in several pieces.
    scattered: usize,
}

impl Lent {
    /// The operation begins.
    pub fn lend(&mut self, op: OpId, memory: Memory) {
        let index = index_of(op);
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        let before = self.slots[index].replace((op, memory));
        self.scattered -= usize::from(is_scattered(before));
        self.scattered += usize::from(is_scattered(self.slots[index]));
    }

    /// The operation has ended: its memory is the program's again.
    pub fn give_back(&mut self, op: OpId) {
        if let Some(slot) = self.slots.get_mut(index_of(op))
            && slot.is_some_and(|(owner, _)| owner == op)
        {
            self.scattered -= usize::from(is_scattered(slot.take()));
        }
    }

    /// Whether there is memory to be read that lies in several pieces.
    #[inline]
    pub fn is_scattered(&self) -> bool {
        self.scattered > 0
    }

    /// A part of what is to be sent, where it lies; `None` if it lies in several pieces, if the operation has ended or is
    /// shorter.
    #[inline]
    pub fn part(&self, op: OpId, offset: u64, len_bytes: usize) -> Option<&[u8]> {
        let (memory, offset) = self.source(op, offset, len_bytes)?;
        let start = memory.within_one(offset, len_bytes)?;
        // SAFETY: inside the memory that the program lent until the operation ends, as `source` has checked.
        Some(unsafe { std::slice::from_raw_parts(start, len_bytes) })
    }

    /// Gathers a part of what is to be sent; false if the operation has ended or is shorter.
    pub fn gather(&self, op: OpId, offset: u64, into: &mut [u8]) -> bool {
        let Some((memory, offset)) = self.source(op, offset, into.len()) else {
            return false;
        };
        // SAFETY: inside the memory that the program lent until the operation ends, as `source` has checked.
        unsafe { memory.copy_out(offset, into.len(), into.as_mut_ptr()) };
        true
    }

    #[inline]
    fn source(&self, op: OpId, offset: u64, len_bytes: usize) -> Option<(Pieces, usize)> {
        let Memory::Source(memory) = self.of(op)? else {
            return None;
        };
        is_inside(&memory, offset, len_bytes).map(|offset| (memory, offset))
    }

    /// Writes what has arrived; false if the operation has ended or is shorter.
    #[inline]
    pub fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        let Some(Memory::Target(memory)) = self.of(op) else {
            return false;
        };
        let Some(offset) = is_inside(&memory, offset, bytes.len()) else {
            return false;
        };
        // SAFETY: inside the memory that the program lent until the operation ends, as just checked.
        unsafe { memory.copy_in(offset, bytes.len(), bytes.as_ptr()) };
        true
    }

    fn of(&self, op: OpId) -> Option<Memory> {
        let (owner, memory) = (*self.slots.get(index_of(op))?)?;
        (owner == op).then_some(memory)
    }
}

fn is_scattered(slot: Option<(OpId, Memory)>) -> bool {
    matches!(slot, Some((_, Memory::Source(pieces))) if pieces.table().len() > 1)
}

/// The offset, if the range is inside.
fn is_inside(memory: &Pieces, offset: u64, len_bytes: usize) -> Option<usize> {
    let offset = usize::try_from(offset).ok()?;
    let end = offset.checked_add(len_bytes)?;
    (end <= memory.len_bytes()).then_some(offset)
}

fn index_of(op: OpId) -> usize {
    op as u32 as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_tier::Piece;

    #[test]
    fn memory_is_reached_inside_its_bounds_and_while_it_is_lent() {
        let mut source = [1u8, 2, 3, 4];
        let mut target = [0u8; 4];
        let mut lent = Lent::default();
        let memory = |bytes: &mut [u8; 4]| Pieces::one(bytes.as_mut_ptr(), 4);
        lent.lend(5, Memory::Source(memory(&mut source)));
        lent.lend(1 << 32 | 6, Memory::Target(memory(&mut target)));
        assert_eq!(lent.part(5, 1, 3), Some(&[2u8, 3, 4][..]));
        assert_eq!(lent.part(5, 2, 3), None);
        assert_eq!(lent.part(5, u64::MAX, 1), None);
        assert_eq!(lent.part(1 << 32 | 5, 0, 1), None);
        assert!(!lent.place(5, 0, &[9]));
        assert!(!lent.place(6, 0, &[9]));
        assert!(!lent.place(1 << 32 | 6, 4, &[9]));
        assert!(lent.place(1 << 32 | 6, 3, &[9]));
        lent.give_back(1 << 32 | 6);
        assert!(!lent.place(1 << 32 | 6, 0, &[9]));
        assert_eq!(target, [0, 0, 0, 9]);
    }

    #[test]
    fn memory_in_pieces_is_gathered_and_scattered() {
        let (mut first, mut second) = ([1u8, 2], [3u8, 4, 5]);
        let table = [&mut first[..], &mut second[..]].map(|bytes| Piece {
            start: bytes.as_mut_ptr(),
            len_bytes: bytes.len(),
        });
        // SAFETY: the table outlives its use.
        let pieces = unsafe { Pieces::several(&table) }.unwrap();
        let mut lent = Lent::default();
        assert!(!lent.is_scattered());
        lent.lend(1, Memory::Source(pieces));
        assert!(lent.is_scattered());
        assert_eq!(lent.part(1, 2, 2), Some(&[3u8, 4][..]));
        assert_eq!(lent.part(1, 1, 2), None, "in two pieces");
        let mut gathered = [0u8; 3];
        assert!(lent.gather(1, 1, &mut gathered));
        assert_eq!(gathered, [2, 3, 4]);
        assert!(!lent.gather(1, 3, &mut gathered), "longer than there is");
        lent.lend(2, Memory::Target(pieces));
        lent.give_back(1);
        assert!(
            !lent.is_scattered(),
            "what is only written to is not asked for"
        );
        assert!(!lent.gather(1, 0, &mut gathered));
        assert!(lent.place(2, 1, &[8, 9]));
        assert!(!lent.place(2, 4, &[8, 9]));
        assert_eq!((first, second), ([1, 8], [9, 4, 5]));
    }
}
