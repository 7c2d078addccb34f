//! What a segment has beside the region if other hosts have it too ([REFLECT-6.4]): what the members of this host and the one that keeps
//! the region tell each other, what that writes down, and the logs.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use bcl_mirror::{HostId, Saved};
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering, fence};

use crate::words;

/// Most hosts that are written down: each has a member, or nobody would be there.
pub const HOSTS_MAX: usize = 256;
/// All logs together, if members are few enough,
const LOGS_BYTES: u64 = 16 << 20;
/// but each so much at least, and at most.
const LOG_BYTES_MIN: u64 = 64 << 10;
const LOG_BYTES_MAX: u64 = 1 << 20;

/// Longest write that is one frame: an eighth of the shortest log ([REFLECT-7.3]).
pub const FRAME_MAX_BYTES: usize = 8192;

/// How long a member's log is, by the number of members: the same on all hosts.
pub fn log_bytes(members: u16) -> u64 {
    let each = LOGS_BYTES / u64::from(members);
    (each / 4096 * 4096).clamp(LOG_BYTES_MIN, LOG_BYTES_MAX)
}

/// Of the region as a whole.
#[repr(C, align(64))]
pub struct Common {
    /// This host.
    pub host: AtomicU64,
    /// Which process keeps the region: see [`super::keeping`].
    pub keeper: AtomicU64,
    /// When that has last shown that it runs, by the monotonic clock.
    pub turned_at_ns: AtomicU64,
    /// It sleeps, and is to be woken by who has something for it.
    pub is_asleep: AtomicU32,
    /// Counts what is asked of it beside sending what is written.
    pub requests: AtomicU32,
    /// The geometry that another host has said, if it is not ours.
    pub refused_members: AtomicU32,
    /// How many hosts are written down.
    pub hosts: AtomicU32,
    pub refused_bytes: AtomicU64,
    /// Packets, for people: sent, sent again, passed on, refused.
    pub packets: [AtomicU64; 4],
    /// The region is being fetched anew.
    pub fetches: AtomicU32,
    /// So many hosts get packets of logs by IP multicast.
    pub hearers: AtomicU32,
    /// While the one that keeps the region sleeps: when it will look by itself, by the monotonic clock.
    pub looks_at_ns: AtomicU64,
    /// So many threads of its program go round again and again, because they wait.
    pub attending: AtomicU32,
}

/// What a member of this host says.
#[repr(C, align(64))]
pub struct Written {
    /// Its log ends there, in whole frames,
    pub head: AtomicU64,
    /// and there is what it is writing.
    pub until: AtomicU64,
    /// It waits for others to have all up to there.
    pub awaited: AtomicU64,
    /// All before this is in the region.
    pub applied: AtomicU64,
    /// All before this is to be sent at once; what follows, with what is written next, or soon.
    pub urgent: AtomicU64,
}

/// What it is answered.
#[repr(C, align(64))]
pub struct Answered {
    /// It may write until a log's length beyond.
    pub floor: AtomicU64,
    /// So many members have all up to `having_up_to`.
    pub having: AtomicU32,
    /// Counts what has changed here; its threads sleep on that,
    pub changes: AtomicU32,
    /// so many.
    pub sleepers: AtomicU32,
    /// What became of its wish to be a member: one of the constants of [`super::wish`].
    pub wish: AtomicU32,
    pub having_up_to: AtomicU64,
    /// The host that has the member, if that was refused.
    pub holder: AtomicU64,
    /// As what it may write, by how often the member was joined as; 0 if it may not.
    pub writer: AtomicU64,
    /// How far the log of a member of another host is known to reach, for people.
    pub known_head: AtomicU64,
}

/// What this host has of a member's log and partition.
#[repr(C, align(64))]
pub struct Kept {
    /// Which of the slots it is: the other is written, and then this changed, so that it is one or the other whenever a process
    /// ends.
    current: AtomicU64,
    tail: AtomicU64,
    slots: [Slot; 2],
}

struct Slot {
    epoch: AtomicU64,
    base: AtomicU64,
    prior: AtomicU64,
    have: AtomicU64,
    applied: AtomicU64,
    reaches: AtomicU64,
    content_epoch: AtomicU64,
    content_position: AtomicU64,
    flags: AtomicU64,
}

const IS_OURS: u64 = 1;
const IS_BROKEN: u64 = 2;
const IS_LACKING: u64 = 4;
const HAS_CONTENT: u64 = 8;

/// Of one member.
#[repr(C, align(64))]
pub struct Book {
    pub written: Written,
    pub answered: Answered,
    pub kept: Kept,
}

/// Another host, and where it is.
#[repr(C)]
pub struct HostLine {
    id: AtomicU64,
    port: AtomicU64,
    ip: [AtomicU64; 2],
}

/// A member's log.
#[derive(Clone, Copy)]
pub struct Log<'a> {
    pub book: &'a Book,
    pub words: &'a [AtomicU64],
}

impl Kept {
    fn slot(&self) -> &Slot {
        let current = self.current.load(Ordering::Acquire);
        &self.slots[(current & 1) as usize]
    }

    pub fn load(&self) -> Saved {
        let tail = self.tail.load(Ordering::Relaxed);
        let saved = self.slot().load();
        Saved { tail, ..saved }
    }

    pub fn store(&self, saved: &Saved) {
        let next = self.current.load(Ordering::Relaxed) ^ 1;
        self.slots[(next & 1) as usize].store(saved);
        self.current.store(next, Ordering::Release);
    }

