//! The region is fetched from others, a partition after the other, when what was missed is in no log any more ([REFLECT-9.5]).
//!
//! Meanwhile logs go on. Who is asked for a part answers once it has seen all that the asker had when it asked; what the asker has got since
//! then is in its logs, and is written over what comes. It can hold more than the asker's log does: of a member's own partition the
//! asker then has not all until its log has come as far, and begins anew if it never will.

use bcl_types::{Span, Time};
use bcl_wire::bytes::{get_u32, get_u64, put_u32, put_u64};

use crate::beat::SILENCE;
use crate::frames;
use crate::memory::Memory;
use crate::mirror::Mirror;
use crate::names::{Event, HostId};
use crate::packet::{Header, Kind, flags};
use crate::saved::Saved;
use crate::stream::{Retry, Stream};

/// One packet of the region,
const CHUNK_BYTES: u64 = 1024;
/// and so many are asked for at once.
const CHUNKS: u64 = 64;
const FIRST: Span = Span::from_ms(2);
const LONGEST: Span = Span::from_ms(20);
/// After so many questions in vain it is seen who else can be asked,
const TRIES_ONE: u32 = 20;
/// and after so long, longer than it takes to miss a host, it does not matter any more whether who is asked has all that the asker has: it
/// may never get it.
const TIME_ALL: Span = Span::from_ms(5000);
/// A question that cannot be answered yet is looked at again after so long,
const LOOK: Span = Span::from_us(100);
/// so often.
const LOOKS: u32 = 100;

/// What is still to be fetched.
#[derive(Debug)]
pub(crate) struct Fetching {
    /// By member.
    partitions: Vec<Partition>,
    batch: Option<Batch>,
    /// Since when something is lacking.
    since: Time,
    /// Since when nothing has come of what was asked for.
    asked_since: Option<Time>,
    /// Others were told that something is lacking.
    has_fetched: bool,
    /// Nobody has all that this host has.
    is_anyhow: bool,
    /// Questions of others that cannot be answered yet.
    held: Vec<Held>,
}

/// What this host has of a member's partition.
#[derive(Debug, Clone, Default)]
struct Partition {
    /// It is to be fetched.
    is_lacking: bool,
    /// How far the member's log had come where it was fetched from.
    reaches: u64,
    /// What it is a copy of, by epoch and position, if not of what the log is at.
    content: Option<(u64, u64)>,
}

/// Who asks for something that others wrote of whom it has seen more than this host.
#[derive(Debug)]
struct Held {
    header: Header,
    payload: Vec<u8>,
    looks: u32,
}

/// What is being fetched now.
#[derive(Debug)]
struct Batch {
    from: HostId,
    member: u16,
    number: u64,
    offset: u64,
    end: u64,
    /// A bit for each chunk that has still to come.
    missing: u64,
    /// Some have come since it was asked for last.
    has_begun: bool,
    /// How much of all logs was in the region when it was asked for.
    applied: Vec<u64>,
    retry: Retry,
}

impl Batch {
    fn new(from: HostId, member: u16, offset: u64, end: u64, now: Time) -> Self {
        Self {
            from,
            member,
            number: 0,
            offset,
            end,
            missing: 0,
            has_begun: false,
            applied: Vec::new(),
            retry: Retry::at(now),
        }
    }

    /// A bit for each of its chunks.
    fn all(&self) -> u64 {
        let chunks = (self.end - self.offset).div_ceil(CHUNK_BYTES).min(CHUNKS);
        u64::MAX >> (CHUNKS - chunks)
    }
}

impl Fetching {
    pub fn new(members: usize) -> Self {
        Self {
            partitions: vec![Partition::default(); members],
            batch: None,
            since: Time(0),
            asked_since: None,
            has_fetched: false,
            is_anyhow: false,
            held: Vec::new(),
        }
    }

    pub fn is_whole(&self) -> bool {
        !self.partitions.iter().any(|partition| partition.is_lacking)
    }

    pub fn has_fetched(&self) -> bool {
        self.has_fetched
    }

    fn is_lacking(&self, member: u16) -> bool {
        self.partitions[usize::from(member)].is_lacking
    }

    /// A log goes on elsewhere than here.
    pub fn skips(&mut self, member: u16, epoch: u64, applied: u64) {
        let partition = &mut self.partitions[usize::from(member)];
        partition.content.get_or_insert((epoch, applied));
    }

