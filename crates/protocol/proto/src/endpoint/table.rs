//! The connections of an endpoint, by our name for them and by peer.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use bcl_types::Address;

use crate::connection::Connection;
use crate::secrets::Secrets;

/// The lower half of a connection's id is its place, the upper is random.
const PLACE_BITS: u32 = 16;
/// Places that are proposed to peers ahead of those in use.
const AHEAD: u32 = 256;

/// Multiplication spreads addresses well enough (as in rustc's FxHash), and is the same in every run.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedHasher(u64);

impl Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

/// Connections, found by our name for them and by peer. A place takes 8 bytes; what is in it is a box that only an
/// active peer has.
#[derive(Debug, Default)]
pub struct Table {
    places: Vec<Option<Box<Connection>>>,
    by_peer: HashMap<Address, u32, BuildHasherDefault<FixedHasher>>,
    /// The peer that was looked for last, and its place: most often it is wanted again.
    latest: Option<(Address, u32)>,
    count: usize,
    proposed: u32,
}

impl Table {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub fn get(&self, place: u32) -> Option<&Connection> {
        self.places.get(place as usize)?.as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> Option<&mut Connection> {
        self.places.get_mut(place as usize)?.as_deref_mut()
    }

    /// The place of a connection, by its id.
    #[inline]
    pub fn place_of(&self, id: u32) -> Option<u32> {
        self.named(id)
            .map(|connection| connection.id & ((1 << PLACE_BITS) - 1))
    }

    /// The connection with this id.
    #[inline]
    pub fn named(&self, id: u32) -> Option<&Connection> {
        let place = id & ((1 << PLACE_BITS) - 1);
        self.get(place).filter(|connection| connection.id == id)
    }

    #[inline]
    pub fn find(&mut self, peer: Address) -> Option<u32> {
        if let Some((latest, place)) = self.latest
            && latest == peer
        {
            return Some(place);
        }
        let place = self.by_peer.get(&peer).copied()?;
        self.latest = Some((peer, place));
        Some(place)
    }

    pub fn knows(&self, peer: Address) -> bool {
        self.by_peer.contains_key(&peer)
    }

    /// An id whose place is free, and not proposed again soon.
    pub fn propose(&mut self, secrets: &mut Secrets) -> u32 {
        let end = (self.places.len() as u32 + AHEAD).min(1 << PLACE_BITS);
        for _ in 0..end {
            self.proposed = (self.proposed + 1) % end;
            if self.get(self.proposed).is_none() {
                break;
            }
        }
        let upper = (secrets.next() as u32) << PLACE_BITS;
        // Never 0, which means that a name is not known.
        (upper | self.proposed).max(1 << PLACE_BITS)
    }

    /// Puts a connection into the place that its id names. False if that is taken.
    pub fn insert(&mut self, connection: Box<Connection>) -> Result<u32, Box<Connection>> {
        let place = connection.id & ((1 << PLACE_BITS) - 1);
        if self.get(place).is_some() {
            return Err(connection);
        }
        if place as usize >= self.places.len() {
            self.places.resize_with(place as usize + 1, || None);
        }
        if !connection.is_mirror {
            self.by_peer.insert(connection.peer, place);
        }
        self.latest = None;
        self.count += 1;
        self.places[place as usize] = Some(connection);
        Ok(place)
    }

    pub fn remove(&mut self, place: u32) -> Option<Box<Connection>> {
        let connection = self.places.get_mut(place as usize)?.take()?;
        self.count -= 1;
        self.latest = None;
        if self.by_peer.get(&connection.peer) == Some(&place) {
            self.by_peer.remove(&connection.peer);
        }
        Some(connection)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.places.iter().flatten().map(|connection| &**connection)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        let connections = self.places.iter_mut().flatten();
        connections.map(|connection| &mut **connection)
    }

    /// All places in use.
    pub fn places(&self) -> Vec<u32> {
        (0..self.places.len() as u32)
            .filter(|place| self.get(*place).is_some())
            .collect()
    }

    pub fn memory_bytes(&self) -> usize {
        let entry = size_of::<(Address, u32)>() + 1;
        self.places.capacity() * size_of::<Option<Box<Connection>>>()
            + self.by_peer.capacity() * entry
            + self.iter().map(Connection::memory_bytes).sum::<usize>()
    }
}
