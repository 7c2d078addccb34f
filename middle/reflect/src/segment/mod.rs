//! The memory that the members of a node share ([REFLECT-6]).
//!
//! Read on with `layout`, what lies where; `members`, who is there; `sleepers`, who is woken when something changes.

mod layout;
mod members;
mod sleepers;

pub use sleepers::ANYWHERE;

use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::Fd;
use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::{AtomicU64, Ordering};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

use crate::net::shared::{Book, Common, HOSTS_MAX, HostLine, Log};
use crate::options::Geometry;
use layout::{Header, Layout, Line, PAGE_BYTES};

const MAGIC: u64 = u64::from_ne_bytes(*b"BCLrefl1");

/// A segment, mapped.
#[derive(Debug)]
pub struct Segment {
    fd: Fd,
    mapping: Mapping,
    /// The region once more, for programs, who must not write there.
    shown: Mapping,
    /// Wakes the process that keeps the region, if other hosts have it too.
    bell: Option<Fd>,
    layout: Layout,
}

impl Segment {
    /// A new one.
    pub fn create(geometry: &Geometry) -> Result<Self, memfd::Error> {
        let len_bytes = Layout::of(geometry).len_bytes();
        let (fd, mapping) = memfd::create("bcl-region", len_bytes, Writers::Anybody)?;
        memfd::seal_as_it_is(fd.as_fd())?;
        let bell = geometry.is_networked.then(new_bell).transpose()?;
        let segment = Self::over(fd, mapping, bell, geometry)?;
        let header = &segment.header().geometry;
        let members = geometry.members.into();
        header.members.store(members, Ordering::Relaxed);
        header
            .len_bytes
            .store(geometry.len_bytes, Ordering::Relaxed);
        if geometry.is_networked {
            segment.networked(geometry.members)?;
        }
        header.magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// What is not zero to begin with.
    fn networked(&self, members: u16) -> Result<(), memfd::Error> {
        let mut host = [0; 8];
        bcl_os::random(&mut host).map_err(|error| memfd::Error::System {
            what: "choosing a host's name by chance",
            errno: Errno::from_io_error(&error).unwrap_or(Errno::IO),
        })?;
        let host = u64::from_ne_bytes(host).max(1);
        self.common().host.store(host, Ordering::Relaxed);
        for member in 0..members {
            let floor = &self.book(member).answered.floor;
            floor.store(u64::MAX, Ordering::Relaxed);
        }
        Ok(())
    }

    /// One that another member has handed over, with the bell if there are other hosts.
    pub fn adopt(fd: Fd, bell: Option<Fd>, geometry: &Geometry) -> Result<Self, memfd::Error> {
        let len_bytes = Layout::of(geometry).len_bytes();
        let mapping = memfd::adopt(fd.as_fd(), len_bytes, true)?;
        let segment = Self::over(fd, mapping, bell, geometry)?;
        let header = &segment.header().geometry;
        let is_so = header.magic.load(Ordering::Acquire) == MAGIC
            && header.members.load(Ordering::Relaxed) == u32::from(geometry.members)
            && header.len_bytes.load(Ordering::Relaxed) == geometry.len_bytes;
        match is_so {
            true => Ok(segment),
            false => Err(memfd::Error::Unsafe("it is not that of the region")),
        }
    }

    fn over(
        fd: Fd,
        mapping: Mapping,
        bell: Option<Fd>,
        geometry: &Geometry,
    ) -> Result<Self, memfd::Error> {
        let layout = Layout::of(geometry);
        let region_at = layout.region_at;
        let shown = Mapping::new(fd.as_fd(), region_at, layout.len_bytes() - region_at, false);
        let shown = shown.map_err(|errno: Errno| memfd::Error::System {
            what: "mapping a region to be read",
            errno,
        })?;
        Ok(Self {
            fd,
            mapping,
            shown,
            bell,
            layout,
        })
    }

    /// To hand over.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let bell = self.bell.iter().map(AsFd::as_fd);
        [self.fd.as_fd()].into_iter().chain(bell).collect()
    }

