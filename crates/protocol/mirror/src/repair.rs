//! What is missing is asked for, and given by whoever has it ([REFLECT-9.4]).

use bcl_types::Span;
use bcl_wire::bytes::{get_u64, put_u64};

use crate::memory::Memory;
use crate::mirror::{Mirror, Outgoing, To};
use crate::names::HostId;
use crate::packet::{Header, Kind, Making, flags};
use crate::stream::Stream;

/// What comes out of order comes within this time, mostly.
const REORDERED: Span = Span::from_us(100);
/// Nothing has come for so long though there is more.
const QUIET: Span = Span::from_ms(2);
const FIRST: Span = Span::from_ms(1);
const LONGEST: Span = Span::from_ms(50);
/// After so many questions in vain others are asked too,
const TRIES_ONE: u32 = 2;
/// and after so many the source is asked where to go on.
const TRIES_MAX: u32 = 8;

/// Ranges that one question can have.
const RANGES_MAX: usize = 32;
const RANGE_BYTES: usize = 16;
/// What others wait for, at most; whoever asked for more asks again.
const REPAIRS_MAX: usize = 1024;

/// Bytes that a host has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repair {
    pub to: HostId,
    pub member: u16,
    pub epoch: u64,
    pub position: u64,
    pub end: u64,
}

impl Mirror {
    /// Something may be missing of a log.
    pub(crate) fn miss_soon(&mut self, member: u16) {
        let now = self.now;
        let stream = &mut self.streams[usize::from(member)];
        if !stream.is_behind() {
            return stream.nak.stop();
        }
        if stream.nak.tries > 0 {
            return;
        }
        let due = match stream.early.end() {
            // Since the first that has overtaken it,
            Some(_) => match stream.nak.due {
                Some(due) => due.min(now + REORDERED),
                None => now + REORDERED,
            },
            // or the last that has come.
            None => now + QUIET,
        };
        stream.nak.due = Some(due);
        self.wake_at(due);
    }

    /// Asks for what is missing.
    pub(crate) fn ask_again(&mut self, member: u16) {
        let stream = &mut self.streams[usize::from(member)];
        let retry = &mut stream.nak;
        if !retry.is_due(self.now) {
            let due = retry.due;
            return self.wake_at_any(due);
        }
        if !stream.follow.is_agreed {
            return retry.stop();
        }
        retry.again(self.now, FIRST, LONGEST);
        let (tries, due) = (retry.tries, retry.due);
        self.wake_at_any(due);
        if tries > TRIES_MAX {
            let stream = &mut self.streams[usize::from(member)];
            stream.nak.stop();
            stream.follow.is_agreed = false;
            return self.look_for_source(member);
        }
        let stream = &self.streams[usize::from(member)];
        let kept_from = self.fetching.kept_from(member, stream.applied);
        let room = kept_from + self.config.geometry.log_bytes;
        let mut payload = Vec::new();
        // What comes after the last that has come may be under way.
        let up_to = stream
            .early
            .end()
            .filter(|_| tries == 1)
            .unwrap_or(stream.head);
        let missing = stream.early.missing(stream.have, up_to.min(room));
        for (start, end) in missing.take(RANGES_MAX) {
            let mut range = [0; RANGE_BYTES];
            put_u64(&mut range, 0, start);
            put_u64(&mut range, 8, end);
            payload.extend_from_slice(&range);
        }
        let Some(host) = self.whom_to_ask(member, stream, tries) else {
            return;
        };
        let header = Header {
            member,
            epoch: stream.epoch,
            ..self.header_to(Kind::Nak, host)
        };
        self.send_to(host, header, &payload);
    }

    /// The source first, then any that has it, in turn.
    fn whom_to_ask(&self, member: u16, stream: &Stream, tries: u32) -> Option<HostId> {
        if tries <= TRIES_ONE {
            return stream.follow.source;
        }
        let has_it = |host: &&HostId| {
            let had = self.peers[host].hads[usize::from(member)];
            had.epoch == stream.epoch && had.have > stream.have
        };
        let others: Vec<&HostId> = self.peers.keys().filter(has_it).collect();
        match others.is_empty() {
            true => stream.follow.source,
            false => Some(*others[tries as usize % others.len()]),
        }
    }

    pub(crate) fn on_nak(&mut self, header: &Header, payload: &[u8]) {
        let (host, member) = (header.host, header.member);
        let stream = &self.streams[usize::from(member)];
        if stream.epoch != header.epoch {
            return self.counts.stale += 1;
        }
        // What is here no longer is not to be had: who lacks it will ask where to go on.
        let (tail, have) = (stream.tail, stream.have);
        for range in payload.chunks_exact(RANGE_BYTES) {
            let (position, end) = (get_u64(range, 0).max(tail), get_u64(range, 8).min(have));
            if position < end {
                self.repair(Repair {
                    to: host,
                    member,
                    epoch: header.epoch,
                    position,
                    end,
                });
            }
        }
        self.lost_some(member);
    }

    /// To be sent again, unless it is going to be.
    pub(crate) fn repair(&mut self, wanted: Repair) {
        let covers = |repair: &Repair| {
            let is_same = (repair.to, repair.member, repair.epoch)
                == (wanted.to, wanted.member, wanted.epoch);
            is_same && repair.position <= wanted.position && wanted.end <= repair.end
        };
        if self.repairs.len() < REPAIRS_MAX && !self.repairs.iter().any(covers) {
            self.repairs.push_back(wanted);
        }
    }

    /// The next packet of what others have asked for.
    pub(crate) fn make_repair(&mut self, memory: &impl Memory, out: &mut Outgoing) -> bool {
        while let Some(repair) = self.repairs.front_mut() {
            let now = *repair;
            let len_bytes = (now.end - now.position).min(self.config.payload_bytes as u64);
            repair.position += len_bytes;
            let is_last = repair.position == repair.end;
            if is_last {
                self.repairs.pop_front();
            }
            let stream = &self.streams[usize::from(now.member)];
            let Some(peer) = self.peers.get(&now.to) else {
                continue;
            };
            if stream.epoch != now.epoch {
                continue;
            }
            let to = To::One(peer.address);
            let extra = stream.known_end();
            let mut making = Making::new(&mut out.bytes);
            // Written over meanwhile, it is not to be had here any more: who has asked asks where to go on.
            let room = making.room(len_bytes as usize);
            if now.position < stream.tail || !memory.read_log(now.member, now.position, room) {
                continue;
            }
            let header = Header {
                flags: flags::REPAIR | if is_last { flags::ACK_NOW } else { 0 },
                member: now.member,
                epoch: now.epoch,
                position: now.position,
                extra,
                ..self.header_to(Kind::Data, now.to)
            };
            making.close(header, &self.keys);
            self.counts.repaired += 1;
            return self.resolve(&to, out);
        }
        false
    }
}
