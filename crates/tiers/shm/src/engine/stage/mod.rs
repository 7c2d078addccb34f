//! Memory of a port through which its long messages stream to peers of its user ([SHM-4.15]).
//!
//! The stream ring of a pair is small, for there is one for each peer and direction. Its lines never leave the caches of the
//! two cores, and to fetch a line that another core has just written, or to write one that another core has just read, takes
//! several times as long as from the cache behind both: 1 MiB has 8.7 GB/s through rings of up to 256 KiB, and 33 GB/s through 2
//! MiB, on an EPYC of 2023 whose second-level caches have 1 MiB. So what is long goes through as much memory as that, in a
//! round, which all connections of the port share: [`sent`] is what one of them has there, [`seen`] how its peer finds it.

pub mod seen;
pub mod sent;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bcl_os::cancel;
use bcl_tier::Region;

/// Longest piece of a message there.
pub const PLACE_BYTES: usize = 32 << 10;
/// Pieces that lie there at a time, of all connections.
const PLACES: u32 = u64::BITS;
/// Its length.
pub const STAGE_BYTES: usize = PLACES as usize * PLACE_BYTES;

/// The memory itself.
#[derive(Debug)]
pub struct Stage {
    region: Arc<Region>,
    room: Mutex<Room>,
}

/// Which of its places can be written.
#[derive(Debug)]
struct Room {
    /// Bit *n*: place *n* is free.
    free: u64,
    /// The place to use next, or the first after it that is free.
    next: u32,
    /// There is another: this is for those who use it.
    is_retired: bool,
}

impl Stage {
    /// `None` if there is no memory for it.
    fn new() -> Option<Arc<Self>> {
        let _off = cancel::Off::new();
        let region = Region::allocate_for_own_user(STAGE_BYTES).ok()?;
        let room = Mutex::new(Room {
            free: u64::MAX,
            next: 0,
            is_retired: false,
        });
        Some(Arc::new(Self { region, room }))
    }

    /// What peers call it.
    fn number(&self) -> u64 {
        self.region.id()
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_retired(&self) -> bool {
        self.room().is_retired
    }
}

impl Room {
    /// In a round, so that a place is not written again as long as the caches hold it.
    fn take(&mut self) -> Option<u32> {
        let ahead = self.free.rotate_right(self.next).trailing_zeros();
        if ahead == PLACES {
            return None;
        }
        let place = (self.next + ahead) % PLACES;
        self.free &= !(1 << place);
        self.next = (place + 1) % PLACES;
        Some(place)
    }

    fn give_back(&mut self, place: u32) {
        self.free |= 1 << place;
    }
}

/// The stage of a port: made when a long message is first streamed.
#[derive(Debug, Default)]
pub struct Stages {
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
enum Current {
    #[default]
    NotYet,
    Ready(Arc<Stage>),
    /// There was no memory for it. The rings do.
    NoMemory,
}

impl Stages {
    fn current(&self) -> Option<Arc<Stage>> {
        let mut current = self.lock();
        match &*current {
            Current::NoMemory => return None,
            Current::Ready(stage) if !stage.is_retired() => return Some(Arc::clone(stage)),
            Current::Ready(_) | Current::NotYet => {}
        }
        let stage = Stage::new();
        *current = stage.clone().map_or(Current::NoMemory, Current::Ready);
        stage
    }

    /// Bytes that it takes.
    pub fn len_bytes(&self) -> usize {
        match &*self.lock() {
            Current::Ready(_) => STAGE_BYTES,
            Current::NotYet | Current::NoMemory => 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a peer that lies.
    #[cfg(any(test, fuzzing))]
    pub fn number(&self) -> u64 {
        self.current().map_or(0, |stage| stage.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_in_a_round_and_each_by_one() {
        let stage = Stage::new().unwrap();
        let mut room = stage.room();
        let first: Vec<_> = (0..10).map_while(|_| room.take()).collect();
        first.iter().for_each(|place| room.give_back(*place));
        let next: Vec<_> = (0..PLACES).map_while(|_| room.take()).collect();
        let expected: Vec<_> = (10..PLACES).chain(0..10).collect();
        assert_eq!(next, expected);
        assert_eq!(room.take(), None);
        room.give_back(33);
        assert_eq!((room.take(), room.take()), (Some(33), None));
    }

    #[test]
    fn who_comes_after_a_retired_stage_gets_another() {
        let stages = Stages::default();
        assert_eq!(stages.len_bytes(), 0);
        let first = stages.current().unwrap();
        assert_eq!(stages.current().unwrap().number(), first.number());
        first.room().is_retired = true;
        let second = stages.current().unwrap();
        assert_ne!(second.number(), first.number());
        assert_eq!(stages.len_bytes(), STAGE_BYTES);
    }
}
