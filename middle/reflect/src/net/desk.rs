//! Who goes round: a thread that waits for packets, or a thread of the program that waits itself and so is quicker.
//!
//! While one of the program waits for a word, it goes round in place of the thread, and what it waits for need not wake anybody first;
//! the thread looks now and then whether it still does. What the program writes it sends itself, if nobody is just going round: else
//! that one does.

use std::iter;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use bcl_os::sync::{AtomicBool, AtomicU32, Ordering, fence};
use bcl_os::{Fd, fence as fences};
use bcl_types::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::now;
use super::round::Round;
use super::sockets::Sockets;
use super::writing::{ring, ring_anyway};
use crate::segment::Segment;

/// How long others have to take what was written before the last process of a host leaves.
const DRAIN: Span = Span::from_ms(3000);
/// How often the thread looks whether one of the program still goes round.
const LOOK: Span = Span::from_ms(1);
/// Where the kernel gives no fence for others, what is written may be noticed so late.
const UNFENCED: Span = Span::from_ms(10);

/// Values of the word that says whether to stop.
pub const STOP_AT_ONCE: u32 = 1;
pub const STOP_AND_DRAIN: u32 = 2;

/// Of each member's process; only one of a host has the round.
#[derive(Default)]
pub struct Desk {
    round: Mutex<Option<Round>>,
    /// It is here.
    is_here: AtomicBool,
    /// Something was written while somebody went round.
    has_more: AtomicBool,
    /// Counts the times that threads of the program went round.
    turns: AtomicU32,
    /// The thread waits for packets.
    is_watched: AtomicBool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Desk")
    }
}

