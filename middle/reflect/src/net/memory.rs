//! The memory of a host, as the protocol sees it: the segment.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

use bcl_mirror::{Geometry, HostId, Memory, Saved};
use bcl_os::sync::Ordering;

use super::shared::{FRAME_MAX_BYTES, HOSTS_MAX};
use super::writing::tell;
use crate::segment::Segment;
use crate::words;

/// As much is looked at for zeros at once.
const LOOKED_AT_BYTES: u64 = 1 << 20;

/// The segment, for who keeps the region.
pub struct KeptMemory {
    segment: Arc<Segment>,
    geometry: Geometry,
    /// By member: how far its log had come when that was looked at last. It only grows, whatever a program writes there.
    heads: Vec<Cell<u64>>,
}

impl KeptMemory {
    pub fn new(segment: Arc<Segment>, geometry: Geometry) -> Self {
        Self {
            segment,
            heads: (0..geometry.members).map(|_| Cell::new(0)).collect(),
            geometry,
        }
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// A process of this host writes a member's log from there on.
    pub fn begin(&self, member: u16, position: u64) {
        self.heads[usize::from(member)].set(position);
        let written = &self.segment.book(member).written;
        for word in [&written.head, &written.until, &written.applied] {
            word.store(position, Ordering::Relaxed);
        }
        written.awaited.store(0, Ordering::Relaxed);
    }

    /// Puts into the region what a member of this host has written to its log, and not to the region before it ended.
    pub fn finish(&self, member: u16) {
        let written = &self.segment.book(member).written;
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
        let head = self
            .segment
            .book(member)
            .written
            .head
            .load(Ordering::Acquire);
        last.set(last.get().max(head));
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
