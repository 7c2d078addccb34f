//! Getting the payload of a large message: read from the sender's DMA buffer, copied by the kernel, or streamed ([SHM-4.7]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_os::mapping::Mapping;
use bcl_rings::Corrupt;
use bcl_tier::{CopyWay, Target};
use bcl_types::{Cause, OpError};
use rustix::io::Errno;

use super::link::Link;
use super::remote::Remote;
use super::streams::{self, StreamIn, Streams};
use super::ways::{Choice, Ways};
use crate::cma::ReadError;
use crate::own_memory;
use crate::service::CopyMode;

/// Bytes copied in one go, so that one large message does not hold up everything else.
const SLICE_BYTES: usize = 1 << 20;
/// DMA buffers of one peer kept mapped; the least recently used goes first.
const REGIONS_MAX: usize = 32;

/// Where a sender's payload waits.
#[derive(Debug, Clone, Copy)]
pub struct Payload {
    pub channel: u16,
    pub len_bytes: u64,
    /// In the sender's address space; of the table of its pieces, if there are any.
    pub address: u64,
    /// Entries of that table, at most [`PIECES_MAX`](bcl_tier::PIECES_MAX); 0: the payload is in one piece.
    pub pieces: usize,
    /// DMA buffer it lies in, or 0.
    pub region: u64,
    /// Where in that buffer.
    pub offset: u64,
}

/// A transfer that has come to its end.
#[derive(Debug)]
pub struct Finished {
    pub number: u32,
    pub channel: u16,
    pub target: Target,
    pub len_bytes: u64,
    pub result: Result<(), OpError>,
    /// Which way the bytes came; none if there were none.
    pub by: Option<By>,
}

/// Which way the bytes of a message came.
#[derive(Debug, Clone, Copy)]
pub enum By {
    /// From the sender's DMA buffer.
    Region,
    /// By the kernel, at least the last of them.
    Kernel,
    /// Through the stream ring.
    Ring,
}

/// What a transfer needs next.
#[derive(Debug)]
pub enum Begun {
    /// Nothing but time.
    Copying,
    /// The sender has to be asked to stream.
    NeedsStream { number: u32, is_past_caches: bool },
    /// The same; the kernel cannot read the payload, and perhaps the sender cannot either.
    Unreadable(u32),
    /// The sender's DMA buffer has to be asked for.
    NeedsRegion(u64),
    /// Whoever is there now is not the sender: what is under way ends with the news of its end.
    Lost,
    /// It is over.
    Finished(Finished),
}

#[derive(Debug)]
enum Way {
    Kernel(Remote),
    Region(Arc<Mapping>),
}

#[derive(Debug)]
struct Pull {
    number: u32,
    payload: Payload,
    target: Target,
    done: usize,
    way: Way,
    /// How much has come through the stream ring nevertheless, if the sender was asked to stream ([SHM-4.14]).
    come: Option<usize>,
    /// If it is measured: how long the copies have taken.
    took: Option<Duration>,
}

/// All transfers of one connection.
#[derive(Debug, Default)]
pub struct Transfers {
    pulls: VecDeque<Pull>,
    streams: Streams,
    /// None before the first message that has a choice.
    ways: Option<Ways>,
    want_region: Vec<(u32, Payload, Target)>,
    regions: VecDeque<(u64, Option<Arc<Mapping>>)>,
    /// The sender is not there any more.
    is_lost: bool,
}

impl Transfers {
    pub fn is_copying(&self) -> bool {
        !self.pulls.is_empty() && !self.is_lost
    }

