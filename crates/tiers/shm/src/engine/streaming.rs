//! Messages that are streamed, at their sender ([SHM-4.7]): piece by piece through the stream ring of the pair or, the longer
//! ones, over the stage of the port ([SHM-4.15]).

use std::collections::VecDeque;

use bcl_rings::Corrupt;
use bcl_tier::Pieces;

use super::link::Link;
use super::message::{Kind, Message};
use super::stage::sent::OnStage;
use super::stage::{PLACE_BYTES, Stages};

/// Size of the pieces that go through the ring: four fit in it, so that both ends copy at once.
const RING_PIECE_BYTES: usize = 8 << 10;
/// What goes of one message before the next has its turn.
const TURN_BYTES: usize = 1 << 20;
/// Messages of this length and more go over the stage.
const STAGED_MIN: usize = 64 << 10;

#[derive(Debug)]
struct Stream {
    number: u32,
    memory: Pieces,
    offset: usize,
    /// Its pieces lie on the stage, as far as there is room.
    is_staged: bool,
    is_past_caches: bool,
}

/// How the receiver of a message wishes it to be streamed.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Which stage it has mapped; 0 for none.
    pub stage: u64,
    /// Written past the caches.
    pub is_past_caches: bool,
}

/// All of one connection.
#[derive(Debug, Default)]
pub struct Streaming {
    streams: VecDeque<Stream>,
    on_stage: OnStage,
}

impl Streaming {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    pub fn holds(&self, number: u32) -> bool {
        self.position(number).is_some()
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.streams
            .iter()
            .position(|stream| stream.number == number)
    }

    /// One more.
    pub fn begin(
        &mut self,
        number: u32,
        memory: Pieces,
        manner: Manner,
        link: &Link,
        stages: &Stages,
    ) {
        let is_staged = memory.len_bytes() >= STAGED_MIN
            && self
                .on_stage
                .is_seen(manner.stage, self.uses_stage(), link, stages);
        self.streams.push_back(Stream {
            number,
            memory,
            offset: 0,
            is_staged,
            is_past_caches: manner.is_past_caches,
        });
    }

    fn uses_stage(&self) -> bool {
        self.streams.iter().any(|stream| stream.is_staged)
    }

    /// Sends no more of one; whether it was not sent already.
    pub fn stop(&mut self, number: u32) -> bool {
        let position = self.position(number);
        position
            .and_then(|index| self.streams.remove(index))
            .is_some()
    }

    /// Pieces, of which the messages take turns, for as long as there is room. Whether there were any.
    pub fn push(
        &mut self,
        link: &mut Link,
        handled: u32,
        stages: &Stages,
    ) -> Result<bool, Corrupt> {
        let mut moved = false;
        while link.pair.cells_out.free(1)? > 0 {
            let Some(piece) = self.next_piece(link, stages)? else {
                break;
            };
            link.pair
                .cells_out
                .send(&Message { handled, ..piece }.encode());
            // Each piece wakes the receiver at once: it copies out while we copy in the next.
            moved = true;
        }
        Ok(moved)
    }

    /// Writes the next piece where there is room for it; `None` if there is no piece, or no room.
    fn next_piece(&mut self, link: &mut Link, stages: &Stages) -> Result<Option<Message>, Corrupt> {
        let uses_stage = self.uses_stage();
        let Some(stream) = self.streams.front_mut() else {
            return Ok(None);
        };
        let total = stream.memory.len_bytes();
        let left = total - stream.offset;
        let on_stage = match stream.is_staged {
            true => self.on_stage.take(link)?,
            false => None,
        };
        let (start, len, args) = match on_stage {
            Some(place) => {
                let len = left.min(PLACE_BYTES);
                (place.start, len, [place.stage, place.offset, 0])
            }
            None if stream.is_staged && self.on_stage.holds_any() => return Ok(None),
            None => {
                let len = left.min(RING_PIECE_BYTES);
                let Some(start) = link.pair.stream_out.reserve(len as u32)? else {
                    return Ok(None);
                };
                let to_show = match total >= STAGED_MIN {
                    true => self.on_stage.number_to_show(uses_stage, link, stages),
                    false => 0,
                };
                (start, len, [0, 0, to_show])
            }
        };
        // SAFETY: the source stays valid until its operation completes; there is room for the piece at `start`.
        unsafe {
            match stream.is_past_caches {
                true => stream
                    .memory
                    .copy_out_past_caches(stream.offset, len, start),
                false => stream.memory.copy_out(stream.offset, len, start),
            }
        };
        let mut message = Message::with_payload(Kind::Data, 0, len as u32);
        message.args[0] = u64::from(stream.number);
        message.args[1..4].copy_from_slice(&args);
        let turn = stream.offset / TURN_BYTES;
        stream.offset += len;
        if stream.offset == total {
            self.streams.pop_front();
        } else if stream.offset / TURN_BYTES != turn {
            self.streams.rotate_left(1);
        }
        Ok(Some(message))
    }

    /// Finds out what the peer has taken from the stage, so that others get the room.
    #[inline]
    pub fn look(&mut self, link: &Link) -> Result<(), Corrupt> {
        if self.on_stage.holds_any() {
            self.on_stage.look(link)?;
        }
        Ok(())
    }
}
