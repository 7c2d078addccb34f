//! What a member of this host writes goes to its log first, then to the region ([REFLECT-7.3]), and others are told.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bcl_mirror::{FRAME_HEADER_BYTES, frame_bytes, frame_header};
use bcl_os::futex;
use bcl_os::sync::{Ordering, fence};

use super::desk::Desk;
use super::keeping;
use super::shared::{Answered, FRAME_MAX_BYTES, log_bytes};
use crate::error::Error;
use crate::segment::Segment;
use crate::words;

/// How often is looked whether the one that keeps the region runs, by who waits for it.
const LOOK: Duration = Duration::from_millis(100);

/// So often a thread that waits goes round before it sleeps: for longer than an answer takes.
const ATTENDED: u32 = 100;

/// How many members have what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// So many members, this one among them.
    pub members: u16,
    /// Those are enough. If not, the time is over.
    pub is_enough: bool,
}

/// Something has changed of what a member is answered: its threads that sleep are woken.
pub fn tell(answered: &Answered) {
    answered.changes.fetch_add(1, Ordering::SeqCst);
    if answered.sleepers.load(Ordering::SeqCst) != 0 {
        futex::wake_all(&answered.changes);
    }
}

/// Wakes the one that keeps the region, if it sleeps: what was stored before this it sees.
pub fn ring(segment: &Segment) {
    segment.light_fence();
    let is_asleep = &segment.common().is_asleep;
    if is_asleep.load(Ordering::Relaxed) != 0 && is_asleep.swap(0, Ordering::Relaxed) != 0 {
        ring_anyway(segment);
    }
}

/// The same, whether it sleeps or not.
pub fn ring_anyway(segment: &Segment) {
    if let Some(bell) = segment.bell() {
        // It is rung already, if this fails.
        let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
    }
}

/// A request other than to send what was written.
pub fn request(segment: &Segment) {
    segment.common().requests.fetch_add(1, Ordering::Release);
    ring(segment);
}

/// How soon others are to see what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    Now,
    /// With what is written next, or within about a millisecond ([REFLECT-8.9]).
    Later,
}

/// One member's way of writing.
#[derive(Debug)]
pub struct Pen {
    pub segment: Arc<Segment>,
    /// Of the region.
    pub name: String,
    pub member: u16,
    /// As what it has joined.
    pub joined: u32,
    pub desk: Arc<Desk>,
    /// Threads write one after the other.
    pub writing: Mutex<()>,
}

impl Pen {
    /// Writes in order, and returns when the members of this host see all of it.
    pub fn write(&self, writes: &[(u64, &[u8])], haste: Haste) -> Result<(), Error> {
        let writing = self.writing.lock();
        let _writing = writing.unwrap_or_else(PoisonError::into_inner);
        for (offset, data) in writes {
            let mut at = *offset;
            for part in data.chunks(FRAME_MAX_BYTES) {
                self.write_frame(at, part)?;
                at += part.len() as u64;
            }
        }
        if haste == Haste::Now {
            self.hurry();
        }
        let floor = self.answered().floor.load(Ordering::Relaxed);
        match haste {
            _ if floor == u64::MAX => {}
            Haste::Now => self.desk.send(&self.segment),
            Haste::Later => self.desk.send_later(&self.segment),
        }
        Ok(())
    }

    /// All that is written is to be sent.
    fn hurry(&self) {
        let written = &self.segment.book(self.member).written;
        let head = written.head.load(Ordering::Relaxed);
        written.urgent.fetch_max(head, Ordering::Release);
    }

    fn answered(&self) -> &Answered {
        &self.segment.book(self.member).answered
    }

    fn write_frame(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let segment = &self.segment;
        let log = segment.log(self.member);
        let written = &log.book.written;
        let len_bytes = data.len() as u64;
        let head = written.head.load(Ordering::Relaxed);
        let end = head + frame_bytes(len_bytes);
        self.wait_for_room(end)?;
        // Who reads what lies a log's length before sees this first.
        written.until.store(end, Ordering::Relaxed);
        fence(Ordering::Release);
        log.write(head, &frame_header(offset, len_bytes));
        log.write(head + FRAME_HEADER_BYTES, data);
        written.head.store(end, Ordering::Release);
        words::write(segment.words(), offset as usize, data);
        written.applied.store(end, Ordering::Release);
        segment.wake_sleepers(&[(offset, data)]);
        Ok(())
    }

    fn wait_for_room(&self, end: u64) -> Result<(), Error> {
        let log_bytes = log_bytes(self.segment.members());
        let has_room = || {
            let floor = self.answered().floor.load(Ordering::Acquire);
            end <= floor.saturating_add(log_bytes)
        };
        while !has_room() {
            self.check()?;
            self.hurry();
            self.desk.send(&self.segment);
            self.wait(LOOK, &has_room);
            keeping::check(&self.segment, &self.name)?;
        }
        self.check()
    }

    /// Until it is so, or something else has changed of what the member is answered: first by going round, if that is done here.
    fn wait(&self, limit: Duration, is_so: &dyn Fn() -> bool) {
        for _ in 0..ATTENDED {
            if is_so() {
                return;
            }
            self.desk.attend();
        }
        self.desk.is_left(&self.segment);
        sleep_unless(self.answered(), limit, is_so);
    }

    /// Whether this process is still the member.
    fn check(&self) -> Result<(), Error> {
        let writer = self.answered().writer.load(Ordering::Relaxed);
        match writer == u64::from(self.joined) {
            true => Ok(()),
            false => Err(Error::Usurped),
        }
    }

    /// Waits until so many members have all up to a position; `None` is all who are there, this one included.
    pub fn wait_until_reached(
        &self,
        position: u64,
        wanted: Option<u16>,
        timeout: Option<Duration>,
    ) -> Result<Reached, Error> {
        let (segment, answered) = (&self.segment, self.answered());
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let having = || match answered.having_up_to.load(Ordering::Acquire) >= position {
            true => answered.having.load(Ordering::Relaxed),
            false => 1,
        };
        let enough = || wanted.map_or_else(|| segment.hosts_there().count() as u32, u32::from);
        let reached = || Reached {
            members: having() as u16,
            is_enough: having() >= enough(),
        };
        let awaited = &segment.book(self.member).written.awaited;
        awaited.fetch_max(position, Ordering::Relaxed);
        self.hurry();
        request(segment);
        loop {
            let now = reached();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if now.is_enough || left == Some(Duration::ZERO) {
                return Ok(now);
            }
            self.check()?;
            let limit = left.map_or(LOOK, |left| left.min(LOOK));
            self.wait(limit, &|| reached() != now);
            keeping::check(segment, &self.name)?;
        }
    }
}

/// Sleeps until something has changed of what a member is answered, or is so already.
pub fn sleep_unless(answered: &Answered, limit: Duration, is_so: &dyn Fn() -> bool) {
    answered.sleepers.fetch_add(1, Ordering::SeqCst);
    let seen = answered.changes.load(Ordering::SeqCst);
    if !is_so() {
        futex::sleep(&answered.changes, seen, Some(limit));
    }
    answered.sleepers.fetch_sub(1, Ordering::SeqCst);
}
