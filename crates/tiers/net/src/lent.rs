//! Memory that operations under way have lent to this tier, by the names of the operations.

use bcl_types::OpId;

/// What an operation lends.
#[derive(Debug, Clone, Copy)]
pub enum Memory {
    /// To be read: the source of a send or a put.
    Source(*const u8, usize),
    /// To be written: a posted buffer, or the target of a get.
    Target(*mut u8, usize),
}

// SAFETY: an address that is only carried; the program vouches for the memory until the operation ends, whichever
// thread reads or writes it.
unsafe impl Send for Memory {}

/// The memory of operations under way. Names of operations come from a slab, so that their low half is a small number.
#[derive(Debug, Default)]
pub struct Lent {
    slots: Vec<Option<(OpId, Memory)>>,
}

impl Lent {
    /// The operation begins.
    pub fn lend(&mut self, op: OpId, memory: Memory) {
        let index = index_of(op);
        if index >= self.slots.len() {
            self.slots.resize(index + 1, None);
        }
        self.slots[index] = Some((op, memory));
    }

    /// The operation has ended: its memory is the program's again.
    pub fn give_back(&mut self, op: OpId) {
        if let Some(slot) = self.slots.get_mut(index_of(op))
            && slot.is_some_and(|(owner, _)| owner == op)
        {
            *slot = None;
        }
    }

    /// A piece of what is to be sent; `None` if the operation has ended or is shorter.
    pub fn piece(&self, op: OpId, offset: u64, len_bytes: usize) -> Option<&[u8]> {
        let (Memory::Source(start, total), offset) = (self.of(op)?, usize::try_from(offset).ok()?)
        else {
            return None;
        };
        let end = offset.checked_add(len_bytes)?;
        // SAFETY: inside the memory that the program lent until the operation ends, as just checked.
        (end <= total)
            .then(|| unsafe { std::slice::from_raw_parts(start.wrapping_add(offset), len_bytes) })
    }

    /// Writes what has arrived; false if the operation has ended or is shorter.
    pub fn place(&mut self, op: OpId, offset: u64, bytes: &[u8]) -> bool {
        let (Some(Memory::Target(start, total)), Ok(offset)) =
            (self.of(op), usize::try_from(offset))
        else {
            return false;
        };
        let fits = offset
            .checked_add(bytes.len())
            .is_some_and(|end| end <= total);
        if fits {
            // SAFETY: inside the memory that the program lent until the operation ends, as just checked.
            unsafe {
                let to = start.wrapping_add(offset);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
            }
        }
        fits
    }

    fn of(&self, op: OpId) -> Option<Memory> {
        let (owner, memory) = (*self.slots.get(index_of(op))?)?;
        (owner == op).then_some(memory)
    }
}

fn index_of(op: OpId) -> usize {
    op as u32 as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reached_inside_its_bounds_and_while_it_is_lent() {
        let source = [1u8, 2, 3, 4];
        let mut target = [0u8; 4];
        let mut lent = Lent::default();
        lent.lend(5, Memory::Source(source.as_ptr(), 4));
        lent.lend(1 << 32 | 6, Memory::Target(target.as_mut_ptr(), 4));
        assert_eq!(lent.piece(5, 1, 3), Some(&[2u8, 3, 4][..]));
        assert_eq!(lent.piece(5, 2, 3), None);
        assert_eq!(lent.piece(5, u64::MAX, 1), None);
        assert_eq!(lent.piece(1 << 32 | 5, 0, 1), None);
        assert!(!lent.place(5, 0, &[9]));
        assert!(!lent.place(6, 0, &[9]));
        assert!(!lent.place(1 << 32 | 6, 4, &[9]));
        assert!(lent.place(1 << 32 | 6, 3, &[9]));
        lent.give_back(1 << 32 | 6);
        assert!(!lent.place(1 << 32 | 6, 0, &[9]));
        assert_eq!(target, [0, 0, 0, 9]);
    }
}
