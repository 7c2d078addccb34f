//! Getting the payload of a large message: read from the sender's DMA buffer, copied by the kernel, or streamed.

use std::collections::VecDeque;
use std::sync::Arc;

use bcl_os::mapping::Mapping;
use bcl_rings::Corrupt;
use bcl_tier::Target;
use bcl_types::{Cause, OpError};
use rustix::io::Errno;

use super::link::Link;
use super::remote::Remote;
use crate::cma::ReadError;
use crate::own_memory;

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
}

/// What a transfer needs next.
#[derive(Debug)]
pub enum Begun {
    /// Nothing but time.
    Copying,
    /// The sender has to be asked to stream.
    NeedsStream(u32),
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
}

#[derive(Debug)]
struct StreamIn {
    number: u32,
    payload: Payload,
    target: Target,
    done: usize,
}

/// All transfers of one connection.
#[derive(Debug, Default)]
pub struct Transfers {
    pulls: VecDeque<Pull>,
    streams: Vec<StreamIn>,
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
        let way = match self.way(link, &payload) {
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
            Err(Missing::SingleCopy) => {
                self.streams.push(StreamIn {
                    number,
                    payload,
                    target,
                    done: 0,
                });
                return Begun::NeedsStream(number);
            }
        };
        self.pulls.push_back(Pull {
            number,
            payload,
            target,
            done: 0,
            way,
        });
        if self.pulls.len() == 1 {
            self.copy_slice(link).unwrap_or(Begun::Copying)
        } else {
            Begun::Copying
        }
    }

    fn way(&mut self, link: &Link, payload: &Payload) -> Result<Way, Missing> {
        if payload.region != 0 {
            match self.region(payload.region) {
                Some(Some(mapping)) if covers(&mapping, payload) => {
                    return Ok(Way::Region(mapping));
                }
                Some(_) => {}
                None => return Err(Missing::Region),
            }
        }
        if link.memory.is_ok() {
            Ok(Way::Kernel(Remote::of(payload)))
        } else {
            Err(Missing::SingleCopy)
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
            return Some(Begun::Finished(
                pull.finished(Err(OpError::PeerGone(Cause::Closed))),
            ));
        }
        match copied {
            Ok(()) => pull.done += slice,
            Err(ReadError::NotMapped) if own_memory::is_writable(to.table(), pull.done, slice) => {
                return Some(Begun::Unreadable(self.stream(pull)));
            }
            Err(ReadError::NotMapped) => {
                return Some(Begun::Finished(pull.finished(Err(OpError::Fault))));
            }
            Err(ReadError::NotThePeer) => {
                self.is_lost = true;
                self.pulls.push_front(pull);
                return Some(Begun::Lost);
            }
            Err(ReadError::Refused(errno)) => {
                link.stop_reading(errno);
                return Some(Begun::NeedsStream(self.stream(pull)));
            }
        }
        if pull.done == total {
            return Some(Begun::Finished(pull.finished(Ok(()))));
        }
        self.pulls.push_back(pull);
        Some(Begun::Copying)
    }

    /// What could not be copied is to be streamed, all of it. Returns its number.
    fn stream(&mut self, pull: Pull) -> u32 {
        self.streams.push(StreamIn {
            number: pull.number,
            payload: pull.payload,
            target: pull.target,
            done: 0,
        });
        pull.number
    }

    /// The sender cannot read the payload of a streamed message.
    pub fn on_unreadable(&mut self, number: u32) -> Result<Finished, Corrupt> {
        let index = self
            .streams
            .iter()
            .position(|stream| stream.number == number)
            .ok_or(Corrupt("number of a message that cannot be streamed"))?;
        let stream = self.streams.swap_remove(index);
        let result = Err(OpError::Fault);
        Ok(Finished::of(number, &stream.payload, stream.target, result))
    }

    /// A piece of a streamed message.
    pub fn on_data(
        &mut self,
        number: u32,
        start: *const u8,
        len: usize,
    ) -> Result<Option<Finished>, Corrupt> {
        let index = self
            .streams
            .iter()
            .position(|stream| stream.number == number)
            .ok_or(Corrupt("number of a streamed message"))?;
        let stream = &mut self.streams[index];
        let total = stream.payload.len_bytes as usize;
        if len > total - stream.done || len == 0 {
            return Err(Corrupt("length of a streamed piece"));
        }
        // SAFETY: the piece lies in the ring, and within the posted buffer as just checked.
        unsafe { stream.target.memory.copy_in(stream.done, len, start) };
        stream.done += len;
        if stream.done < total {
            return Ok(None);
        }
        let stream = self.streams.swap_remove(index);
        Ok(Some(Finished::of(
            number,
            &stream.payload,
            stream.target,
            Ok(()),
        )))
    }

    /// Takes out everything that has not finished.
    pub fn drain(&mut self) -> Vec<(u16, Target, u64)> {
        let pulls = self.pulls.drain(..).map(|pull| (pull.payload, pull.target));
        let streams = self
            .streams
            .drain(..)
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

enum Missing {
    Region,
    SingleCopy,
}

fn covers(mapping: &Mapping, payload: &Payload) -> bool {
    payload
        .offset
        .checked_add(payload.len_bytes)
        .is_some_and(|end| end <= mapping.len_bytes() as u64)
}

impl Pull {
    fn finished(&self, result: Result<(), OpError>) -> Finished {
        Finished::of(self.number, &self.payload, self.target, result)
    }
}

impl Finished {
    fn of(number: u32, payload: &Payload, target: Target, result: Result<(), OpError>) -> Self {
        Self {
            number,
            channel: payload.channel,
            target,
            len_bytes: payload.len_bytes,
            result,
        }
    }
}
