//! Things under names that are never used twice, so that a late answer meets nobody: operations of a port, and what a middle
//! layer has under way.

/// Names what is in a slab: the place, and above it how often the place was used.
pub type Id = u64;

/// A table whose places are used again, under other names.
#[derive(Debug)]
pub struct Slab<T> {
    /// What a place is said to have been used before.
    first: u32,
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self::starting(0)
    }
}

impl<T> Slab<T> {
    /// One whose places are said to have been used so often: what is in it has other names than in one that starts elsewhere.
    pub fn starting(first: u32) -> Self {
        Self {
            first,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many things are in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts something in.
    #[inline]
    pub fn insert(&mut self, value: T) -> Id {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push((self.first, None));
                (self.slots.len() - 1) as u32
            }
        };
        let (uses, slot) = &mut self.slots[index as usize];
        *uses = uses.wrapping_add(1);
        *slot = Some(value);
        u64::from(*uses) << 32 | u64::from(index)
    }

    /// What is there under this name.
    #[inline]
    pub fn get(&self, id: Id) -> Option<&T> {
        let (uses, slot) = self.slots.get(id as u32 as usize)?;
        slot.as_ref().filter(|_| *uses == (id >> 32) as u32)
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        let (uses, slot) = self.slots.get_mut(id as u32 as usize)?;
        slot.as_mut().filter(|_| *uses == (id >> 32) as u32)
    }

    /// Takes something out.
    #[inline]
    pub fn remove(&mut self, id: Id) -> Option<T> {
        let (uses, slot) = self.slots.get_mut(id as u32 as usize)?;
        if *uses != (id >> 32) as u32 {
            return None;
        }
        let value = slot.take()?;
        self.free.push(id as u32);
        Some(value)
    }

    /// All that is in it, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Id, &T)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, (uses, slot))| {
            let id = u64::from(*uses) << 32 | index as u64;
            Some((id, slot.as_ref()?))
        })
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|(_, slot)| slot.as_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_good_once() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!((slab.get(first), slab.len()), (Some(&'a'), 1));
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(second as u32, first as u32, "the place is used again");
        assert_ne!(first, second);
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.len(), 1);
        assert_eq!(slab.get_mut(second), Some(&mut 'b'));
        assert_eq!(slab.iter().collect::<Vec<_>>(), [(second, &'b')]);
    }
}
