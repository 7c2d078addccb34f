//! A member's log goes out from its own host ([REFLECT-9.1]): as far as those who follow are known to have room, and no faster than the
//! network takes it.

use bcl_types::{Span, Time};

use crate::memory::Memory;
use crate::mirror::{Mirror, Outgoing, To};
use crate::names::HostId;
use crate::packet::{Header, Kind, Making, flags};
use crate::repair::Repair;
use crate::stream::Retry;

/// Sent before anything was acknowledged.
const FIRST_WINDOW: u64 = 64 << 10;
/// The window is never less than so many packets.
const PACKETS_MIN: u64 = 8;
/// While nothing is known of the time that an answer takes.
const FIRST_PATIENCE: Span = Span::from_ms(20);
/// Others may delay an answer by 2 ms.
const LEAST_PATIENCE: Span = Span::from_ms(6);
const LONGEST: Span = Span::from_ms(200);
/// So often an answer is asked for in a window.
const ANSWERS: u64 = 4;

/// How far a log of this host's member is known to be with others.
#[derive(Debug)]
pub(crate) struct Sending {
    /// All before this was sent once,
    pub sent: u64,
    /// and is with all who follow.
    pub floor: u64,
    pub has_followers: bool,
    /// So much may be under way,
    window: u64,
    /// which grows by what is acknowledged up to here, then by a packet for each window.
    threshold: u64,
    /// Losses of what was sent before this are known.
    recovers_to: u64,
    /// An answer was asked for last there.
    asked_at: u64,
    /// A program waits for this, which was sent before.
    probed: u64,
    /// One position whose answer is timed.
    timed: Option<(u64, Time)>,
    /// Smoothed time until all have something.
    round_trip: Option<Span>,
    resend: Retry,
    /// So much was sent when that began.
    resend_below: u64,
}

impl Sending {
    pub fn new(position: u64) -> Self {
        Self {
            sent: position,
            floor: position,
            has_followers: false,
            window: FIRST_WINDOW,
            threshold: u64::MAX,
            recovers_to: position,
            asked_at: position,
            probed: position,
            timed: None,
            round_trip: None,
            resend: Retry::default(),
            resend_below: position,
        }
    }

    /// Whether others have still to say that they have it.
    pub fn is_awaited(&self) -> bool {
        self.has_followers && self.floor < self.sent
    }

    fn patience(&self) -> Span {
        let patience = self.round_trip.map_or(FIRST_PATIENCE, |span| span.times(4));
        patience.max(LEAST_PATIENCE)
    }

    /// What was sent up to now is to be acknowledged in time.
    fn expect_answers(&mut self, now: Time) {
        self.resend.start(now + self.patience());
        self.resend_below = self.sent;
    }

    /// All who follow have come so far.
    fn on_floor(&mut self, floor: u64, now: Time, packet: u64, log_bytes: u64) {
        let acknowledged = floor.saturating_sub(self.floor);
        self.floor = floor;
        if acknowledged == 0 {
            return;
        }
        let more = match self.window < self.threshold {
            true => acknowledged,
            false => packet * acknowledged / self.window.max(1),
        };
        self.window = (self.window + more).min(log_bytes);
        if let Some((_, since)) = self.timed.take_if(|(position, _)| *position <= floor) {
            let sample = now.since(since);
            let before = self.round_trip.unwrap_or(sample);
            self.round_trip = Some(before.part(8).times(7) + sample.part(8));
        }
        self.resend.stop();
        if self.is_awaited() {
            self.expect_answers(now);
        }
    }
}

impl Mirror {
    /// What the program of a member here has written since is known.
    pub(crate) fn catch_up_with_program(&mut self, member: u16, memory: &impl Memory) {
        let log_bytes = self.config.geometry.log_bytes;
        let stream = &mut self.streams[usize::from(member)];
        if stream.sending.is_some() {
            let head = memory.head(member);
            (stream.have, stream.applied, stream.head) = (head, head, head);
            stream.reaches(head, log_bytes);
        }
    }

    /// Those who follow a log of this host have got further, or are others than before.
    pub(crate) fn progressed(&mut self, member: u16, memory: &impl Memory) {
        let now = self.now;
        let packet = self.config.payload_bytes as u64;
        let log_bytes = self.config.geometry.log_bytes;
        let stream = &mut self.streams[usize::from(member)];
        let epoch = stream.epoch;
        let Some(sending) = &mut stream.sending else {
            return;
        };
        let hads = self
            .peers
            .values()
            .map(|peer| peer.hads[usize::from(member)]);
        let followers = hads.filter(|had| had.follows_in(epoch));
        let floor = followers.map(|had| had.have).min();
        sending.has_followers = floor.is_some();
        match floor {
            Some(floor) => {
                // Sent by the process before, which has ended.
                sending.sent = sending.sent.max(floor.min(stream.have));
                sending.on_floor(floor.min(sending.sent), now, packet, log_bytes);
                memory.set_floor(member, self.fetching.kept_from(member, floor));
            }
            None => {
                sending.resend.stop();
                memory.set_floor(member, u64::MAX);
            }
        }
        let due = sending.resend.due;
        self.wake_at_any(due);
    }