    /// Wakes the process that keeps the region; `None` if no other host has it.
    pub fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.bell.as_ref().map(AsFd::as_fd)
    }

    /// Where programs read.
    pub fn shown(&self) -> *const u8 {
        self.shown.start().as_ptr()
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is longer than a header, aligned to a page, and lives as long as the reference; all fields are
        // atomics.
        unsafe { self.mapping.start().cast::<Header>().as_ref() }
    }

    fn lines(&self) -> &[Line] {
        // SAFETY: as laid out in `layout`, which has sized the mapping; all fields are atomics.
        unsafe {
            let start = self.mapping.start().add(PAGE_BYTES).cast::<Line>();
            std::slice::from_raw_parts(start.as_ptr(), self.layout.members)
        }
    }

    /// The region.
    pub fn words(&self) -> &[AtomicU64] {
        self.words_at(self.layout.region_at, self.layout.region_bytes)
    }

    fn words_at(&self, at: usize, len_bytes: usize) -> &[AtomicU64] {
        assert!(at.is_multiple_of(8) && at + len_bytes <= self.mapping.len_bytes());
        // SAFETY: as above: within the mapping, and aligned, as has just been seen.
        unsafe {
            let start = self.mapping.start().add(at).cast::<AtomicU64>();
            std::slice::from_raw_parts(start.as_ptr(), len_bytes / size_of::<u64>())
        }
    }

    /// Something of the part that there is only if other hosts have the region.
    fn networked_at<T>(&self, at: usize) -> &T {
        let is_there = self.bell.is_some() && at + size_of::<T>() <= self.layout.logs_at;
        assert!(is_there, "a region of this host only");
        // SAFETY: within the mapping, as laid out in `Layout`, which aligns it; all fields are atomics.
        unsafe { self.mapping.start().add(at).cast::<T>().as_ref() }
    }

    /// What the members of this host and the one that keeps the region share.
    pub fn common(&self) -> &Common {
        self.networked_at(self.layout.books_at - size_of::<Common>())
    }

    /// What is written down of a member.
    pub fn book(&self, member: u16) -> &Book {
        assert!(usize::from(member) < self.layout.members);
        self.networked_at(self.layout.books_at + usize::from(member) * size_of::<Book>())
    }

    /// Where another host is written down.
    pub fn host_line(&self, index: usize) -> &HostLine {
        assert!(index < HOSTS_MAX);
        self.networked_at(self.layout.hosts_at + index * size_of::<HostLine>())
    }

    /// A member's log.
    pub fn log(&self, member: u16) -> Log<'_> {
        let book = self.book(member);
        let Layout {
            logs_at, log_bytes, ..
        } = self.layout;
        let words = self.words_at(logs_at + usize::from(member) * log_bytes, log_bytes);
        Log { book, words }
    }
}

/// Made for who keeps the region to wait on, and for all to write to.
fn new_bell() -> Result<Fd, memfd::Error> {
    let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
    let bell = Fd::make(|| rustix::event::eventfd(0, flags));
    bell.map_err(|errno| memfd::Error::System {
        what: "making an eventfd",
        errno,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(members: u16, len_bytes: u64) -> Geometry {
        let name = "x".into();
        Geometry {
            name,
            members,
            len_bytes,
            is_networked: false,
        }
    }

    #[test]
    fn what_is_handed_over_must_be_the_region() {
        let made = Segment::create(&geometry(3, 4096)).unwrap();
        let adopt = |geometry: &Geometry| {
            let fd = Fd::make(|| rustix::io::fcntl_dupfd_cloexec(made.fd.as_fd(), 0)).unwrap();
            Segment::adopt(fd, None, geometry)
        };
        assert!(adopt(&geometry(3, 4096)).is_ok());
        assert!(adopt(&geometry(4, 4096)).is_err());
        assert!(adopt(&geometry(3, 4088)).is_err());
        assert!(adopt(&geometry(3, 1 << 20)).is_err());
    }

    #[test]
    fn the_layout_is_that_of_the_specification() {
        let made = Segment::create(&geometry(65, 16)).unwrap();
        made.words()[1].store(7, Ordering::Relaxed);
        made.lie_down(64, 5, true);
        made.have_all_fence();
        let bytes = |at: usize| {
            // SAFETY: within the segment of the test.
            unsafe { made.mapping.start().add(at).read() }
        };
        let magic: Vec<u8> = (0..8).map(bytes).collect();
        assert_eq!(magic, b"BCLrefl1");
        assert_eq!((bytes(8), bytes(16), bytes(64)), (65, 16, 1));
        assert_eq!((bytes(128 + 8), bytes(3 * 4096 + 8)), (1, 7));
        assert_eq!(bytes(4096 + 64 * 64 + 16), 5);
        assert_eq!(made.mapping.len_bytes(), 4 * 4096);
    }
}