    /// What is to be written down of a member's partition.
    pub fn partition(&self, member: u16) -> (bool, u64, Option<(u64, u64)>) {
        let partition = &self.partitions[usize::from(member)];
        (partition.is_lacking, partition.reaches, partition.content)
    }

    /// As it was written down.
    pub fn restore(&mut self, member: u16, saved: &Saved) {
        self.has_fetched |= saved.is_lacking;
        self.partitions[usize::from(member)] = Partition {
            is_lacking: saved.is_lacking,
            reaches: saved.reaches,
            content: saved.content,
        };
    }

    pub fn content_of(&self, member: u16, stream: &Stream) -> (u64, u64) {
        let partition = &self.partitions[usize::from(member)];
        partition.content.unwrap_or((stream.epoch, stream.have))
    }

    /// From where on a log is kept, if all before `applied` is in the region: what is being fetched can be older.
    pub fn kept_from(&self, member: u16, applied: u64) -> u64 {
        let batch = self.batch.as_ref();
        let kept = batch.and_then(|batch| batch.applied.get(usize::from(member)));
        kept.map_or(applied, |kept| applied.min(*kept))
    }

    pub fn forget(&mut self, host: HostId) {
        self.batch.take_if(|batch| batch.from == host);
        self.held.retain(|held| held.header.host != host);
    }
}

impl Mirror {
    /// All is to be fetched but what only members of this host write.
    pub(crate) fn fetch_all(&mut self) {
        if self.fetching.is_whole() {
            self.events.push_back(Event::FetchesAnew);
        }
        for (partition, stream) in self.fetching.partitions.iter_mut().zip(&self.streams) {
            partition.is_lacking |= stream.sending.is_none();
            partition.reaches = 0;
        }
        self.unsaved.all_logs();
        self.fetching.is_anyhow = false;
        self.fetching.since = self.now;
        self.fetching.has_fetched = true;
        // What is under way may have been begun before.
        self.fetching.batch = None;
        self.wake_at(self.now);
    }

    /// Goes on with it.
    pub(crate) fn fetch(&mut self, memory: &impl Memory) {
        if self.fetching.batch.is_none() {
            self.begin_partition();
        }
        let now = self.now;
        match &self.fetching.batch {
            Some(batch) if batch.retry.is_due(now) => self.ask_for_batch(memory),
            Some(batch) => self.wake_at_any(batch.retry.due),
            None => {}
        }
    }

    /// For the first time or again.
    fn ask_for_batch(&mut self, memory: &impl Memory) {
        let now = self.now;
        let number = self.next_number();
        self.catch_up_with_programs(memory);
        let fetching = &mut self.fetching;
        let Some(batch) = &mut fetching.batch else {
            return;
        };
        if batch.retry.tries > TRIES_ONE {
            fetching.batch = None;
            self.wake_in(FIRST);
            return;
        }
        let since = *fetching.asked_since.get_or_insert(now);
        fetching.is_anyhow |= now.since(since) >= TIME_ALL;
        batch.retry.again(now, FIRST, LONGEST);
        if !std::mem::take(&mut batch.has_begun) {
            // Anew: logs have gone on, and must not wait for it.
            batch.number = number;
            batch.applied = self.streams.iter().map(|stream| stream.applied).collect();
            batch.missing = batch.all();
        }
        let mut payload = vec![0; 8 + 4 * self.streams.len()];
        put_u64(&mut payload, 0, batch.missing);
        for (index, applied) in batch.applied.iter().enumerate() {
            put_u32(&mut payload, 8 + 4 * index, *applied as u32);
        }
        let header = Header {
            flags: if fetching.is_anyhow { flags::ANYHOW } else { 0 },
            member: batch.member,
            position: batch.offset,
            extra: batch.number,
            ..Header::new(Kind::Pull, self.config.host)
        };
        let (from, due) = (batch.from, batch.retry.due);
        let to = Some(from);
        self.send_to(from, Header { to, ..header }, &payload);
        self.wake_at_any(due);
    }

    fn catch_up_with_programs(&mut self, memory: &impl Memory) {
        for ours in 0..self.ours.len() {
            self.catch_up_with_program(self.ours[ours], memory);
        }
    }

