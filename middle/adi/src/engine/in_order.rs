//! What has met multi-receive buffers is told of in the order in which it did ([ADI-3.8]), whatever is here first: what reads
//! such a buffer reads a stream.

use std::collections::VecDeque;

use bcl_raw::slab::Id;

use crate::completion::Completion;

/// Messages of one peer that have met such buffers and were not told of.
#[derive(Debug, Default)]
pub struct InOrder {
    /// The turn of the first.
    first: u64,
    /// Those that are here have their completion and their buffer.
    waiting: VecDeque<Option<(Completion, Id)>>,
}

impl InOrder {
    /// One more: its turn.
    #[inline]
    pub fn met(&mut self) -> u64 {
        self.waiting.push_back(None);
        self.first + self.waiting.len() as u64 - 1
    }

    /// That of this turn is here, or will not be.
    #[inline]
    pub fn ended(&mut self, turn: u64, completion: Completion, multi: Id) {
        let place = usize::try_from(turn - self.first).unwrap_or(usize::MAX);
        if let Some(waiting) = self.waiting.get_mut(place) {
            *waiting = Some((completion, multi));
        }
    }

    /// The next that can be told of.
    #[inline]
    pub fn next(&mut self) -> Option<(Completion, Id)> {
        let next = self.waiting.front_mut()?.take()?;
        self.waiting.pop_front();
        self.first += 1;
        Some(next)
    }
}
