//! The memory that the members of a node share ([REFLECT-6]).

use std::os::fd::{AsFd, BorrowedFd};

use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use bcl_os::{Fd, fence, futex};
use rustix::io::Errno;

use crate::life::State;
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
    members: usize,
    words: usize,
}

/// Where the region begins, and how long the segment is.
fn layout(geometry: &Geometry) -> (usize, usize) {
    let lines = usize::from(geometry.members) * size_of::<Line>();
    let region_at = PAGE_BYTES + lines.next_multiple_of(PAGE_BYTES);
    let region_bytes = (geometry.len_bytes as usize).next_multiple_of(PAGE_BYTES);
    (region_at, region_at + region_bytes)
}

impl Segment {
    /// A new one.
    pub fn create(geometry: &Geometry) -> Result<Self, memfd::Error> {
        let (_, len_bytes) = layout(geometry);
        let (fd, mapping) = memfd::create("bcl-region", len_bytes, Writers::Anybody)?;
        memfd::seal_as_it_is(fd.as_fd())?;
        let segment = Self::over(fd, mapping, geometry)?;
        let header = &segment.header().geometry;
        let members = geometry.members.into();
        header.members.store(members, Ordering::Relaxed);
        header
            .len_bytes
            .store(geometry.len_bytes, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(segment)
    }

    /// One that another member has handed over.
    pub fn adopt(fd: Fd, geometry: &Geometry) -> Result<Self, memfd::Error> {
        let (_, len_bytes) = layout(geometry);
        let mapping = memfd::adopt(fd.as_fd(), len_bytes, true)?;
        let segment = Self::over(fd, mapping, geometry)?;
        let header = &segment.header().geometry;
        let is_so = header.magic.load(Ordering::Acquire) == MAGIC
            && header.members.load(Ordering::Relaxed) == u32::from(geometry.members)
            && header.len_bytes.load(Ordering::Relaxed) == geometry.len_bytes;
        match is_so {
            true => Ok(segment),
            false => Err(memfd::Error::Unsafe("it is not that of the region")),
        }
    }

    fn over(fd: Fd, mapping: Mapping, geometry: &Geometry) -> Result<Self, memfd::Error> {
        let (region_at, len_bytes) = layout(geometry);
        let shown = Mapping::new(fd.as_fd(), region_at, len_bytes - region_at, false);
        let shown = shown.map_err(|errno: Errno| memfd::Error::System {
            what: "mapping a region to be read",
            errno,
        })?;
        Ok(Self {
            fd,
            mapping,
            shown,
            members: geometry.members.into(),
            words: geometry.len_bytes as usize / size_of::<u64>(),
        })
    }

    /// To hand over.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
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
            std::slice::from_raw_parts(start.as_ptr(), self.members)
        }
    }

    /// The region.
    pub fn words(&self) -> &[AtomicU64] {
        let region_at = self.mapping.len_bytes() - self.shown.len_bytes();
        // SAFETY: as above: the region is the end of the mapping.
        unsafe {
            let start = self.mapping.start().add(region_at).cast::<AtomicU64>();
            std::slice::from_raw_parts(start.as_ptr(), self.words)
        }
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

    /// Writes down that this process is a member. Only who has its seat may.
    pub fn enter(&self, member: u16, state: State, must_fence: bool) {
        let line = &self.lines()[usize::from(member)];
        if must_fence {
            self.have_all_fence();
        }
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        line.pid.store(pid.cast_unsigned(), Ordering::Relaxed);
        line.state.store(state.to_word(), Ordering::Release);
        self.wake_sleepers(ANYWHERE, ANYWHERE);
    }

    /// Writes down that a member has ended, unless that is known or it has come again meanwhile.
    pub fn leave(&self, member: u16, before: State, after: State) {
        let line = &self.lines()[usize::from(member)];
        let (before, after) = (before.to_word(), after.to_word());
        let exchanged =
            line.state
                .compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed);
        if exchanged.is_ok() {
            self.header().shared.ends.fetch_add(1, Ordering::Release);
            // Its own too, if it leaves.
            self.wake_sleepers(ANYWHERE, ANYWHERE);
            self.rise(member);
        }
    }

    /// Writers look at the bits of sleepers after a fence of their own, from now on.
    pub fn have_all_fence(&self) {
        let must_fence = &self.header().shared.must_fence;
        must_fence.store(1, Ordering::SeqCst);
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
        let header = self.header();
        let must_fence = header.shared.must_fence.load(Ordering::Relaxed) != 0;
        fence::light(must_fence);
        for (index, word) in header.asleep.iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(members: u16, len_bytes: u64) -> Geometry {
        let name = "x".into();
        Geometry {
            name,
            members,
            len_bytes,
        }
    }

    #[test]
    fn what_is_handed_over_must_be_the_region() {
        let made = Segment::create(&geometry(3, 4096)).unwrap();
        let adopt = |geometry: &Geometry| {
            let fd = Fd::make(|| rustix::io::fcntl_dupfd_cloexec(made.as_fd(), 0)).unwrap();
            Segment::adopt(fd, geometry)
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
