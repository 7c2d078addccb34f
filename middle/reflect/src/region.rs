//! What a program has of a region.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bcl_os::process::generation;
use bcl_os::sync::{AtomicU64, Ordering};

use crate::error::Error;
use crate::life::{Life, News, State};
use crate::net::writing::{Haste, Pen, Reached};
use crate::options::{Geometry, Joining};
use crate::seat::Seated;
use crate::segment::Segment;
use crate::wait::{Bed, Wait, Waited};
use crate::words;

/// A region that this process is a member of.
///
/// Threads may share it. Dropping it is leaving: what was written stays, and the others are told.
#[derive(Debug)]
pub struct Region {
    /// Until it is left.
    seated: Mutex<Option<Seated>>,
    segment: Arc<Segment>,
    geometry: Geometry,
    member: u16,
    /// If other hosts have the region.
    pen: Option<Pen>,
    bed: Bed,
    told: Mutex<Told>,
    /// Whose it is: this process's, not its children's. [`LEFT`] once it is left.
    generation: AtomicU64,
}

/// The generation of no process.
const LEFT: u64 = 0;

/// What the program knows of the members.
#[derive(Debug)]
struct Told {
    states: Vec<State>,
    ends: u32,
    /// Where the search for news goes on.
    next: usize,
}

impl Region {
    pub(crate) fn join(joining: Joining) -> Result<Self, Error> {
        let (geometry, member) = (joining.geometry.clone(), joining.seat.member);
        let generation = generation();
        let seated = Seated::take(joining)?;
        let segment = Arc::clone(&seated.segment);
        let pen = seated.desk.as_ref().map(|desk| Pen {
            segment: Arc::clone(&segment),
            name: geometry.name.clone(),
            member,
            joined: seated.joined(),
            desk: Arc::clone(desk),
            writing: Mutex::default(),
        });
        let told = Told {
            ends: segment.ends(),
            states: segment.states().collect(),
            next: 0,
        };
        Ok(Self {
            seated: Mutex::new(Some(seated)),
            segment,
            geometry,
            member,
            pen,
            bed: Bed::default(),
            told: Mutex::new(told),
            generation: AtomicU64::new(generation),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.geometry.name
    }

    /// Which member this process is.
    pub fn member(&self) -> u16 {
        self.member
    }

    /// How many members there can be.
    pub fn members(&self) -> u16 {
        self.geometry.members
    }

    /// Length in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.geometry.len_bytes
    }

    /// The region, to be read only: a store there ends the process by SIGSEGV. Aligned to a page, and there until the region
    /// is left.
    ///
    /// Others write at any moment, so that it is to be read as atomics are, or as C's `volatile`, in aligned words of up to 8
    /// bytes. Who has seen a word by [`load`](Self::load), or by a load that acquires, sees by later ones what was written
    /// before it. [REFLECT-3.5]
    pub fn memory(&self) -> *const u8 {
        self.segment.shown()
    }

    /// Writes so that all members see it, and returns when those of this host do. [REFLECT-3]
    ///
    /// On other hosts it appears soon after; [`wait_until_reached`](Self::wait_until_reached) waits for that. If they take more slowly
    /// than this writes, it waits for them.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] beyond the end, [`Error::Forked`], [`Error::Left`]; between hosts also [`Error::Usurped`], and
    /// [`Error::NotKept`], with which a part may have been written.
    #[inline]
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.write_each(&[(offset, data)])
    }

    /// Several writes, each with its offset, as one by one in this order, but sooner: other hosts are sent all of them together.
    ///
    /// # Errors
    /// As [`write`](Self::write); beyond the end nothing is written.
    #[inline]
    pub fn write_each(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        for (offset, data) in writes {
            self.check(*offset, data.len())?;
        }
        if let Some(pen) = &self.pen {
            return pen.write(writes, Haste::Now);
        }
        for (offset, data) in writes {
            words::write(self.segment.words(), *offset as usize, data);
        }
        self.segment.wake_sleepers(writes);
        Ok(())
    }

    /// Writes a word, at a multiple of 8.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[inline]
    pub fn write_word(&self, offset: u64, value: u64) -> Result<(), Error> {
        self.write_word_in(Haste::Now, offset, value)
    }

    /// The same, if members of other hosts need not see it soon: they do with what this member writes next, or within about a
    /// millisecond. It costs no packet of its own if that is soon.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[inline]
    pub fn write_word_later(&self, offset: u64, value: u64) -> Result<(), Error> {
        self.write_word_in(Haste::Later, offset, value)
    }

    fn write_word_in(&self, haste: Haste, offset: u64, value: u64) -> Result<(), Error> {
        let index = self.check_word(offset)?;
        let bytes = &value.to_ne_bytes();
        if let Some(pen) = &self.pen {
            return pen.write(&[(offset, bytes)], haste);
        }
        self.segment.words()[index].store(value, Ordering::Release);
        self.segment.wake_sleepers(&[(offset, bytes)]);
        Ok(())
    }

    /// Where what this member has written ends so far: what to [wait](Self::wait_until_reached) for.
    pub fn written(&self) -> u64 {
        let written = |_| {
            let written = &self.segment.book(self.member).written;
            written.head.load(Ordering::Acquire)
        };
        self.pen.as_ref().map_or(0, written)
    }

