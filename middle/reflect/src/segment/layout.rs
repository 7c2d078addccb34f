//! What lies where in a segment ([REFLECT-6.1], [REFLECT-6.4]).

use bcl_os::sync::{AtomicU32, AtomicU64};

use crate::net::shared::{Book, Common, HOSTS_MAX, HostLine, log_bytes};
use crate::options::Geometry;

pub const PAGE_BYTES: usize = 4096;

#[repr(C, align(64))]
pub struct Geometric {
    pub magic: AtomicU64,
    pub members: AtomicU32,
    pub reserved: AtomicU32,
    pub len_bytes: AtomicU64,
}

#[repr(C, align(64))]
pub struct Shared {
    pub must_fence: AtomicU32,
    pub ends: AtomicU32,
}

#[repr(C, align(64))]
pub struct Header {
    pub geometry: Geometric,
    pub shared: Shared,
    pub asleep: [AtomicU64; 4],
}

#[repr(C, align(64))]
pub struct Line {
    pub state: AtomicU64,
    pub pid: AtomicU32,
    pub changes: AtomicU32,
    pub waits_at: AtomicU64,
    /// Where it is, if not here: 0.
    pub host: AtomicU64,
}

/// What lies where.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub members: usize,
    /// What the region takes between hosts, if there are others: first what is common, then that of each member,
    pub books_at: usize,
    pub hosts_at: usize,
    pub logs_at: usize,
    pub log_bytes: usize,
    pub region_at: usize,
    pub region_bytes: usize,
}

impl Layout {
    pub fn of(geometry: &Geometry) -> Self {
        let members = usize::from(geometry.members);
        let pages = |len_bytes: usize| len_bytes.next_multiple_of(PAGE_BYTES);
        let common_at = PAGE_BYTES + pages(members * size_of::<Line>());
        let books_at = common_at + size_of::<Common>();
        let hosts_at = books_at + members * size_of::<Book>();
        let logs_at = pages(hosts_at + HOSTS_MAX * size_of::<HostLine>());
        let log_bytes = log_bytes(geometry.members) as usize;
        let region_at = match geometry.is_networked {
            true => logs_at + members * log_bytes,
            false => common_at,
        };
        Self {
            members,
            books_at,
            hosts_at,
            logs_at,
            log_bytes,
            region_at,
            region_bytes: geometry.len_bytes as usize,
        }
    }

    pub fn len_bytes(&self) -> usize {
        self.region_at + self.region_bytes.next_multiple_of(PAGE_BYTES)
    }
}
