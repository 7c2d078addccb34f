//! Messages that come through the stream ring, at their receiver ([SHM-4.7]).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bcl_rings::Corrupt;
use bcl_tier::{CopyWay, Target};

use super::outgoing::DEFERRED_MAX;
use super::transfer::Payload;

/// Looks at a stream that stands still before one at the clock.
const LOOKS_PER_CLOCK: u32 = 16;

/// A message that its sender was asked to stream.
#[derive(Debug)]
pub struct StreamIn {
    pub number: u32,
    pub payload: Payload,
    pub target: Target,
    /// Bytes that have come.
    pub done: usize,
    /// Whether the kernel may copy it if the sender does not stream.
    pub has_alternative: bool,
    /// If it is measured: which way it comes, and from when.
    pub begun: Option<(CopyWay, Mark)>,
}

/// A moment, and what had come of all streams by then.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    at: Instant,
    come: u64,
    elsewhere: Duration,
}

/// All streams of one connection.
#[derive(Debug, Default)]
pub struct Streams {
    under_way: Vec<StreamIn>,
    /// Messages that were finished without the rest of their stream: how much of it may still come ([SHM-4.14]).
    superfluous: HashMap<u32, usize>,
    /// Bytes that have come of all streams.
    come: u64,
    /// Time that the receiver spent on messages that are no streams, while a stream was measured.
    elsewhere: Duration,
    stands_still_since: Option<Instant>,
    looks: u32,
}

impl Streams {
    pub fn push(&mut self, stream: StreamIn) {
        self.under_way.push(stream);
        self.goes_on();
    }

    /// From where to measure one.
    pub fn mark(&self) -> Mark {
        Mark {
            at: Instant::now(),
            come: self.come,
            elsewhere: self.elsewhere,
        }
    }

    /// Bytes of all streams since then, and the time that the receiver has had for them.
    pub fn since(&self, mark: Mark) -> (u64, Duration) {
        let elsewhere = self.elsewhere - mark.elsewhere;
        let time = mark.at.elapsed().saturating_sub(elsewhere);
        (self.come - mark.come, time)
    }

    pub fn is_measured(&self) -> bool {
        self.under_way.iter().any(|stream| stream.begun.is_some())
    }

    pub fn was_elsewhere(&mut self, time: Duration) {
        self.elsewhere += time;
    }

    /// Takes one out.
    pub fn take(&mut self, number: u32) -> Option<StreamIn> {
        let index = self.position(number)?;
        Some(self.under_way.swap_remove(index))
    }

    fn position(&self, number: u32) -> Option<usize> {
        let is_it = |stream: &StreamIn| stream.number == number;
        self.under_way.iter().position(is_it)
    }

    pub fn drain(&mut self) -> impl Iterator<Item = StreamIn> + '_ {
        self.under_way.drain(..)
    }

    /// Those that the kernel may copy instead.
    pub fn take_those_with_an_alternative(&mut self) -> Vec<StreamIn> {
        let (with, without) = std::mem::take(&mut self.under_way)
            .into_iter()
            .partition(|stream| stream.has_alternative);
        self.under_way = without;
        self.goes_on();
        with
    }

    /// Whether the kernel may copy any of them.
    pub fn has_alternative(&self) -> bool {
        self.under_way.iter().any(|stream| stream.has_alternative)
    }

    /// The kernel may copy none of them any more.
    pub fn have_no_alternative(&mut self) {
        for stream in &mut self.under_way {
            stream.has_alternative = false;
        }
    }

    /// How long the longest of those is.
    pub fn longest_with_an_alternative(&self) -> usize {
        let with = self
            .under_way
            .iter()
            .filter(|stream| stream.has_alternative);
        with.map(|stream| stream.payload.len_bytes as usize)
            .max()
            .unwrap_or(0)
    }

    /// A piece of one of them. `None` if there is no such stream.
    pub fn on_piece(
        &mut self,
        number: u32,
        start: *const u8,
        len: usize,
    ) -> Option<Result<Option<StreamIn>, Corrupt>> {
        let index = self.position(number)?;
        let stream = &mut self.under_way[index];
        let StreamIn {
            payload,
            target,
            done,
            ..
        } = stream;
        if let Err(corrupt) = place(payload, target, done, start, len) {
            return Some(Err(corrupt));
        }
        let is_whole = *done as u64 == payload.len_bytes;
        self.come += len as u64;
        self.goes_on();
        Some(Ok(is_whole.then(|| self.under_way.swap_remove(index))))
    }

    /// A message was finished though so much of its stream may still come.
    pub fn supersede(&mut self, number: u32, left: usize) {
        if left > 0 {
            self.superfluous.insert(number, left);
        }
    }

    /// A piece of such a message, or the news that no more of it comes.
    pub fn on_superfluous(&mut self, number: u32, len: usize) -> Result<(), Corrupt> {
        let left = self
            .superfluous
            .get_mut(&number)
            .filter(|left| len <= **left)
            .ok_or(Corrupt("number of a streamed message"))?;
        *left -= len;
        if len == 0 || *left == 0 {
            self.superfluous.remove(&number);
        }
        Ok(())
    }

    /// Whether a sender lets more such messages accumulate than it may have under way: it says of none that no more comes.
    pub fn has_too_many_superfluous(&self) -> bool {
        self.superfluous.len() > 2 * DEFERRED_MAX
    }

    /// Whether to look at the clock, this time.
    pub fn is_time_to_look(&mut self) -> bool {
        self.looks += 1;
        self.looks.is_multiple_of(LOOKS_PER_CLOCK)
    }

    /// Whether nothing has come for `patience` while we looked again and again.
    pub fn have_stood_still_for(&mut self, patience: Duration) -> bool {
        let now = Instant::now();
        let since = *self.stands_still_since.get_or_insert(now);
        now.duration_since(since) >= patience
    }

    fn goes_on(&mut self) {
        self.stands_still_since = None;
        self.looks = 0;
    }
}

/// Puts `len` bytes at `start`, the next piece of a message, where they belong.
pub fn place(
    payload: &Payload,
    target: &Target,
    come: &mut usize,
    start: *const u8,
    len: usize,
) -> Result<(), Corrupt> {
    if len > payload.len_bytes as usize - *come || len == 0 {
        return Err(Corrupt("length of a streamed piece"));
    }
    // SAFETY: the piece lies in the ring, and within the posted buffer as just checked.
    unsafe { target.memory.copy_in(*come, len, start) };
    *come += len;
    Ok(())
}