    /// A message has met its buffer.
    pub fn begin(
        &mut self,
        link: &mut Link,
        number: u32,
        payload: Payload,
        target: Target,
    ) -> Begun {
        let capacity_bytes = target.memory.len_bytes() as u64;
        if payload.len_bytes > capacity_bytes {
            let error = OpError::Truncated {
                len_bytes: payload.len_bytes,
                capacity_bytes,
            };
            return Begun::Finished(Finished::of(number, &payload, target, Err(error)));
        }
        if payload.len_bytes == 0 {
            return Begun::Finished(Finished::of(number, &payload, target, Ok(())));
        }
        let (way, is_measured) = match self.way(link, &payload) {
            Ok(way) => way,
            Err(Missing::Region) => {
                let asked = self
                    .want_region
                    .iter()
                    .any(|(_, other, _)| other.region == payload.region);
                self.want_region.push((number, payload, target));
                return if asked {
                    Begun::Copying
                } else {
                    Begun::NeedsRegion(payload.region)
                };
            }
            Err(Missing::Stream {
                has_alternative,
                choice: Choice { way, is_measured },
            }) => {
                let begun = is_measured.then(|| (way, self.streams.mark()));
                self.streams.push(StreamIn {
                    number,
                    payload,
                    target,
                    done: 0,
                    has_alternative,
                    begun,
                });
                return Begun::NeedsStream {
                    number,
                    is_past_caches: way == CopyWay::PastCaches,
                };
            }
        };
        self.pulls.push_back(Pull {
            number,
            payload,
            target,
            done: 0,
            way,
            come: None,
            took: is_measured.then_some(Duration::ZERO),
        });
        if self.pulls.len() == 1 {
            self.copy_slice(link).unwrap_or(Begun::Copying)
        } else {
            Begun::Copying
        }
    }

    /// From where we copy it, and whether that is measured; else what is missing.
    fn way(&mut self, link: &Link, payload: &Payload) -> Result<(Way, bool), Missing> {
        if payload.region != 0 {
            match self.region(payload.region) {
                Some(Some(mapping)) if covers(&mapping, payload) => {
                    return Ok((Way::Region(mapping), false));
                }
                Some(_) => {}
                None => return Err(Missing::Region),
            }
        }
        let by_kernel = || Way::Kernel(Remote::of(payload));
        let has_alternative = link.memory.is_ok();
        if has_alternative
            && (link.copy_mode == CopyMode::Single || self.streams.has_too_many_superfluous())
        {
            return Ok((by_kernel(), false));
        }
        let ways = self.ways.get_or_insert_default();
        let choice = ways.choose(payload.len_bytes as usize, has_alternative);
        match choice.way {
            CopyWay::Kernel => Ok((by_kernel(), choice.is_measured)),
            CopyWay::Caches | CopyWay::PastCaches => Err(Missing::Stream {
                has_alternative,
                choice,
            }),
        }
    }

    fn region(&mut self, region: u64) -> Option<Option<Arc<Mapping>>> {
        let index = self.regions.iter().position(|(id, _)| *id == region)?;
        let entry = self.regions.remove(index)?;
        let mapping = entry.1.clone();
        self.regions.push_back(entry);
        Some(mapping)
    }

    /// Remembers a region, and returns the transfers that waited for it.
    pub fn on_region(
        &mut self,
        region: u64,
        mapping: Option<Mapping>,
    ) -> Vec<(u32, Payload, Target)> {
        if self.regions.len() >= REGIONS_MAX {
            self.regions.pop_front();
        }
        self.regions.push_back((region, mapping.map(Arc::new)));
        let (ready, rest) = std::mem::take(&mut self.want_region)
            .into_iter()
            .partition(|(_, payload, _)| payload.region == region);
        self.want_region = rest;
        ready
    }