    /// What has been written into a part of the region while it was on its way, it does not have. False if the logs do not have all of
    /// that any more.
    fn write_again(&mut self, batch: &Batch, done_to: u64, memory: &impl Memory) -> bool {
        self.catch_up_with_programs(memory);
        let geometry = &self.config.geometry;
        let mut streams = (0..).zip(self.streams.iter().zip(&batch.applied));
        streams.all(|(member, (stream, before))| {
            let is_there = stream.applied == *before || stream.tail <= *before;
            let log = (*before, stream.applied);
            let place = (batch.offset, done_to);
            is_there && frames::apply_again(memory, geometry, member, log, place).is_ok()
        })
    }

    /// The next partition that is lacking and that somebody has.
    fn begin_partition(&mut self) {
        for member in 0..self.config.geometry.members {
            self.doubt_what_is_ahead(member);
        }
        for member in 0..self.config.geometry.members {
            if !self.fetching.is_lacking(member) {
                continue;
            }
            let (offset, end) = self.config.geometry.partition(member);
            match self.who_has(member) {
                Some(from) if offset < end => {
                    let batch = Batch::new(from, member, offset, end, self.now);
                    self.fetching.batch = Some(batch);
                    return;
                }
                Some(_) => self.has_partition(member),
                // Nobody has a better one, not even a host that could be heard again.
                None if self.is_furthest(member)
                    && self.now.since(self.fetching.since) >= SILENCE =>
                {
                    self.has_partition(member);
                }
                None => {}
            }
        }
        if !self.fetching.is_whole() {
            self.wake_in(FIRST);
        }
    }

    /// Whether this host has not all of a member's partition that it should have.
    pub(crate) fn lacks(&self, member: u16) -> bool {
        let index = usize::from(member);
        let (stream, partition) = (&self.streams[index], &self.fetching.partitions[index]);
        let is_ahead = stream.applied < partition.reaches && stream.sending.is_none();
        partition.is_lacking || is_ahead
    }

    /// The partition has more than the log, and there is no more of the log anywhere.
    fn doubt_what_is_ahead(&mut self, member: u16) {
        let index = usize::from(member);
        let stream = &self.streams[index];
        let is_over = stream.owner.is_none() && stream.follow.source.is_none();
        let partition = &mut self.fetching.partitions[index];
        if is_over && stream.applied < partition.reaches {
            (partition.is_lacking, partition.reaches) = (true, 0);
            self.unsaved.log(member);
        }
    }

    fn who_has(&self, member: u16) -> Option<HostId> {
        let stream = &self.streams[usize::from(member)];
        let owner = stream.owner.map(|owner| owner.host);
        if let Some(owner) = owner.filter(|owner| self.peers.contains_key(owner)) {
            return Some(owner);
        }
        let peers = self.peers.iter();
        let hads = peers.map(|(host, peer)| (peer.hads[usize::from(member)], *host));
        let whole = hads.filter(|(had, _)| !had.is_lacking);
        whole
            .max_by_key(|(had, host)| (had.epoch, had.have, *host))
            .map(|(_, host)| host)
    }

    /// No other has a later copy, and of those who have the same this one decides.
    fn is_furthest(&self, member: u16) -> bool {
        let stream = &self.streams[usize::from(member)];
        let ours = (self.fetching.content_of(member, stream), self.config.host);
        let mut peers = self.peers.iter();
        peers.all(|(host, peer)| (peer.hads[usize::from(member)].content, *host) < ours)
    }

    fn has_partition(&mut self, member: u16) {
        let partition = &mut self.fetching.partitions[usize::from(member)];
        (partition.is_lacking, partition.content) = (false, None);
        self.unsaved.log(member);
        if self.fetching.is_whole() {
            self.events.push_back(Event::IsWhole);
            self.beat_soon();
        }
    }

    pub(crate) fn on_pull(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let host = header.host;
        self.fetching.held.retain(|held| held.header.host != host);
        if !self.answer_pull(header, payload, memory) {
            self.fetching.held.push(Held {
                header: *header,
                payload: payload.to_vec(),
                looks: 0,
            });
            self.wake_in(LOOK);
        }
    }

    /// Looks at what could not be answered yet.
    pub(crate) fn answer_held(&mut self, memory: &impl Memory) {
        for mut held in std::mem::take(&mut self.fetching.held) {
            held.looks += 1;
            let is_over = self.answer_pull(&held.header, &held.payload, memory);
            if !is_over && held.looks < LOOKS {
                self.fetching.held.push(held);
                self.wake_in(LOOK);
            }
        }
    }

