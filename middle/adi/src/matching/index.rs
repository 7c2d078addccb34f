//! Entries of a table by what counts of them for one shape: first in, first out for each key.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, OccupiedEntry};

use bcl_raw::slab::Id;

use super::hash::Seeded;
use super::pattern::{Key, Shape};

/// Chains of entries, one for each key. An entry that was taken by another way stays in its chain until it is met there, or
/// until there are too many such.
#[derive(Debug)]
pub struct Index {
    shape: Shape,
    chains: HashMap<Key, Chain, Seeded>,
    nodes: Vec<Node>,
    free: u32,
    /// Nodes in chains.
    used: usize,
    /// Of these, the ones whose entry is gone.
    stale: usize,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    first: u32,
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    entry: Id,
    /// Entries are numbered as they come, over all indexes of a table.
    order: u64,
    next: u32,
}

const NOBODY: u32 = u32::MAX;
/// So many stale nodes are no burden, however few others there are.
const STALE_MIN: usize = 16;

impl Index {
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            chains: HashMap::default(),
            nodes: Vec::new(),
            free: NOBODY,
            used: 0,
            stale: 0,
        }
    }

    #[inline]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether no entry is in it that is still there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used == self.stale
    }

    /// Puts the latest entry of the table in.
    #[inline]
    pub fn push(&mut self, key: Key, entry: Id, order: u64) {
        let node = self.take_node(Node {
            entry,
            order,
            next: NOBODY,
        });
        match self.chains.entry(key) {
            Entry::Occupied(mut chain) => {
                let chain = chain.get_mut();
                self.nodes[chain.last as usize].next = node;
                chain.last = node;
            }
            Entry::Vacant(place) => {
                place.insert(Chain {
                    first: node,
                    last: node,
                });
            }
        }
    }

    /// The oldest entry with this key that is still there, and its number.
    #[inline]
    pub fn first(&mut self, key: Key, is_there: impl Fn(Id) -> bool) -> Option<(Id, u64)> {
        loop {
            let chain = self.chains.get(&key)?;
            let Node { entry, order, .. } = self.nodes[chain.first as usize];
            if is_there(entry) {
                return Some((entry, order));
            }
            self.stale -= 1;
            if let Entry::Occupied(chain) = self.chains.entry(key) {
                let popped = pop(chain, &self.nodes);
                self.give_back(popped);
            }
        }
    }

    /// All entries with this key, oldest first, and some that are gone.
    pub fn chain(&self, key: Key) -> impl Iterator<Item = Id> + '_ {
        let mut next = self.chains.get(&key).map_or(NOBODY, |chain| chain.first);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            next = node.next;
            Some(node.entry)
        })
    }

    /// An entry with this key is gone from the table.
    #[inline]
    pub fn removed(&mut self, key: Key, entry: Id, is_there: impl Fn(Id) -> bool) {
        if let Entry::Occupied(chain) = self.chains.entry(key) {
            if self.nodes[chain.get().first as usize].entry == entry {
                let popped = pop(chain, &self.nodes);
                self.give_back(popped);
                return;
            }
        }
        self.stale += 1;
        if self.stale > STALE_MIN && self.stale * 2 > self.used {
            self.sweep(is_there);
        }
    }

    /// Takes out all whose entry is gone.
    fn sweep(&mut self, is_there: impl Fn(Id) -> bool) {
        let mut old = std::mem::replace(self, Self::new(self.shape));
        for (key, chain) in old.chains.drain() {
            let mut next = chain.first;
            while let Some(node) = old.nodes.get(next as usize) {
                if is_there(node.entry) {
                    self.push(key, node.entry, node.order);
                }
                next = node.next;
            }
        }
    }

    #[inline]
    fn take_node(&mut self, node: Node) -> u32 {
        self.used += 1;
        if self.free == NOBODY {
            self.nodes.push(node);
            return (self.nodes.len() - 1) as u32;
        }
        let index = self.free;
        let slot = &mut self.nodes[index as usize];
        self.free = slot.next;
        *slot = node;
        index
    }

    #[inline]
    fn give_back(&mut self, index: u32) {
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.used -= 1;
    }
}

/// Takes the first node out of its chain, and the chain out if it was the last.
#[inline]
fn pop(mut chain: OccupiedEntry<'_, Key, Chain>, nodes: &[Node]) -> u32 {
    let first = chain.get().first;
    match nodes[first as usize].next {
        NOBODY => drop(chain.remove()),
        next => chain.get_mut().first = next,
    }
    first
}