    /// Copies one slice of the first pull; the pulls take turns. `None` if there is nothing to copy.
    pub fn copy_slice(&mut self, link: &mut Link) -> Option<Begun> {
        if self.is_lost {
            return None;
        }
        let mut pull = self.pulls.pop_front()?;
        let total = pull.payload.len_bytes as usize;
        let slice = (total - pull.done).min(SLICE_BYTES);
        let to = &pull.target.memory;
        let is_measured = pull.took.is_some() || self.streams.is_measured();
        let begun = is_measured.then(Instant::now);
        let copied = match (&mut pull.way, &link.memory) {
            (Way::Region(mapping), _) => {
                let from = mapping
                    .start()
                    .as_ptr()
                    .wrapping_add(pull.payload.offset as usize + pull.done);
                // SAFETY: `covers` checked the range; the poster vouches for its buffer, which is long enough.
                unsafe { to.copy_in(pull.done, slice, from) };
                Ok(())
            }
            (Way::Kernel(from), Ok(memory)) => from
                .pieces(memory)
                .and_then(|from| memory.read(from, to.table(), pull.done, slice)),
            (Way::Kernel(_), Err(_)) => Err(ReadError::Refused(Errno::PERM)),
        };
        if link.was_closing() {
            return Some(self.end(pull, Err(OpError::PeerGone(Cause::Closed))));
        }
        if let Some(time) = begun.map(|begun| begun.elapsed()) {
            pull.took = pull.took.map(|took| took + time);
            self.streams.was_elsewhere(time);
        }
        match copied {
            Ok(()) => pull.done += slice,
            Err(ReadError::NotMapped) if own_memory::is_writable(to.table(), pull.done, slice) => {
                let number = pull.number;
                return Some(match self.stream(pull) {
                    Asked::Now => Begun::Unreadable(number),
                    Asked::Before => Begun::Copying,
                });
            }
            Err(ReadError::NotMapped) => {
                return Some(self.end(pull, Err(OpError::Fault)));
            }
            Err(ReadError::NotThePeer) => {
                self.is_lost = true;
                self.pulls.push_front(pull);
                return Some(Begun::Lost);
            }
            Err(ReadError::Refused(errno)) => {
                link.stop_reading(errno);
                self.streams.have_no_alternative();
                let number = pull.number;
                return Some(match self.stream(pull) {
                    Asked::Now => Begun::NeedsStream {
                        number,
                        is_past_caches: false,
                    },
                    Asked::Before => Begun::Copying,
                });
            }
        }
        if pull.done == total {
            return Some(self.end(pull, Ok(())));
        }
        self.pulls.push_back(pull);
        Some(Begun::Copying)
    }

    fn end(&mut self, pull: Pull, result: Result<(), OpError>) -> Begun {
        let total = pull.payload.len_bytes as usize;
        if let (Ok(()), Some(took), Some(ways)) = (result, pull.took, &mut self.ways) {
            ways.took(CopyWay::Kernel, total, total as u64, took);
        }
        if let Some(come) = pull.come {
            self.streams.supersede(pull.number, total - come);
        }
        let by = match pull.way {
            Way::Kernel(_) => By::Kernel,
            Way::Region(_) => By::Region,
        };
        Begun::Finished(Finished {
            by: Some(by),
            ..Finished::of(pull.number, &pull.payload, pull.target, result)
        })
    }

    /// What could not be copied is to be streamed, all of it.
    fn stream(&mut self, pull: Pull) -> Asked {
        self.streams.push(StreamIn {
            number: pull.number,
            payload: pull.payload,
            target: pull.target,
            done: pull.come.unwrap_or(0),
            has_alternative: false,
            begun: None,
        });
        match pull.come {
            Some(_) => Asked::Before,
            None => Asked::Now,
        }
    }

    /// Whether a sender has been asked to stream what the kernel could copy: polls go on, for it may not do so.
    pub fn awaits_stream(&self) -> bool {
        self.streams.has_alternative() && !self.is_lost
    }

    /// Lets the kernel copy what the sender does not stream ([SHM-4.14]); returns how many messages, mostly none.
    pub fn hurry(&mut self) -> usize {
        let Some(ways) = self.ways.as_ref().filter(|_| self.awaits_stream()) else {
            return 0;
        };
        if !self.pulls.is_empty() || !self.streams.is_time_to_look() {
            return 0;
        }
        let patience = ways.patience(self.streams.longest_with_an_alternative());
        if !self.streams.have_stood_still_for(patience) {
            return 0;
        }
        self.take_back()
    }

