//! Where a host gets a log from, and from where on ([REFLECT-8.4]).

use bcl_types::Span;
use bcl_wire::bytes::{get_u64, put_u64};

use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::names::HostId;
use crate::packet::{Header, Kind, flags};
use crate::peer::Had;
use crate::stream::Stream;

const FIRST: Span = Span::from_ms(5);
const LONGEST: Span = Span::from_ms(200);

const START_BYTES: usize = 16;
/// No log ever gets there.
pub(crate) const POSITION_MAX: u64 = 1 << 62;

/// What a host that wants to follow has of a log.
struct Standing {
    epoch: u64,
    have: u64,
    applied: u64,
}

impl Stream {
    /// Where who stands there can go on in this log, if what it lacks is still here.
    fn continues_at(&self, theirs: &Standing) -> Option<u64> {
        let at = match theirs.epoch {
            epoch if epoch == self.epoch => theirs.have,
            // What lies behind the last whole frame of the epoch before is of a frame whose rest nobody has.
            epoch if epoch == self.prior && theirs.applied <= self.base => {
                theirs.have.min(self.base)
            }
            0 => 0,
            _ => return None,
        };
        (self.tail..=self.have).contains(&at).then_some(at)
    }
}

impl Mirror {
    /// A member's host has come or gone, or others have got further.
    pub(crate) fn look_for_source(&mut self, member: u16) {
        let now = self.now;
        let source = self.source_of(member);
        let stream = &mut self.streams[usize::from(member)];
        let follow = &mut stream.follow;
        if follow.source != source {
            follow.source = source;
            follow.is_agreed = false;
            follow.retry.stop();
        }
        if follow.is_open() && follow.retry.due.is_none() {
            follow.retry.start(now);
            self.wake_at(now);
        }
    }

    fn source_of(&self, member: u16) -> Option<HostId> {
        let stream = &self.streams[usize::from(member)];
        if stream.sending.is_some() || stream.is_broken {
            return None;
        }
        if let Some(owner) = stream.owner {
            return Some(owner.host);
        }
        // Who had it has gone: those who got further have the rest.
        let ours = (stream.epoch, stream.have);
        let further = |host: &HostId| {
            let had = self.peers.get(host)?.hads[usize::from(member)];
            let theirs = (had.epoch, had.have);
            (theirs > ours).then_some(theirs)
        };
        let now = stream.follow.source.filter(|host| further(host).is_some());
        now.or_else(|| {
            let others = self.peers.keys().copied();
            others
                .filter_map(|host| Some((further(&host)?, host)))
                .max()
                .map(|(_, host)| host)
        })
    }

    /// Asks the source until it agrees.
    pub(crate) fn follow_again(&mut self, member: u16) {
        let stream = &mut self.streams[usize::from(member)];
        let follow = &mut stream.follow;
        let Some(source) = follow.source.filter(|_| !follow.is_agreed) else {
            return;
        };
        if !follow.retry.is_due(self.now) {
            let due = follow.retry.due;
            return self.wake_at_any(due);
        }
        follow.retry.again(self.now, FIRST, LONGEST);
        let due = follow.retry.due;
        let (epoch, position, applied) = (stream.epoch, stream.have, stream.applied);
        self.wake_at_any(due);
        let header = Header {
            member,
            epoch,
            position,
            extra: self.next_number(),
            ..self.header_to(Kind::Follow, source)
        };
        self.send_to(source, header, &applied.to_le_bytes());
    }

    pub(crate) fn on_follow(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let (host, member) = (header.host, header.member);
        let theirs = Standing {
            epoch: header.epoch,
            have: header.position,
            applied: match payload.len() {
                8 => get_u64(payload, 0),
                _ => return self.counts.foreign += 1,
            },
        };
        self.catch_up_with_program(member, memory);
        let stream = &self.streams[usize::from(member)];
        let Some(peer) = self.peers.get_mut(&host) else {
            return;
        };
        if header.extra <= peer.last_follow || stream.epoch == 0 {
            return self.counts.stale += 1;
        }
        peer.last_follow = header.extra;
        let continues_at = stream.continues_at(&theirs);
        let mut start = continues_at.unwrap_or(stream.applied);
        if stream.sending.is_some() {
            let had = &mut peer.hads[usize::from(member)];
            *had = Had {
                epoch: stream.epoch,
                have: start,
                follows: true,
                is_sure: false,
                is_lacking: continues_at.is_none() || had.is_lacking,
                ..*had
            };
            // From now on the program waits for it; what it has written before that is skipped as well.
            self.progressed(member, memory);
            if continues_at.is_none() {
                self.catch_up_with_program(member, memory);
                start = self.streams[usize::from(member)].applied;
                if let Some(peer) = self.peers.get_mut(&host) {
                    peer.hads[usize::from(member)].have = start;
                }
                self.progressed(member, memory);
            }
        }
        let stream = &self.streams[usize::from(member)];
        let mut payload = [0; START_BYTES];
        put_u64(&mut payload, 0, stream.base);
        put_u64(&mut payload, 8, stream.prior);
        let answer = Header {
            flags: if continues_at.is_none() {
                flags::SKIP
            } else {
                0
            },
            member,
            epoch: stream.epoch,
            position: start,
            extra: stream.known_end(),
            ..self.header_to(Kind::Start, host)
        };
        self.send_to(host, answer, &payload);
    }

    pub(crate) fn on_start(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let member = header.member;
        if payload.len() != START_BYTES {
            return self.counts.foreign += 1;
        }
        let (base, prior) = (get_u64(payload, 0), get_u64(payload, 8));
        let stream = &mut self.streams[usize::from(member)];
        let is_asked = stream.follow.source == Some(header.host) && !stream.follow.is_agreed;
        if !is_asked || header.epoch < stream.epoch || header.position > POSITION_MAX {
            return self.counts.stale += 1;
        }
        let is_new = header.epoch != stream.epoch;
        if header.has(flags::SKIP) {
            self.fetching.skips(member, stream.epoch, stream.applied);
            stream.skip_to(header.position);
            memory.set_applied(member, header.position);
        } else {
            // It has gone on since it asked, with another source: to be asked anew.
            let has_left_it = is_new && stream.epoch != 0 && stream.applied > base;
            if header.position > stream.have || has_left_it {
                return self.counts.stale += 1;
            }
            if is_new {
                stream.early.clear();
                stream.have = stream.have.min(base.max(header.position));
                stream.head = stream.have;
            }
        }
        (stream.epoch, stream.base, stream.prior) = (header.epoch, base, prior);
        stream.head = stream.head.max(header.extra);
        stream.follow.is_agreed = true;
        stream.follow.head_then = stream.head;
        stream.follow.retry.stop();
        stream.nak.stop();
        stream.report.told = stream.have;
        memory.set_tail(member, stream.tail);
        self.unsaved.log(member);
        if header.has(flags::SKIP) {
            self.fetch_all();
        }
        self.miss_soon(member);
        self.report_soon(member, true);
    }
}
