//! What a host keeps of a region, and what is noted when it changes.

use std::cell::RefCell;
use std::net::SocketAddr;

use bcl_mirror::{FRAME_HEADER_BYTES, Geometry, HostId, Memory, Saved, frame_bytes, frame_header};

use super::ledger::Applied;

/// A host's region and logs.
pub struct HostMemory {
    geometry: Geometry,
    region: RefCell<Vec<u8>>,
    logs: RefCell<Vec<Log>>,
    /// What was put into the region that others wrote, since it was asked for.
    applied: RefCell<Vec<Applied>>,
    /// The other hosts, as written down.
    hosts: RefCell<Vec<(HostId, SocketAddr)>>,
}

struct Log {
    bytes: Vec<u8>,
    /// A member here has written so far,
    head: u64,
    /// and may write a log's length beyond this.
    floor: u64,
    awaited: u64,
    /// All before is in the region.
    applied: u64,
    saved: Saved,
}

impl HostMemory {
    /// All zeros.
    pub fn new(geometry: Geometry) -> Self {
        // Each by itself: zeros that nobody touches take no memory.
        let log = || Log {
            bytes: vec![0; geometry.log_bytes as usize],
            head: 0,
            floor: 0,
            awaited: 0,
            applied: 0,
            saved: Saved::default(),
        };
        let logs = (0..geometry.members).map(|_| log()).collect();
        Self {
            geometry,
            region: RefCell::new(vec![0; geometry.region_bytes as usize]),
            logs: RefCell::new(logs),
            applied: RefCell::default(),
            hosts: RefCell::default(),
        }
    }

    /// A process here has become a member.
    pub fn begin(&self, member: u16, position: u64) {
        let mut logs = self.logs.borrow_mut();
        let log = &mut logs[usize::from(member)];
        (log.head, log.awaited) = (position, 0);
    }

    /// Whether a write of that length has room in a member's log.
    pub fn has_room(&self, member: u16, len_bytes: u64) -> bool {
        let log = &self.logs.borrow()[usize::from(member)];
        let end = log.head + frame_bytes(len_bytes);
        end <= log.floor.saturating_add(self.geometry.log_bytes)
    }

    /// A member here writes; says where its log ends then.
    pub fn write_as(&self, member: u16, offset: u64, bytes: &[u8], is_awaited: bool) -> u64 {
        let head = self.logs.borrow()[usize::from(member)].head;
        let len_bytes = bytes.len() as u64;
        self.write_log(member, head, &frame_header(offset, len_bytes));
        self.write_log(member, head + FRAME_HEADER_BYTES, bytes);
        self.write(offset, bytes);
        let log = &mut self.logs.borrow_mut()[usize::from(member)];
        log.head += frame_bytes(len_bytes);
        if is_awaited {
            log.awaited = log.head;
        }
        log.head
    }

    /// What was put into the region since this was asked for.
    pub fn take_applied(&self) -> Vec<Applied> {
        self.applied.take()
    }

    /// What was written down.
    pub fn saved(&self) -> (Vec<Saved>, Vec<(HostId, SocketAddr)>) {
        let logs = self.logs.borrow().iter().map(|log| log.saved).collect();
        (logs, self.hosts.borrow().clone())
    }

    /// The region as it is.
    pub fn region(&self) -> Vec<u8> {
        self.region.borrow().clone()
    }
}

impl Memory for HostMemory {
    fn head(&self, member: u16) -> u64 {
        self.logs.borrow()[usize::from(member)].head
    }

    fn awaited(&self, member: u16) -> u64 {
        self.logs.borrow()[usize::from(member)].awaited
    }

    fn set_floor(&self, member: u16, floor: u64) {
        self.logs.borrow_mut()[usize::from(member)].floor = floor;
    }

    fn floor(&self, member: u16) -> u64 {
        self.logs.borrow()[usize::from(member)].floor
    }

    fn set_tail(&self, member: u16, tail: u64) {
        self.logs.borrow_mut()[usize::from(member)].saved.tail = tail;
    }

    fn save(&self, member: u16, saved: &Saved) {
        self.logs.borrow_mut()[usize::from(member)].saved = *saved;
    }

    fn save_hosts(&self, hosts: &mut dyn Iterator<Item = (HostId, SocketAddr)>) {
        *self.hosts.borrow_mut() = hosts.collect();
    }

    fn read_log(&self, member: u16, position: u64, into: &mut [u8]) -> bool {
        let log = &self.logs.borrow()[usize::from(member)];
        for (at, byte) in (position..).zip(into.iter_mut()) {
            *byte = log.bytes[(at % self.geometry.log_bytes) as usize];
        }
        log.head <= position + self.geometry.log_bytes
    }

    fn write_log(&self, member: u16, position: u64, bytes: &[u8]) {
        let log = &mut self.logs.borrow_mut()[usize::from(member)];
        for (at, byte) in (position..).zip(bytes) {
            log.bytes[(at % self.geometry.log_bytes) as usize] = *byte;
        }
    }

    fn apply(&self, member: u16, position: u64, offset: u64, len_bytes: u64) {
        let mut bytes = vec![0; len_bytes as usize];
        self.read_log(member, position, &mut bytes);
        self.write(offset, &bytes);
        let log = &mut self.logs.borrow_mut()[usize::from(member)];
        self.applied.borrow_mut().push(Applied::Frame {
            member,
            offset,
            bytes,
        });
        log.applied = position - FRAME_HEADER_BYTES + frame_bytes(len_bytes);
    }

    fn set_applied(&self, member: u16, position: u64) {
        let log = &mut self.logs.borrow_mut()[usize::from(member)];
        if std::mem::replace(&mut log.applied, position) != position {
            let applied = &mut self.applied.borrow_mut();
            applied.push(Applied::Skipped { member });
        }
        // As a member here before, it may have written further.
        log.head = 0;
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        let region = self.region.borrow();
        into.copy_from_slice(&region[offset as usize..][..into.len()]);
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let mut region = self.region.borrow_mut();
        region[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn zero(&self, offset: u64, len_bytes: u64) {
        let mut region = self.region.borrow_mut();
        region[offset as usize..][..len_bytes as usize].fill(0);
    }

    fn zeros(&self, offset: u64, end: u64) -> u64 {
        let region = self.region.borrow();
        let bytes = &region[offset as usize..end as usize];
        bytes.iter().take_while(|byte| **byte == 0).count() as u64
    }
}