    /// The same at once.
    pub fn take_back(&mut self) -> usize {
        if let Some(ways) = &mut self.ways {
            ways.stood_still();
        }
        let streams = self.streams.take_those_with_an_alternative();
        let count = streams.len();
        self.pulls.extend(streams.into_iter().map(|stream| Pull {
            number: stream.number,
            way: Way::Kernel(Remote::of(&stream.payload)),
            payload: stream.payload,
            target: stream.target,
            done: stream.done,
            come: Some(stream.done),
            took: None,
        }));
        count
    }

    /// The sender cannot read the payload of a streamed message.
    pub fn on_unreadable(&mut self, number: u32) -> Result<Finished, Corrupt> {
        let stream = self
            .streams
            .take(number)
            .ok_or(Corrupt("number of a message that cannot be streamed"))?;
        let result = Err(OpError::Fault);
        Ok(Finished::of(number, &stream.payload, stream.target, result))
    }

    /// No more of a streamed message comes: it was finished without.
    pub fn on_no_more(&mut self, number: u32) -> Result<(), Corrupt> {
        self.streams.on_superfluous(number, 0)
    }

    /// A piece of a streamed message: `len` bytes at `start`.
    pub fn on_data(
        &mut self,
        number: u32,
        start: *const u8,
        len: usize,
    ) -> Result<Option<Finished>, Corrupt> {
        if let Some(came) = self.streams.on_piece(number, start, len) {
            let whole = came?;
            return Ok(whole.map(|stream| self.streamed(stream)));
        }
        let pull = self.pulls.iter_mut().find(|pull| pull.number == number);
        let both_ways = pull.and_then(|pull| {
            Some((
                &pull.payload,
                &pull.target,
                pull.come.as_mut()?,
                &mut pull.done,
            ))
        });
        match both_ways {
            Some((payload, target, come, done)) => {
                streams::place(payload, target, come, start, len)?;
                *done = (*done).max(*come);
            }
            None => self.streams.on_superfluous(number, len)?,
        }
        Ok(None)
    }

    fn streamed(&mut self, stream: StreamIn) -> Finished {
        if let Some(ways) = &mut self.ways {
            if let Some((way, mark)) = stream.begun {
                let (come, time) = self.streams.since(mark);
                ways.took(way, stream.payload.len_bytes as usize, come, time);
            }
            ways.streamed();
        }
        Finished {
            by: Some(By::Ring),
            ..Finished::of(stream.number, &stream.payload, stream.target, Ok(()))
        }
    }

    /// What has been found out about the ways, for people; empty before anything has.
    pub fn describe_ways(&self) -> String {
        self.ways.as_ref().map_or(String::new(), Ways::describe)
    }

    /// Takes out everything that has not finished.
    pub fn drain(&mut self) -> Vec<(u16, Target, u64)> {
        let pulls = self.pulls.drain(..).map(|pull| (pull.payload, pull.target));
        let streams = self
            .streams
            .drain()
            .map(|stream| (stream.payload, stream.target));
        let regions = self
            .want_region
            .drain(..)
            .map(|(_, payload, target)| (payload, target));
        pulls
            .chain(streams)
            .chain(regions)
            .map(|(payload, target)| (payload.channel, target, payload.len_bytes))
            .collect()
    }
}

/// What has to be asked of the sender.
enum Missing {
    Region,
    Stream {
        /// To the kernel, which could copy it.
        has_alternative: bool,
        choice: Choice,
    },
}

/// Whether the sender still has to be asked to stream.
enum Asked {
    Now,
    Before,
}

fn covers(mapping: &Mapping, payload: &Payload) -> bool {
    payload
        .offset
        .checked_add(payload.len_bytes)
        .is_some_and(|end| end <= mapping.len_bytes() as u64)
}

impl Finished {
    fn of(number: u32, payload: &Payload, target: Target, result: Result<(), OpError>) -> Self {
        Self {
            number,
            channel: payload.channel,
            target,
            len_bytes: payload.len_bytes,
            result,
            by: None,
        }
    }
}