    /// The next packet of what the members here have written.
    pub(crate) fn make_data(&mut self, memory: &impl Memory, out: &mut Outgoing) -> bool {
        for _ in 0..self.ours.len() {
            self.turn = (self.turn + 1) % self.ours.len();
            let member = self.ours[self.turn];
            self.catch_up_with_program(member, memory);
            if self.make_data_of(member, memory, out) {
                return true;
            }
        }
        false
    }

    fn make_data_of(&mut self, member: u16, memory: &impl Memory, out: &mut Outgoing) -> bool {
        let now = self.now;
        let stream = &mut self.streams[usize::from(member)];
        let Some(sending) = &mut stream.sending else {
            return false;
        };
        if !sending.has_followers {
            sending.sent = stream.have;
            sending.floor = stream.have;
            return false;
        }
        let window = sending.window.min(self.config.geometry.log_bytes);
        let limit = stream.have.min(sending.floor + window);
        let awaited = memory.awaited(member);
        let position = sending.sent;
        let end = limit
            .min(position + self.config.payload_bytes as u64)
            .max(position);
        let is_probe = position == end
            && awaited > sending.probed
            && awaited <= position
            && awaited > sending.floor;
        if position == end && !is_probe {
            return false;
        }
        let is_asking = is_probe
            || (position < awaited && awaited <= end)
            || (end == limit && limit < stream.have)
            || end - sending.asked_at >= window / ANSWERS;
        if is_asking {
            sending.asked_at = end;
            sending.probed = sending.probed.max(awaited.min(end));
        }
        sending.sent = end;
        if sending.timed.is_none() && is_asking {
            sending.timed = Some((end, now));
        }
        if sending.resend.due.is_none() {
            sending.expect_answers(now);
        }
        let due = sending.resend.due;
        let mut flags = if is_asking { flags::ACK_NOW } else { 0 };
        if self.by_group().is_some() {
            flags |= flags::GROUP;
        }
        let stream = &self.streams[usize::from(member)];
        let header = Header {
            flags,
            member,
            epoch: stream.epoch,
            position,
            extra: end,
            ..Header::new(Kind::Data, self.config.host)
        };
        self.wake_at_any(due);
        let mut making = Making::new(&mut out.bytes);
        let room = making.room((end - position) as usize);
        // A program that writes more than it may: those who follow will ask where to go on.
        let is_there = memory.read_log(member, position, room);
        making.close(header, &self.keys);
        self.counts.sent += 1;
        is_there && self.resolve(&To::Followers, out)
    }

    /// Somebody has said that something was lost.
    pub(crate) fn lost_some(&mut self, member: u16) {
        let packet = self.config.payload_bytes as u64;
        let stream = &mut self.streams[usize::from(member)];
        if let Some(sending) = &mut stream.sending
            && sending.floor >= sending.recovers_to
        {
            sending.window = (sending.window / 2).max(PACKETS_MIN * packet);
            sending.threshold = sending.window;
            sending.recovers_to = sending.sent;
        }
    }

    /// No answer has come for long: what those who have not given it seem to lack is sent again, a packet of it.
    pub(crate) fn resend_if_due(&mut self, member: u16, memory: &impl Memory) {
        self.progressed(member, memory);
        let now = self.now;
        let packet = self.config.payload_bytes as u64;
        let stream = &mut self.streams[usize::from(member)];
        let epoch = stream.epoch;
        let Some(sending) = &mut stream.sending else {
            return;
        };
        if !sending.resend.is_due(now) {
            return;
        }
        if !sending.is_awaited() {
            return sending.resend.stop();
        }
        let first = sending.patience();
        sending.resend.again(now, first, LONGEST);
        sending.timed = None;
        let (sent, due) = (sending.sent, sending.resend.due);
        let below = std::mem::replace(&mut sending.resend_below, sent);
        self.wake_at_any(due);
        let late: Vec<Repair> = self
            .peers
            .iter()
            .filter_map(|(host, peer)| {
                let had = peer.hads[usize::from(member)];
                let is_late = had.follows_in(epoch) && had.have < below;
                is_late.then(|| Repair {
                    to: *host,
                    member,
                    epoch,
                    position: had.have,
                    end: sent.min(had.have + packet),
                })
            })
            .collect();
        self.lost_some(member);
        let deaf: Vec<HostId> = late.iter().map(|repair| repair.to).collect();
        self.doubt(&deaf);
        late.into_iter().for_each(|repair| self.repair(repair));
    }
}
