//! Bounded memory for payloads, in three sizes, kept for the next payload when one is given back.

use crate::slab::{Name, Slab};

/// Sizes of buffers: tiny messages; packets of Ethernet's usual MTU; whole short messages and jumbo frames; messages that are
/// pushed.
const SIZES: [usize; 5] = [256, 2048, 9216, 24 << 10, 64 << 10];
const _: () = assert!(SIZES[4] as u64 == bcl_wire::PUSHED_MAX);

/// A number of buffers that together stay below a limit.
#[derive(Debug)]
pub struct Buffers {
    slab: Slab<Buffer>,
    free: [Vec<Box<[u8]>>; SIZES.len()],
    limit_bytes: usize,
    /// What is kept beyond what is in use.
    keep_bytes: usize,
    used_bytes: usize,
    free_bytes: usize,
}

#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    /// The connection that it is charged to.
    owner: u32,
    /// Whether the program has it, and may give it back.
    is_lent: bool,
}

impl Buffers {
    pub fn new(limit_bytes: usize, keep_bytes: usize) -> Self {
        Self {
            slab: Slab::default(),
            free: [const { Vec::new() }; SIZES.len()],
            limit_bytes,
            keep_bytes,
            used_bytes: 0,
            free_bytes: 0,
        }
    }

    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    pub fn memory_bytes(&self) -> usize {
        self.used_bytes + self.free_bytes
    }

    pub fn lent(&self) -> usize {
        self.slab
            .iter()
            .filter(|(_, buffer)| buffer.is_lent)
            .count()
    }

    /// What a payload of this length takes.
    #[inline]
    pub fn cost(len_bytes: usize) -> usize {
        SIZES[class(len_bytes)]
    }

    pub fn room_bytes(&self) -> usize {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }

    /// A buffer for `len_bytes`, at most the largest size, charged to `owner`.
    #[inline]
    pub fn take(&mut self, len_bytes: usize, owner: u32) -> Option<Name> {
        let size = SIZES[class(len_bytes)];
        if len_bytes > size || self.used_bytes + size > self.limit_bytes {
            return None;
        }
        Some(self.take_all_the_same(len_bytes, owner))
    }

    /// The same beyond the limit, of a length that was looked at: somebody else sees to it that it is not often so.
    #[inline]
    pub fn take_all_the_same(&mut self, len_bytes: usize, owner: u32) -> Name {
        let class = class(len_bytes);
        let size = SIZES[class];
        let bytes = match self.free[class].pop() {
            Some(bytes) => {
                self.free_bytes -= size;
                bytes
            }
            None => {
                self.shed(size);
                vec![0; size].into_boxed_slice()
            }
        };
        self.used_bytes += size;
        self.slab.insert(Buffer {
            bytes,
            owner,
            is_lent: false,
        })
    }

    /// Lets go of free buffers of other sizes, if all together would be too much.
    fn shed(&mut self, size: usize) {
        for class in (0..SIZES.len()).rev() {
            while self.used_bytes + self.free_bytes + size > self.limit_bytes
                && self.free[class].pop().is_some()
            {
                self.free_bytes -= SIZES[class];
            }
        }
    }

    #[inline]
    pub fn get(&self, name: Name) -> Option<&[u8]> {
        self.slab.get(name).map(|buffer| &*buffer.bytes)
    }

    #[inline]
    pub fn get_mut(&mut self, name: Name) -> Option<&mut [u8]> {
        self.slab.get_mut(name).map(|buffer| &mut *buffer.bytes)
    }

    /// The program gets it.
    #[inline]
    pub fn lend(&mut self, name: Name) {
        if let Some(buffer) = self.slab.get_mut(name) {
            buffer.is_lent = true;
        }
    }

    pub fn is_lent(&self, name: Name) -> bool {
        self.slab.get(name).is_some_and(|buffer| buffer.is_lent)
    }

    /// Takes a buffer out, for [`recycle`](Self::recycle) or [`attach`](Self::attach).
    pub fn detach(&mut self, name: Name) -> Option<(Box<[u8]>, u32)> {
        let buffer = self.slab.remove(name)?;
        self.used_bytes -= buffer.bytes.len();
        Some((buffer.bytes, buffer.owner))
    }

    /// Puts a buffer back that was taken out.
    pub fn attach(&mut self, bytes: Box<[u8]>, owner: u32) -> Name {
        self.used_bytes += bytes.len();
        self.slab.insert(Buffer {
            bytes,
            owner,
            is_lent: false,
        })
    }

    /// Keeps the memory for the next.
    pub fn recycle(&mut self, bytes: Box<[u8]>) {
        let size = bytes.len();
        if self.free_bytes + size <= self.keep_bytes {
            self.free_bytes += size;
            self.free[class(size)].push(bytes);
        }
    }

    /// Gives it back. Returns whom it was charged to, and how much.
    #[inline]
    pub fn give_back(&mut self, name: Name) -> Option<(u32, usize)> {
        let (bytes, owner) = self.detach(name)?;
        let size = bytes.len();
        self.recycle(bytes);
        Some((owner, size))
    }
}

#[inline]
fn class(len_bytes: usize) -> usize {
    match len_bytes {
        0..=256 => 0,
        257..=2048 => 1,
        2049..=9216 => 2,
        9217..=24_576 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_over_all_sizes() {
        let mut buffers = Buffers::new(10_000, 10_000);
        let large = buffers.take(9_000, 1).unwrap();
        let small = buffers.take(1, 2).unwrap();
        assert!(buffers.take(2_000, 1).is_none());
        assert_eq!(buffers.give_back(large), Some((1, 9216)));
        assert_eq!(buffers.give_back(large), None);
        assert_eq!(buffers.memory_bytes(), 9216 + 256);
        for _ in 0..4 {
            buffers.take(1_000, 1).unwrap();
        }
        assert!(buffers.memory_bytes() <= 10_000);
        assert!(buffers.get(small).is_some() && buffers.get(large).is_none());
        assert!(Buffers::new(1 << 20, 0).take(65_537, 1).is_none());
    }
}
