//! System messages that the program holds: read in place, released in any order.

use std::collections::VecDeque;

use bcl_os::sync::Ordering;
use bcl_rings::Corrupt;
use bcl_rings::pair::PairEnd;
use bcl_types::SYSTEM_MAX;

use super::message::{INLINE_MAX, Message};

/// System messages of one sender that may be unreleased at a time; the sender waits beyond that.
pub const SYSTEM_CREDITS: u64 = 128;
/// Room goes back to the sender in batches of so many messages, or so many bytes, or when a poll finds nothing:
/// a sender that waits reads the return line again and again, and each write to it then costs a cache miss.
const BATCH: u64 = 16;
const BATCH_BYTES: u64 = 8 << 10;

#[derive(Debug, Clone, Copy)]
struct Held {
    /// Pool position to release, for messages that lie there.
    pool_end: Option<u64>,
    released: bool,
}

/// The messages of one connection, oldest first.
#[derive(Debug)]
pub struct Inbox {
    first: u64,
    /// What the sender knows of `first`, and of the pool's end.
    returned: u64,
    pool_returned: u64,
    pool_end: u64,
    held: VecDeque<Held>,
    /// Tiny messages are copied out of their cell, so that a held one does not block the ring.
    copies: Box<[[u8; INLINE_MAX]]>,
}

impl Inbox {
    pub fn new() -> Self {
        Self {
            first: 0,
            returned: 0,
            pool_returned: 0,
            pool_end: 0,
            held: VecDeque::new(),
            copies: vec![[0; INLINE_MAX]; SYSTEM_CREDITS as usize].into_boxed_slice(),
        }
    }

    /// Takes a message in; returns its number and where it can be read until it is released.
    #[inline]
    pub fn accept(
        &mut self,
        pair: &mut PairEnd,
        message: &Message,
    ) -> Result<(u64, *const u8), Corrupt> {
        if self.held.len() as u64 >= SYSTEM_CREDITS {
            return Err(Corrupt("more system messages than there are credits"));
        }
        let number = self.first + self.held.len() as u64;
        let (start, pool_end) = if message.inline {
            let copy = &mut self.copies[(number % SYSTEM_CREDITS) as usize];
            let bytes = message.inline_bytes();
            copy[..bytes.len()].copy_from_slice(bytes);
            (copy.as_ptr(), None)
        } else {
            if message.len_bytes as usize > SYSTEM_MAX {
                return Err(Corrupt("length of a system message"));
            }
            let (start, end) = pair.pool_in.take(message.len_bytes)?;
            (start, Some(end))
        };
        self.held.push_back(Held {
            pool_end,
            released: false,
        });
        Ok((number, start))
    }

    /// Gives a message back; false if it was released before. Space returns to the sender in order.
    #[inline]
    pub fn release(&mut self, pair: &mut PairEnd, number: u64) -> bool {
        let Some(index) = number.checked_sub(self.first) else {
            return false;
        };
        match self.held.get_mut(index as usize) {
            Some(held) if !held.released => held.released = true,
            _ => return false,
        }
        while let Some(front) = self.held.front().filter(|held| held.released) {
            self.pool_end = front.pool_end.unwrap_or(self.pool_end);
            self.held.pop_front();
            self.first += 1;
        }
        if self.first - self.returned >= BATCH || self.pool_end - self.pool_returned >= BATCH_BYTES
        {
            self.give_back(pair);
        }
        true
    }

    /// Tells the sender of all room there is; false if it knows.
    #[inline]
    pub fn give_back(&mut self, pair: &mut PairEnd) -> bool {
        if self.first == self.returned {
            return false;
        }
        if self.pool_end != self.pool_returned {
            self.pool_returned = self.pool_end;
            pair.pool_in.release(self.pool_end);
        }
        self.returned = self.first;
        pair.my_returns()
            .system
            .store(self.first, Ordering::Release);
        true
    }

    /// How many the program holds.
    pub fn unreleased(&self) -> usize {
        self.held.iter().filter(|held| !held.released).count()
    }
}