impl Desk {
    /// From now on this process keeps the region.
    pub fn begin(&self, round: Round) {
        *self.lock() = Some(round);
        self.is_here.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Round>> {
        self.round.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` if somebody else has it.
    fn try_lock(&self) -> Option<MutexGuard<'_, Option<Round>>> {
        match self.round.try_lock() {
            Ok(round) => Some(round),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn go_round(&self, mut round: MutexGuard<'_, Option<Round>>) {
        if let Some(round) = round.as_mut() {
            round.turn();
        }
        drop(round);
        // What came meanwhile was left to us.
        self.send_the_rest();
    }

    fn send_the_rest(&self) {
        loop {
            fence(Ordering::SeqCst);
            if !self.has_more.load(Ordering::Relaxed) {
                return;
            }
            let Some(mut round) = self.try_lock() else {
                return;
            };
            self.has_more.store(false, Ordering::SeqCst);
            if let Some(round) = round.as_mut() {
                round.transmit();
            }
        }
    }

    /// A thread of the program is going to wait, and looks all the time until this is dropped. `None` if it keeps nothing.
    pub fn come<'a>(&'a self, segment: &'a Segment) -> Option<Attendance<'a>> {
        self.is_here.load(Ordering::Relaxed).then(|| {
            let attending = &segment.common().attending;
            attending.fetch_add(1, Ordering::SeqCst);
            let desk = self;
            Attendance { desk, segment }
        })
    }

    /// One of the program's threads has nothing to do.
    pub fn attend(&self) {
        if self.is_here.load(Ordering::Relaxed)
            && let Some(round) = self.try_lock()
        {
            self.go_round(round);
            self.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// It will not look for a while.
    pub fn is_left(&self, segment: &Segment) {
        if self.is_here.load(Ordering::Relaxed) && !self.is_watched.load(Ordering::Relaxed) {
            ring_anyway(segment);
        }
    }

    /// Something has been written.
    pub fn send(&self, segment: &Segment) {
        if !self.is_here.load(Ordering::Relaxed) {
            // A whole fence: who stops looking does so often, and makes none for others.
            fence(Ordering::SeqCst);
            if !is_attended(segment) {
                ring(segment);
            }
            return;
        }
        self.has_more.store(true, Ordering::SeqCst);
        self.send_the_rest();
    }

    /// Something has been written that others need not see soon.
    pub fn send_later(&self, segment: &Segment) {
        segment.light_fence();
        let common = segment.common();
        let will_look = |by: Time| common.looks_at_ns.load(Ordering::Relaxed) <= by.0;
        // One that is awake looks before it sleeps.
        let is_asleep = common.is_asleep.load(Ordering::Relaxed) != 0;
        if is_asleep && !is_attended(segment) && !will_look(now() + LOOK) {
            ring(segment);
        }
    }

    /// What the thread does until it is to stop.
    pub fn run(&self, segment: &Segment, stop: &AtomicU32) {
        let mut watches = Watches::default();
        let (mut drained_by, mut turns) = (None, self.turns.load(Ordering::Relaxed));
        loop {
            self.go_round(self.lock());
            match stop.load(Ordering::Acquire) {
                0 => {}
                STOP_AND_DRAIN => {
                    let by = *drained_by.get_or_insert_with(|| now() + DRAIN);
                    if self.is_sent() || now() >= by {
                        return self.end(true);
                    }
                }
                _ => return self.end(false),
            }
            let before = std::mem::replace(&mut turns, self.turns.load(Ordering::Relaxed));
            self.sleep(segment, &mut watches, turns != before);
        }
    }

    fn is_sent(&self) -> bool {
        self.lock().as_ref().is_none_or(Round::is_sent)
    }

    /// This process does not keep the region any more; with the last, this host leaves.
    pub fn end(&self, is_last: bool) {
        self.is_here.store(false, Ordering::Relaxed);
        if let Some(mut round) = self.lock().take().filter(|_| is_last) {
            round.leave();
        }
    }

    /// Until something is to be done by the thread.
    fn sleep(&self, segment: &Segment, watches: &mut Watches, is_attended: bool) {
        let common = segment.common();
        common.looks_at_ns.store(u64::MAX, Ordering::Relaxed);
        common.is_asleep.store(1, Ordering::Release);
        let is_fenced = fences::heavy();
        if !is_fenced {
            segment.have_all_fence();
        }
        let (mut until, mut wanted) = (now() + LOOK, PollFlags::IN);
        if !is_attended && let Some(round) = self.lock().as_mut() {
            // What was written before somebody could see that it sleeps.
            round.transmit();
            watches.follow(&round.sockets);
            until = round.next();
            wanted.set(PollFlags::OUT, round.is_held_up());
        }
        if !is_fenced {
            until = until.min(now() + UNFENCED);
        }
        common.looks_at_ns.store(until.0, Ordering::Relaxed);
        self.is_watched.store(!is_attended, Ordering::Relaxed);
        if let Some(bell) = segment.bell() {
            let sockets = if is_attended { &[] } else { &watches.all[..] };
            wait_until(until, bell, sockets, wanted);
            common.is_asleep.store(0, Ordering::Relaxed);
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }
}

/// A thread of the program that looks all the time.
pub struct Attendance<'a> {
    desk: &'a Desk,
    segment: &'a Segment,
}

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.segment
            .common()
            .attending
            .fetch_sub(1, Ordering::SeqCst);
        // What others have written since it has looked last, they may have left to it.
        fence(Ordering::SeqCst);
        self.desk.has_more.store(true, Ordering::SeqCst);
        self.desk.send_the_rest();
    }
}

fn is_attended(segment: &Segment) -> bool {
    segment.common().attending.load(Ordering::SeqCst) != 0
}

/// What the thread waits at.
#[derive(Default)]
struct Watches {
    all: Vec<Arc<Fd>>,
    /// As of so many changes.
    changes: Option<u32>,
}

impl Watches {
    fn follow(&mut self, sockets: &Sockets) {
        if self.changes != Some(sockets.changes) {
            self.changes = Some(sockets.changes);
            self.all = sockets.watches();
        }
    }
}

/// By the first of the sockets packets leave.
fn wait_until(until: Time, bell: BorrowedFd<'_>, sockets: &[Arc<Fd>], wanted: PollFlags) {
    let wanted = [PollFlags::IN, wanted]
        .into_iter()
        .chain(iter::repeat(PollFlags::IN));
    let all = [bell]
        .into_iter()
        .chain(sockets.iter().map(|socket| socket.as_fd()));
    let fds = all.zip(wanted);
    let fds = fds.map(|(fd, wanted)| PollFd::from_borrowed_fd(fd, wanted));
    let mut fds: Vec<_> = fds.collect();
    let left = Duration::from_nanos(until.since(now()).0);
    let timeout = Timespec::try_from(left).ok();
    if poll(&mut fds, timeout.as_ref()).is_err() {
        // Interrupted, or the kernel is short of memory.
        std::thread::yield_now();
    }
}
