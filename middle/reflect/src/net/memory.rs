//! The memory of a host, as the protocol sees it: the segment.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

use bcl_mirror::{Geometry, HostId, Memory, Saved};
use bcl_os::sync::Ordering;
use bcl_types::{Span, Time};

use super::shared::{FRAME_MAX_BYTES, HOSTS_MAX};
use super::writing::tell;
use crate::segment::Segment;
use crate::words;

/// What others need not see soon is sent after so long, if nothing else is before.
const HELD: Span = Span::from_us(200);
/// As much is looked at for zeros at once.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// The segment, for who keeps the region.
pub struct KeptMemory {
    segment: Arc<Segment>,
    geometry: Geometry,
    /// By member: how far its log had come when that was looked at last. It only grows, whatever a program writes there.
    heads: Vec<Cell<u64>>,
    /// By member: since when something in its log is held back.
    held_since: Vec<Cell<Option<Time>>>,
    now: Cell<Time>,
}

impl KeptMemory {
    pub fn new(segment: Arc<Segment>, geometry: Geometry) -> Self {
        Self {
            segment,
            heads: vec![Cell::new(0); geometry.members.into()],
            held_since: vec![Cell::new(None); geometry.members.into()],
            now: Cell::new(Time(0)),
            geometry,
        }
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// What time it is, from now on.
    pub fn at(&self, now: Time) {
        self.now.set(now);
    }

    /// When something is to be sent that is held back.
    pub fn held_until(&self) -> Option<Time> {
        let since = self.held_since.iter().filter_map(Cell::get).min();
        since.map(|since| since + HELD)
    }

    /// Whether what is at the end of a member's log, and not urgent, is still held back.
    fn is_held(&self, member: u16) -> bool {
        let (since, now) = (&self.held_since[usize::from(member)], self.now.get());
        let began = since.get().unwrap_or(now);
        since.set(Some(began));
        now < began + HELD
    }

    /// A process of this host writes a member's log from there on.
    pub fn begin(&self, member: u16, position: u64) {
        self.heads[usize::from(member)].set(position);
        let written = &self.segment.book(member).written;
        let words = [
            &written.head,
            &written.until,
            &written.applied,
            &written.urgent,
        ];
        for word in words {
            word.store(position, Ordering::Relaxed);
        }
        written.awaited.store(0, Ordering::Relaxed);
    }

    /// Puts into the region what a member of this host has written to its log, and not to the region before it ended.
    pub fn finish(&self, member: u16) {
        let written = &self.segment.book(member).written;
        written.urgent.store(u64::MAX, Ordering::Relaxed);
        let (applied, head) = (written.applied.load(Ordering::Acquire), self.head(member));
        // Further apart they have never been, unless a program ran wild, whose frames need make no sense either.
        if applied < head && head - applied <= self.geometry.log_bytes {
            let _ = bcl_mirror::apply(self, &self.geometry, member, applied, head);
        }
        written.applied.store(head, Ordering::Relaxed);
    }
}

impl Memory for KeptMemory {
    fn head(&self, member: u16) -> u64 {
        let last = &self.heads[usize::from(member)];
        let written = &self.segment.book(member).written;
        let head = written.head.load(Ordering::Acquire).max(last.get());
        let urgent = written.urgent.load(Ordering::Relaxed).max(last.get());
        let is_held = head > urgent && self.is_held(member);
        if !is_held {
            self.held_since[usize::from(member)].set(None);
        }
        last.set(if is_held { urgent } else { head });
        last.get()
    }

    fn awaited(&self, member: u16) -> u64 {
        self.segment
            .book(member)
            .written
            .awaited
            .load(Ordering::Acquire)
    }

    fn set_floor(&self, member: u16, floor: u64) {
        let answered = &self.segment.book(member).answered;
        if answered.floor.swap(floor, Ordering::SeqCst) != floor {
            tell(answered);
        }
    }

    fn floor(&self, member: u16) -> u64 {
        self.segment
            .book(member)
            .answered
            .floor
            .load(Ordering::Relaxed)
    }

    fn read_log(&self, member: u16, position: u64, into: &mut [u8]) -> bool {
        self.segment.log(member).read(position, into)
    }

    fn set_tail(&self, member: u16, tail: u64) {
        self.segment.book(member).kept.set_tail(tail);
    }

    fn write_log(&self, member: u16, position: u64, bytes: &[u8]) {
        self.segment.log(member).write(position, bytes);
    }

    fn apply(&self, member: u16, position: u64, offset: u64, len_bytes: u64) {
        let mut bytes = [0; FRAME_MAX_BYTES];
        let bytes = &mut bytes[..FRAME_MAX_BYTES.min(len_bytes as usize)];
        self.segment.log(member).read(position, bytes);
        self.write(offset, bytes);
    }

    fn set_applied(&self, _: u16, _: u64) {}

    fn read(&self, offset: u64, into: &mut [u8]) {
        words::read(self.segment.words(), offset as usize, into);
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        words::write(self.segment.words(), offset as usize, bytes);
        self.segment.wake_sleepers(&[(offset, bytes)]);
    }

    fn zero(&self, offset: u64, len_bytes: u64) {
        const ZEROS: [u8; 4096] = [0; 4096];
        let mut done = 0;
        while done < len_bytes {
            let part = (len_bytes - done).min(ZEROS.len() as u64);
            // Pages that are zeros already stay untouched.
            if self.zeros(offset + done, offset + done + part) < part {
                self.write(offset + done, &ZEROS[..part as usize]);
            }
            done += part;
        }
    }

    fn zeros(&self, offset: u64, end: u64) -> u64 {
        let end = end.min(offset + LOOKED_AT_BYTES);
        let words = &self.segment.words()[(offset / 8) as usize..(end / 8) as usize];
        let zeros = words
            .iter()
            .take_while(|word| word.load(Ordering::Relaxed) == 0);
        zeros.count() as u64 * 8
    }

    fn save(&self, member: u16, saved: &Saved) {
        let kept = &self.segment.book(member).kept;
        kept.set_tail(saved.tail);
        kept.store(saved);
    }

    fn save_hosts(&self, hosts: &mut dyn Iterator<Item = (HostId, SocketAddr)>) {
        let common = self.segment.common();
        let mut number = 0;
        for (host, address) in hosts.take(HOSTS_MAX) {
            self.segment.host_line(number).store(host, address);
            number += 1;
        }
        common.hosts.store(number as u32, Ordering::Release);
    }
}
