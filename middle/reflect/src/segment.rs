//! The memory that the members of a node share ([REFLECT-6]).

use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use bcl_os::{Fd, fence, futex};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

use crate::life::{Life, State};
use crate::net::shared::{Book, Common, HOSTS_MAX, HostLine, Log, log_bytes};
use crate::net::writing::request;
use crate::options::Geometry;

const MAGIC: u64 = u64::from_ne_bytes(*b"BCLrefl1");
const PAGE_BYTES: usize = 4096;

#[repr(C, align(64))]
struct Geometric {
    magic: AtomicU64,
    members: AtomicU32,
    reserved: AtomicU32,
    len_bytes: AtomicU64,
}

#[repr(C, align(64))]
struct Shared {
    must_fence: AtomicU32,
    ends: AtomicU32,
}

#[repr(C, align(64))]
struct Header {
    geometry: Geometric,
    shared: Shared,
    asleep: [AtomicU64; 4],
}

#[repr(C, align(64))]
struct Line {
    state: AtomicU64,
    pid: AtomicU32,
    changes: AtomicU32,
    waits_at: AtomicU64,
    /// Where it is, if not here: 0.
    host: AtomicU64,
}

/// In the place of an offset: a member waits at several, or for others to come and end only.
const ANYWHERE: u64 = u64::MAX;

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

/// What lies where.
#[derive(Debug, Clone, Copy)]
struct Layout {
    members: usize,
    /// What the region takes between hosts, if there are others: first what is common, then that of each member,
    books_at: usize,
    hosts_at: usize,
    logs_at: usize,
    log_bytes: usize,
    region_at: usize,
    region_bytes: usize,
}

impl Layout {
    fn of(geometry: &Geometry) -> Self {
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

    fn len_bytes(&self) -> usize {
        self.region_at + self.region_bytes.next_multiple_of(PAGE_BYTES)
    }
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

    /// What the members are, by number.
    pub fn states(&self) -> impl Iterator<Item = State> {
        let words = self.lines().iter().map(|line| &line.state);
        words.map(|word| State::of_word(word.load(Ordering::Acquire)))
    }

    /// What a member is, and the number of its process.
    pub fn member(&self, member: u16) -> (State, u32) {
        let line = &self.lines()[usize::from(member)];
        let state = State::of_word(line.state.load(Ordering::Acquire));
        (state, line.pid.load(Ordering::Relaxed))
    }

    /// The host that a member is on, 0 if that is this one.
    pub fn host_of(&self, member: u16) -> u64 {
        self.lines()[usize::from(member)]
            .host
            .load(Ordering::Relaxed)
    }

    /// Writes down what is known of a member that is on another host.
    pub fn hear_of(&self, member: u16, host: u64, state: State) {
        let line = &self.lines()[usize::from(member)];
        line.pid.store(0, Ordering::Relaxed);
        line.host.store(host, Ordering::Relaxed);
        let before = line.state.swap(state.to_word(), Ordering::AcqRel);
        if before != state.to_word() {
            self.tell_of(state);
        }
    }

    /// The hosts of the members that are there, one for each: 0 is this one.
    pub fn hosts_there(&self) -> impl Iterator<Item = u64> + '_ {
        let lines = self.lines().iter();
        let there = lines
            .filter(|line| State::of_word(line.state.load(Ordering::Acquire)).life == Life::There);
        there.map(|line| line.host.load(Ordering::Relaxed))
    }

    /// A member has come or ended.
    fn tell_of(&self, state: State) {
        if self.bell.is_some() {
            request(self);
        }
        if state.life != Life::There {
            self.header().shared.ends.fetch_add(1, Ordering::Release);
        }
        self.wake_sleepers(ANYWHERE, ANYWHERE);
    }

    /// Writes down that this process is a member. Only who has its seat may.
    pub fn enter(&self, member: u16, state: State, must_fence: bool) {
        let line = &self.lines()[usize::from(member)];
        if must_fence {
            self.have_all_fence();
        }
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        line.pid.store(pid.cast_unsigned(), Ordering::Relaxed);
        line.host.store(0, Ordering::Relaxed);
        line.state.store(state.to_word(), Ordering::Release);
        self.tell_of(state);
    }

    /// Writes down that a member has ended, unless that is known or it has come again meanwhile.
    pub fn leave(&self, member: u16, before: State, after: State) {
        let line = &self.lines()[usize::from(member)];
        let exchanged = line.state.compare_exchange(
            before.to_word(),
            after.to_word(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if exchanged.is_ok() {
            // Its own sleepers too, if it leaves.
            self.tell_of(after);
            self.rise(member);
        }
    }

    /// Writers look at the bits of sleepers after a fence of their own, from now on.
    pub fn have_all_fence(&self) {
        let must_fence = &self.header().shared.must_fence;
        must_fence.store(1, Ordering::SeqCst);
    }

    /// Orders what was stored before what is loaded after, for who looks whether somebody sleeps.
    #[inline]
    pub fn light_fence(&self) {
        let must_fence = self.header().shared.must_fence.load(Ordering::Relaxed) != 0;
        fence::light(must_fence);
    }

    /// How many members have ended so far.
    pub fn ends(&self) -> u32 {
        self.header().shared.ends.load(Ordering::Acquire)
    }

    /// A thread of a member falls asleep, waiting for the word at an offset; one alone if nobody else of the member sleeps.
    /// Returns what it sleeps on.
    pub fn lie_down(&self, member: u16, offset: u64, is_alone: bool) -> &AtomicU32 {
        let line = &self.lines()[usize::from(member)];
        let at = if is_alone { offset } else { ANYWHERE };
        line.waits_at.store(at, Ordering::Relaxed);
        let (word, bit) = self.bit_of(member);
        word.fetch_or(bit, Ordering::Release);
        &line.changes
    }

    /// Nobody of a member sleeps any more.
    pub fn rise(&self, member: u16) {
        let (word, bit) = self.bit_of(member);
        word.fetch_and(!bit, Ordering::Relaxed);
    }

    fn bit_of(&self, member: u16) -> (&AtomicU64, u64) {
        let word = &self.header().asleep[usize::from(member / 64)];
        (word, 1 << (member % 64))
    }

    /// After a write from one offset to another: wakes those who sleep and wait for a word that lies there ([REFLECT-4.2]).
    #[inline]
    pub fn wake_sleepers(&self, from: u64, to: u64) {
        self.light_fence();
        for (index, word) in self.header().asleep.iter().enumerate() {
            let asleep = word.load(Ordering::Acquire);
            if asleep != 0 {
                self.wake_some(index * 64, asleep, from, to);
            }
        }
    }

    #[cold]
    fn wake_some(&self, first: usize, mut asleep: u64, from: u64, to: u64) {
        while asleep != 0 {
            let member = first + asleep.trailing_zeros() as usize;
            asleep &= asleep - 1;
            // Bits beyond the members were set by a program that ran wild.
            let Some(line) = self.lines().get(member) else {
                return;
            };
            let at = line.waits_at.load(Ordering::Relaxed);
            let is_concerned =
                at == ANYWHERE || from == ANYWHERE || (from <= at.saturating_add(7) && at < to);
            if is_concerned {
                line.changes.fetch_add(1, Ordering::Release);
                futex::wake_all(&line.changes);
            }
        }
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
