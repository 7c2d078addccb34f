//! System messages that the program holds: read in place, released in any order.

use std::collections::VecDeque;

use bcl_shm::Corrupt;
use bcl_shm::pair::PairEnd;
use bcl_shm::sync::Ordering;

use super::message::{INLINE_MAX, Message};

/// System messages of one sender that may be unreleased at a time; the sender waits beyond that.
pub const SYSTEM_CREDITS: u64 = 128;
/// Longest message of the system channel.
pub const SYSTEM_MAX: usize = 8192;

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
    held: VecDeque<Held>,
    /// Tiny messages are copied out of their cell, so that a held one does not block the ring.
    copies: Box<[[u8; INLINE_MAX]]>,
}

impl Inbox {
    pub fn new() -> Self {
        Self {
            first: 0,
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
        let mut pool_end = None;
        while let Some(front) = self.held.front().filter(|held| held.released) {
            pool_end = front.pool_end.or(pool_end);
            self.held.pop_front();
            self.first += 1;
        }
        if let Some(end) = pool_end {
            pair.pool_in.release(end);
        }
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