    /// Waits until so many members, this one among them, have all that this one had [`written`](Self::written) at that position;
    /// `None` is all who are there, and who are no more are not waited for. Or the time is over; `None` is never.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn wait_until_reached(
        &self,
        position: u64,
        members: Option<u16>,
        timeout: Option<Duration>,
    ) -> Result<Reached, Error> {
        self.check(0, 0)?;
        let Some(pen) = &self.pen else {
            let there = self.segment.hosts_there().count() as u16;
            let is_enough = members.is_none_or(|members| there >= members);
            return Ok(Reached {
                members: there,
                is_enough,
            });
        };
        pen.wait_until_reached(position, members, timeout)
    }

    /// Reads a word, at a multiple of 8. What is read after it is no older. [REFLECT-3.3]
    ///
    /// # Errors
    /// As [`write`](Self::write).
    #[inline]
    pub fn load(&self, offset: u64) -> Result<u64, Error> {
        let index = self.check_word(offset)?;
        Ok(self.segment.words()[index].load(Ordering::Acquire))
    }

    /// Reads bytes, each word of them whole, but not all at the same moment.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.check(offset, data.len())?;
        words::read(self.segment.words(), offset as usize, data);
        Ok(())
    }

    /// Waits until the word at a multiple of 8 is not `not`, a member has ended of which [`news`](Self::news) would tell, or the
    /// time is over; `None` is never. Polls first, and sleeps if nothing comes. [REFLECT-4.1]
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Left`] also if that happens meanwhile.
    pub fn wait(&self, offset: u64, not: u64, timeout: Option<Duration>) -> Result<Waited, Error> {
        self.wait_any(&[(offset, not)], timeout)
    }

    /// The same for several words: the offset of each, and what it is not to be. Ends when one of them has changed. While it sleeps,
    /// each write of anybody wakes it.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_any(
        &self,
        words: &[(u64, u64)],
        timeout: Option<Duration>,
    ) -> Result<Waited, Error> {
        for (offset, _) in words {
            self.check_word(*offset)?;
        }
        self.check(0, 0)?;
        let wait = Wait {
            segment: &self.segment,
            member: self.member,
            words,
            ends_known: self.told().ends,
            desk: self.pen.as_ref().map(|pen| &*pen.desk),
        };
        let waited = self.bed.wait(&wait, timeout);
        match self.has_left() {
            true => Err(Error::Left),
            false => Ok(waited),
        }
    }

    /// What is known of a member.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such member.
    pub fn life(&self, member: u16) -> Result<Life, Error> {
        if member >= self.members() {
            let members = self.members();
            return Err(Error::InvalidArgument(format!(
                "member {member} of a region of {members}: they have the numbers from 0"
            )));
        }
        Ok(self.segment.member(member).0.life)
    }

    /// The name of the other host that a member is, or was last, on; 0 for this one, and for one that has never come.
    ///
    /// # Errors
    /// As [`life`](Self::life).
    pub fn host_of(&self, member: u16) -> Result<u64, Error> {
        self.life(member)?;
        Ok(self.segment.host_of(member))
    }

    /// A member that has come or ended since this process has joined and was told so the last time; `None` if there is none.
    /// [REFLECT-5.2]
    pub fn news(&self) -> Option<News> {
        let mut told = self.told();
        if told.next == 0 {
            // Before the search: who ends meanwhile is found, or ends the next wait.
            told.ends = self.segment.ends();
        }
        for member in told.next..told.states.len() {
            let (state, _) = self.segment.member(member as u16);
            if std::mem::replace(&mut told.states[member], state) != state {
                told.next = member + 1;
                let member = member as u16;
                let life = state.life;
                return Some(News { member, life });
            }
        }
        told.next = 0;
        None
    }

    /// Leaves the region, as dropping does, and ends the waits of other threads. The last member of a host waits until other hosts have
    /// what was written there, 3 seconds at most. What [`memory`](Self::memory) has returned is there
    /// until it is dropped.
    ///
    /// # Errors
    /// [`Error::Forked`]; [`Error::Left`] if that was done.
    pub fn leave(&self) -> Result<(), Error> {
        self.check(0, 0)?;
        let seated = lock(&self.seated).take().ok_or(Error::Left)?;
        self.generation.store(LEFT, Ordering::Release);
        seated.rise();
        Ok(())
    }

    fn has_left(&self) -> bool {
        self.generation.load(Ordering::Relaxed) == LEFT
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        lock(&self.told)
    }

    #[inline]
    fn check_word(&self, offset: u64) -> Result<usize, Error> {
        self.check(offset, size_of::<u64>())?;
        match offset.is_multiple_of(8) {
            true => Ok(offset as usize / size_of::<u64>()),
            false => Err(Error::InvalidArgument(format!(
                "a word at {offset}: words lie at multiples of 8"
            ))),
        }
    }

    #[inline]
    fn check(&self, offset: u64, len_bytes: usize) -> Result<(), Error> {
        if generation() != self.generation.load(Ordering::Relaxed) {
            return Err(self.not_ours());
        }
        let end = offset.checked_add(len_bytes as u64);
        match end.is_some_and(|end| end <= self.geometry.len_bytes) {
            true => Ok(()),
            false => Err(self.beyond(offset, len_bytes)),
        }
    }

    #[cold]
    fn not_ours(&self) -> Error {
        match self.has_left() {
            true => Error::Left,
            false => Error::Forked,
        }
    }

    #[cold]
    fn beyond(&self, offset: u64, len_bytes: usize) -> Error {
        let (name, has_bytes) = (self.name(), self.len_bytes());
        Error::InvalidArgument(format!(
            "{len_bytes} bytes from {offset} on reach beyond the end of region {name}, which has {has_bytes} bytes"
        ))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Region {
    fn drop(&mut self) {
        // In a child of the process, it stays where it is; and it may have been left before.
        let _ = self.leave();
    }
}
