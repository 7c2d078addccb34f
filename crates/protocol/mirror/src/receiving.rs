//! Bytes of logs that come ([REFLECT-9.1]), and telling how far they have come ([REFLECT-9.3]).

use bcl_types::Span;
use bcl_wire::bytes::{get_u64, put_u64};

use crate::frames;
use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::names::HostId;
use crate::packet::{Header, Kind, flags};

/// How long something that has come is not told of, should more come.
const DELAY: Span = Span::from_ms(2);
/// How long a host waits for others that tell it, so as to tell of all at once.
const GATHER: Span = Span::from_us(50);
/// Something is told of once so much of a log has come since the last time: this part of it.
const TOLD_PARTS: u64 = 8;

const STATUS_BYTES: usize = 16;

impl Mirror {
    pub(crate) fn on_data(
        &mut self,
        header: &Header,
        payload: &[u8],
        datagram: &[u8],
        memory: &impl Memory,
    ) {
        let log_bytes = self.config.geometry.log_bytes;
        let member = header.member;
        let stream = &mut self.streams[usize::from(member)];
        let is_from_source = match (header.has(flags::REPAIR), stream.owner) {
            (true, _) => true,
            (false, Some(owner)) => owner.host == header.host,
            (false, None) => false,
        };
        let is_followed = stream.follow.is_agreed && header.epoch == stream.epoch;
        let end = header.position.checked_add(payload.len() as u64);
        let room = self.fetching.kept_from(member, stream.applied) + log_bytes;
        let Some(end) = end.filter(|end| is_from_source && is_followed && *end <= room) else {
            return self.counts.stale += 1;
        };
        stream.head = stream.head.max(end).max(header.extra.min(room));
        let is_there = end <= stream.have || stream.early.covers(header.position, end);
        if !is_there {
            let is_in_order = header.position <= stream.have;
            let new = match is_in_order {
                true => stream.have,
                false => header.position,
            };
            if is_in_order || stream.early.add(new, end) {
                let skipped = (new - header.position) as usize;
                stream.reaches(end, log_bytes);
                memory.set_tail(member, stream.tail);
                memory.write_log(member, new, &payload[skipped..]);
            }
            if is_in_order {
                stream.have = stream.early.advance(end);
                stream.nak.stop();
            }
        } else if !payload.is_empty() {
            self.counts.duplicates += 1;
        }
        if !is_there {
            self.apply(member, memory);
            self.end_if_whole(member);
            self.unsaved.log(member);
            if !header.has(flags::REPAIR) && !header.has(flags::GROUP) {
                self.relay(header.host, datagram);
            }
        }
        self.miss_soon(member);
        self.report_soon(member, header.has(flags::ACK_NOW));
    }

    /// Writes into the region what has come.
    fn apply(&mut self, member: u16, memory: &impl Memory) {
        let stream = &mut self.streams[usize::from(member)];
        if stream.sending.is_some() || stream.is_broken {
            return;
        }
        let (applied, have) = (stream.applied, stream.have);
        match frames::apply(memory, &self.config.geometry, member, applied, have) {
            Ok(applied) => stream.applied = applied,
            Err(frames::Senseless) => {
                stream.is_broken = true;
                self.look_for_source(member);
            }
        }
    }

    pub(crate) fn report_soon(&mut self, member: u16, is_urgent: bool) {
        let now = self.now;
        let stream = &mut self.streams[usize::from(member)];
        let untold = stream.have - stream.report.told.min(stream.have);
        let is_urgent = is_urgent || untold >= self.config.geometry.log_bytes / TOLD_PARTS;
        let due = match is_urgent {
            true => now,
            false if untold > 0 => now + DELAY,
            false => return,
        };
        stream.report.by(due);
        if is_urgent {
            self.report_if_due(member);
        }
        self.wake_at(due);
    }

    /// Tells the next host on the way to the log's own.
    pub(crate) fn report_if_due(&mut self, member: u16) {
        let stream = &mut self.streams[usize::from(member)];
        match stream.report.due {
            Some(due) if due <= self.now => {}
            due => return self.wake_at_any(due),
        }
        stream.report.due = None;
        stream.report.told = stream.have;
        let (epoch, have) = (stream.epoch, stream.have);
        let Some(owner) = stream.owner.filter(|owner| owner.host != self.config.host) else {
            return;
        };
        let below = self.below(owner.host).filter_map(|host| {
            let had = self.peers[&host].hads[usize::from(member)];
            (had.epoch == epoch).then_some((host, had.have))
        });
        let own = (self.config.host, have);
        let entries = [own].into_iter().chain(below);
        let entries: Vec<_> = entries
            .map(|(host, have)| status_bytes(host, have))
            .collect();
        let parent = self.parent(owner.host);
        let header = Header {
            member,
            epoch,
            ..self.header_to(Kind::Status, parent)
        };
        for some in entries.chunks(self.config.payload_bytes / STATUS_BYTES) {
            self.counts.statuses += 1;
            self.send_to(parent, header, some.as_flattened());
        }
    }

    pub(crate) fn on_status(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let member = header.member;
        for entry in payload.chunks_exact(STATUS_BYTES) {
            let (host, have) = (HostId(get_u64(entry, 0)), get_u64(entry, 8));
            if let Some(peer) = self.peers.get_mut(&host) {
                peer.hads[usize::from(member)].heard(header.epoch, have);
            }
        }
        let stream = &mut self.streams[usize::from(member)];
        if stream.sending.is_some() {
            return self.progressed(member, memory);
        }
        let due = self.now + GATHER;
        stream.report.by(due);
        self.wake_at(due);
    }
}

fn status_bytes(host: HostId, have: u64) -> [u8; STATUS_BYTES] {
    let mut bytes = [0; STATUS_BYTES];
    put_u64(&mut bytes, 0, host.0);
    put_u64(&mut bytes, 8, have);
    bytes
}
