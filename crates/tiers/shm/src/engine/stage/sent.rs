//! What one connection has on the stage of its port ([SHM-4.15]).

use std::collections::VecDeque;
use std::sync::Arc;

use bcl_rings::Corrupt;

use super::{PLACE_BYTES, PLACES, Stage, Stages};
use crate::engine::link::Link;

/// Pieces of one connection that lie there at a time: others need some too.
const PLACES_PER_PEER: usize = PLACES as usize / 2;

/// A piece's place.
pub struct Place {
    pub start: *mut u8,
    pub stage: u64,
    pub offset: u64,
}

/// The pieces of one connection.
#[derive(Debug, Default)]
pub struct OnStage {
    /// Which stage they lie on; the peer has it mapped.
    stage: Option<Arc<Stage>>,
    /// Where they lie, in their order, until the peer has taken them.
    places: VecDeque<u32>,
    /// How many the peer has taken.
    taken: u64,
}

impl OnStage {
    /// The peer has asked for a message and has the stage of this number mapped, or none if 0. Whether the message goes that
    /// way. `has_streams`: others do.
    pub fn is_seen(
        &mut self,
        number: u64,
        has_streams: bool,
        link: &Link,
        stages: &Stages,
    ) -> bool {
        if number == 0 || !link.is_of_own_user {
            return false;
        }
        self.leave_if_retired(has_streams);
        if self.stage.is_none() {
            self.stage = stages.current().filter(|stage| stage.number() == number);
        }
        self.stage
            .as_ref()
            .is_some_and(|stage| stage.number() == number)
    }

    /// Which one the peer should ask for; 0 for none.
    pub fn number_to_show(&mut self, has_streams: bool, link: &Link, stages: &Stages) -> u64 {
        self.leave_if_retired(has_streams);
        if self.stage.is_some() || !link.is_of_own_user {
            return 0;
        }
        stages.current().map_or(0, |stage| stage.number())
    }

    /// The peer maps one at a time: it has to have taken all of one before it is shown the next.
    fn leave_if_retired(&mut self, has_streams: bool) {
        let is_in_use = has_streams || self.holds_any();
        if !is_in_use && self.stage.as_ref().is_some_and(|stage| stage.is_retired()) {
            self.stage = None;
        }
    }

    /// Room for one more piece, if there is some.
    pub fn take(&mut self, link: &Link) -> Result<Option<Place>, Corrupt> {
        if self.places.len() >= PLACES_PER_PEER {
            self.look(link)?;
        }
        let Some(stage) = &self.stage else {
            return Ok(None);
        };
        if self.places.len() >= PLACES_PER_PEER {
            return Ok(None);
        }
        let place = stage.room().take();
        Ok(place.map(|place| {
            self.places.push_back(place);
            let offset = place as usize * PLACE_BYTES;
            Place {
                start: stage.region.start().wrapping_add(offset),
                stage: stage.number(),
                offset: offset as u64,
            }
        }))
    }

    /// Whether some may lie there.
    #[inline]
    pub fn holds_any(&self) -> bool {
        !self.places.is_empty()
    }

    /// Finds out what the peer has taken.
    pub fn look(&mut self, link: &Link) -> Result<(), Corrupt> {
        let taken = link.pair.peer_returns().staged();
        let newly = taken
            .checked_sub(self.taken)
            .filter(|newly| *newly <= self.places.len() as u64)
            .ok_or(Corrupt("count of the pieces taken from the stage"))?;
        self.taken = taken;
        if let Some(stage) = &self.stage {
            let mut room = stage.room();
            for place in self.places.drain(..newly as usize) {
                room.give_back(place);
            }
        }
        Ok(())
    }
}

impl Drop for OnStage {
    /// The peer may be reading what lies there: it is not used again, and who comes now gets another stage.
    fn drop(&mut self) {
        if let Some(stage) = self.stage.as_ref().filter(|_| self.holds_any()) {
            stage.room().is_retired = true;
        }
    }
}
