//! Operations under way: what the program called them and what it lent them.

use std::sync::Arc;

use bcl_tier::Piece;
use bcl_types::OpId;

use crate::buffer::Buffer;

/// What an operation keeps until it ends.
#[derive(Debug)]
pub enum Held {
    /// Nothing: its caller vouches for the memory.
    Nothing,
    /// Memory that comes back with the event.
    Buffer(Buffer),
    /// The table of the pieces that its memory lies in.
    Pieces(#[expect(dead_code, reason = "kept for its address")] Arc<[Piece]>),
}

impl Held {
    /// The memory that comes back.
    #[inline]
    pub fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Buffer(buffer) => Some(buffer),
            Self::Nothing | Self::Pieces(_) => None,
        }
    }
}

impl From<Option<Buffer>> for Held {
    #[inline]
    fn from(buffer: Option<Buffer>) -> Self {
        buffer.map_or(Self::Nothing, Self::Buffer)
    }
}

/// One operation.
#[derive(Debug)]
pub struct Op {
    pub cookie: u64,
    pub held: Held,
    /// What the sender of the message that has met a posted buffer has given along.
    pub immediate: u64,
}

impl Op {
    #[inline]
    pub fn new(cookie: u64, held: impl Into<Held>) -> Self {
        Self {
            cookie,
            held: held.into(),
            immediate: 0,
        }
    }

    /// Whether its end brings memory back.
    #[inline]
    pub fn has_buffer(&self) -> bool {
        matches!(self.held, Held::Buffer(_))
    }
}

/// A slab; names are never reused, so that a late answer meets nobody.
#[derive(Debug, Default)]
pub struct Ops {
    slots: Vec<(u32, Option<Op>)>,
    free: Vec<u32>,
}

impl Ops {
    /// Operations under way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub fn insert(&mut self, op: Op) -> OpId {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push((0, None));
                (self.slots.len() - 1) as u32
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.0 = slot.0.wrapping_add(1);
        slot.1 = Some(op);
        u64::from(slot.0) << 32 | u64::from(index)
    }

    #[inline]
    pub fn take(&mut self, id: OpId) -> Option<Op> {
        let op = self.slot(id)?.take()?;
        self.free.push(id as u32);
        Some(op)
    }

    /// A posted buffer has met a message.
    #[inline]
    pub fn note_immediate(&mut self, id: OpId, immediate: u64) {
        if let Some(Some(op)) = self.slot(id) {
            op.immediate = immediate;
        }
    }

    /// Where the operation is, or another was before it under an older name.
    #[inline]
    fn slot(&mut self, id: OpId) -> Option<&mut Option<Op>> {
        let (number, op) = self.slots.get_mut(id as u32 as usize)?;
        (*number == (id >> 32) as u32).then_some(op)
    }

    pub fn get(&self, id: OpId) -> Option<&Op> {
        let slot = self
            .slots
            .get(id as u32 as usize)
            .filter(|slot| slot.0 == (id >> 32) as u32)?;
        slot.1.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_good_once() {
        let mut ops = Ops::default();
        let first = ops.insert(Op::new(1, None));
        assert_eq!(ops.take(first).map(|op| op.cookie), Some(1));
        assert!(ops.take(first).is_none());
        let second = ops.insert(Op::new(2, None));
        assert_ne!(first, second);
        assert!(ops.take(first).is_none());
        assert_eq!(ops.len(), 1);
    }
}
