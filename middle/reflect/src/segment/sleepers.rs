//! Who sleeps until something changes, and who wakes them ([REFLECT-4.2]).

use bcl_os::sync::{AtomicU32, AtomicU64, Ordering};
use bcl_os::{fence, futex};

use super::Segment;

/// In the place of an offset: a member waits at several, or for others to come and end only.
pub const ANYWHERE: u64 = u64::MAX;

impl Segment {
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

    /// After writes: wakes those who sleep and wait for a word that lies where one of them was ([REFLECT-4.2]).
    #[inline]
    pub fn wake_sleepers(&self, writes: &[(u64, &[u8])]) {
        self.wake_concerned(|at| writes.iter().any(|write| covers(write, at)));
    }

    /// Wakes all who sleep.
    pub fn wake_all(&self) {
        self.wake_concerned(|_| true);
    }

    #[inline]
    fn wake_concerned(&self, is_concerned: impl Fn(u64) -> bool + Copy) {
        self.light_fence();
        for (index, word) in self.header().asleep.iter().enumerate() {
            let asleep = word.load(Ordering::Acquire);
            if asleep != 0 {
                self.wake_some(index * 64, asleep, is_concerned);
            }
        }
    }

    #[cold]
    fn wake_some(&self, first: usize, mut asleep: u64, is_concerned: impl Fn(u64) -> bool) {
        while asleep != 0 {
            let member = first + asleep.trailing_zeros() as usize;
            asleep &= asleep - 1;
            // Bits beyond the members were set by a program that ran wild.
            let Some(line) = self.lines().get(member) else {
                return;
            };
            let at = line.waits_at.load(Ordering::Relaxed);
            if at == ANYWHERE || is_concerned(at) {
                line.changes.fetch_add(1, Ordering::Release);
                futex::wake_all(&line.changes);
            }
        }
    }
}

/// Whether a write changes something of the word at an offset.
fn covers((from, data): &(u64, &[u8]), at: u64) -> bool {
    *from <= at.saturating_add(7) && at < from + data.len() as u64
}