    pub fn set_tail(&self, tail: u64) {
        self.tail.store(tail, Ordering::Release);
    }
}

impl Slot {
    fn load(&self) -> Saved {
        let of = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let flags = of(&self.flags);
        let content = (of(&self.content_epoch), of(&self.content_position));
        Saved {
            epoch: of(&self.epoch),
            base: of(&self.base),
            prior: of(&self.prior),
            have: of(&self.have),
            applied: of(&self.applied),
            tail: 0,
            is_ours: flags & IS_OURS != 0,
            is_broken: flags & IS_BROKEN != 0,
            is_lacking: flags & IS_LACKING != 0,
            reaches: of(&self.reaches),
            content: (flags & HAS_CONTENT != 0).then_some(content),
        }
    }

    fn store(&self, saved: &Saved) {
        let (content_epoch, content_position) = saved.content.unwrap_or_default();
        let flag = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let flags = flag(saved.is_ours, IS_OURS)
            | flag(saved.is_broken, IS_BROKEN)
            | flag(saved.is_lacking, IS_LACKING)
            | flag(saved.content.is_some(), HAS_CONTENT);
        let words = [
            (&self.epoch, saved.epoch),
            (&self.base, saved.base),
            (&self.prior, saved.prior),
            (&self.have, saved.have),
            (&self.applied, saved.applied),
            (&self.reaches, saved.reaches),
            (&self.content_epoch, content_epoch),
            (&self.content_position, content_position),
            (&self.flags, flags),
        ];
        for (word, value) in words {
            word.store(value, Ordering::Relaxed);
        }
    }
}

impl HostLine {
    /// What a program that ran wild has written may be no address.
    pub fn load(&self) -> Option<(HostId, SocketAddr)> {
        let id = self.id.load(Ordering::Relaxed);
        let port = u16::try_from(self.port.load(Ordering::Relaxed)).ok()?;
        let [high, low] = [&self.ip[0], &self.ip[1]].map(|word| word.load(Ordering::Relaxed));
        let ip = Ipv6Addr::from(u128::from(high) << 64 | u128::from(low));
        let address = SocketAddr::new(ip.to_canonical(), port);
        (id != 0).then_some((HostId(id), address))
    }

    pub fn store(&self, host: HostId, address: SocketAddr) {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let ip = u128::from(ip);
        self.id.store(host.0, Ordering::Relaxed);
        self.port.store(address.port().into(), Ordering::Relaxed);
        self.ip[0].store((ip >> 64) as u64, Ordering::Relaxed);
        self.ip[1].store(ip as u64, Ordering::Relaxed);
    }
}

impl Log<'_> {
    fn len_bytes(&self) -> u64 {
        size_of_val(self.words) as u64
    }

    /// Copies bytes to a position. Who reads those that they replace has to look at `until` or the tail afterwards.
    pub fn write(&self, position: u64, bytes: &[u8]) {
        let at = (position % self.len_bytes()) as usize;
        let (first, second) = bytes.split_at(bytes.len().min(size_of_val(self.words) - at));
        words::write(self.words, at, first);
        words::write(self.words, 0, second);
    }

    /// Copies bytes from a position. False if its member, of this host, may have written over them.
    pub fn read(&self, position: u64, into: &mut [u8]) -> bool {
        let at = (position % self.len_bytes()) as usize;
        let middle = into.len().min(size_of_val(self.words) - at);
        let (first, second) = into.split_at_mut(middle);
        words::read(self.words, at, first);
        words::read(self.words, 0, second);
        fence(Ordering::Acquire);
        let until = self.book.written.until.load(Ordering::Relaxed);
        until <= position.saturating_add(self.len_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_neither_too_short_nor_too_long() {
        assert_eq!(log_bytes(1), 1 << 20);
        assert_eq!(log_bytes(16), 1 << 20);
        assert_eq!(log_bytes(100), 163_840);
        assert_eq!(log_bytes(256), 64 << 10);
        assert_eq!(LOG_BYTES_MIN / 8, FRAME_MAX_BYTES as u64);
    }

    #[test]
    fn the_layout_is_that_of_the_specification() {
        assert_eq!(size_of::<Common>(), 128);
        assert_eq!(size_of::<Book>(), 320);
        assert_eq!(std::mem::offset_of!(Book, answered), 64);
        assert_eq!(std::mem::offset_of!(Book, kept), 128);
        assert_eq!(size_of::<HostLine>(), 32);
        assert_eq!(std::mem::offset_of!(Common, packets), 48);
        assert_eq!(std::mem::offset_of!(Common, fetches), 80);
        assert_eq!(std::mem::offset_of!(Common, looks_at_ns), 88);
        assert_eq!(std::mem::offset_of!(Common, attending), 96);
        assert_eq!(std::mem::offset_of!(Written, urgent), 32);
        assert_eq!(std::mem::offset_of!(Answered, known_head), 112 - 64);
        assert_eq!(std::mem::offset_of!(Kept, slots), 16);
        assert_eq!(size_of::<Slot>(), 72);
    }

    #[test]
    fn hosts_are_remembered_with_addresses_of_both_kinds() {
        let line: HostLine = HostLine {
            id: AtomicU64::new(0),
            port: AtomicU64::new(0),
            ip: [AtomicU64::new(0), AtomicU64::new(0)],
        };
        assert_eq!(line.load(), None);
        for address in ["10.0.0.1:7", "[2001:db8::7]:65535"] {
            let address = address.parse().unwrap();
            line.store(HostId(9), address);
            assert_eq!(line.load(), Some((HostId(9), address)));
        }
    }
}