    /// False if it can be answered later.
    fn answer_pull(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) -> bool {
        let member = header.member;
        let (start, end) = self.config.geometry.partition(member);
        let is_sound =
            payload.len() == 8 + 4 * self.streams.len() && (start..end).contains(&header.position);
        if !is_sound {
            self.counts.foreign += 1;
            return true;
        }
        let is_later = |index: usize, stream: &Stream| {
            let theirs = get_u32(payload, 8 + 4 * index);
            // Positions count on beyond 32 bits, and are never so far apart.
            (stream.applied as u32).wrapping_sub(theirs).cast_signed() >= 0
        };
        let is_enough = |(index, stream)| {
            let is_asked_for = !header.has(flags::ANYHOW) || index == usize::from(member);
            !is_asked_for || is_later(index, stream)
        };
        self.catch_up_with_programs(memory);
        if self.lacks(member) {
            return true;
        }
        if !self.streams.iter().enumerate().all(is_enough) {
            return false;
        }
        let offset = header.position;
        let asker = header.host;
        let answer = Header {
            member,
            epoch: self.streams[usize::from(member)].applied,
            position: offset,
            extra: header.extra,
            ..self.header_to(Kind::Chunk, asker)
        };
        // In whole chunks, unless they are all that is left.
        let zeros = match memory.zeros(offset, end) {
            zeros if zeros >= end - offset => end - offset,
            zeros => zeros / CHUNK_BYTES * CHUNK_BYTES,
        };
        if zeros > 0 {
            let header = Header {
                flags: flags::ZEROS,
                ..answer
            };
            self.send_to(asker, header, &zeros.to_le_bytes());
            return true;
        }
        let wanted = get_u64(payload, 0);
        for chunk in (0..CHUNKS).filter(|chunk| wanted >> chunk & 1 != 0) {
            let at = offset + chunk * CHUNK_BYTES;
            if at >= end {
                break;
            }
            let mut bytes = [0; CHUNK_BYTES as usize];
            let bytes = &mut bytes[..(end - at).min(CHUNK_BYTES) as usize];
            memory.read(at, bytes);
            let header = Header {
                position: at,
                ..answer
            };
            self.send_to(asker, header, bytes);
        }
        true
    }

    pub(crate) fn on_chunk(&mut self, header: &Header, payload: &[u8], memory: &impl Memory) {
        let now = self.now;
        let is_asked = |batch: &&mut Batch| {
            batch.number == header.extra
                && batch.from == header.host
                && (batch.offset..batch.end).contains(&header.position)
        };
        let Some(batch) = self.fetching.batch.as_mut().filter(is_asked) else {
            return self.counts.stale += 1;
        };
        let partition = &mut self.fetching.partitions[usize::from(batch.member)];
        if header.epoch > partition.reaches {
            partition.reaches = header.epoch;
            self.unsaved.log(batch.member);
        }
        batch.has_begun = true;
        self.fetching.asked_since = None;
        let rest = batch.end - header.position;
        let done_to = if header.has(flags::ZEROS) {
            let zeros = match payload.len() {
                8 => get_u64(payload, 0).min(rest),
                _ => return self.counts.foreign += 1,
            };
            memory.zero(header.position, zeros);
            header.position + zeros
        } else {
            let chunk = (header.position - batch.offset) / CHUNK_BYTES;
            let is_sound = (header.position - batch.offset).is_multiple_of(CHUNK_BYTES)
                && chunk < CHUNKS
                && payload.len() as u64 == rest.min(CHUNK_BYTES);
            if !is_sound {
                return self.counts.foreign += 1;
            }
            memory.write(header.position, payload);
            batch.missing &= !(1 << chunk);
            if batch.missing != 0 {
                // More are on their way.
                let due = now + FIRST;
                batch.retry.start(due);
                return self.wake_at(due);
            }
            batch.end.min(batch.offset + CHUNKS * CHUNK_BYTES)
        };
        let Some(done) = self.fetching.batch.take() else {
            return;
        };
        let next = match self.write_again(&done, done_to, memory) {
            true => done_to,
            false => done.offset,
        };
        if next >= done.end {
            self.has_partition(done.member);
        } else {
            let batch = Batch::new(done.from, done.member, next, done.end, now);
            self.fetching.batch = Some(batch);
        }
        self.fetch(memory);
    }
}
