//! A table whose places are reused, and whose names are not.

/// Things by name: a name that was given once is never another thing's.
#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Entry<T> {
    number: u32,
    value: Option<T>,
}

/// A place, and which of its inhabitants is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub slot: u32,
    pub number: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slab<T> {
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    #[inline]
    pub fn insert(&mut self, value: T) -> Name {
        if let Some(slot) = self.free.pop()
            && let Some(entry) = self.entries.get_mut(slot as usize)
        {
            entry.value = Some(value);
            let number = entry.number;
            return Name { slot, number };
        }
        let slot = self.entries.len() as u32;
        self.entries.push(Entry {
            number: 1,
            value: Some(value),
        });
        Name { slot, number: 1 }
    }

    #[inline]
    pub fn get(&self, name: Name) -> Option<&T> {
        let entry = self.entries.get(name.slot as usize)?;
        entry.value.as_ref().filter(|_| entry.number == name.number)
    }

    #[inline]
    pub fn get_mut(&mut self, name: Name) -> Option<&mut T> {
        let entry = self.entries.get_mut(name.slot as usize)?;
        if entry.number != name.number {
            return None;
        }
        entry.value.as_mut()
    }

    #[inline]
    pub fn remove(&mut self, name: Name) -> Option<T> {
        let entry = self.entries.get_mut(name.slot as usize)?;
        if entry.number != name.number {
            return None;
        }
        let value = entry.value.take()?;
        entry.number = entry.number.wrapping_add(1);
        self.free.push(name.slot);
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Name, &T)> {
        self.entries.iter().enumerate().filter_map(|(slot, entry)| {
            let name = Name {
                slot: slot as u32,
                number: entry.number,
            };
            Some((name, entry.value.as_ref()?))
        })
    }
}

#[test]
fn a_name_is_used_once() {
    let mut slab = Slab::default();
    let first = slab.insert('a');
    assert_eq!(slab.remove(first), Some('a'));
    let second = slab.insert('b');
    assert_eq!(second.slot, first.slot);
    assert_eq!(slab.get(first), None);
    assert_eq!(slab.remove(first), None);
    assert_eq!(slab.get(second), Some(&'b'));
    assert_eq!(slab.len(), 1);
}
