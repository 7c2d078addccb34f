//! Taking events, and sleeping until there are some.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use bcl_os::bell;
use bcl_os::wait::{Advice, Waiter};
use bcl_tier::SystemHandle;
use bcl_tier::page::Counter;

use super::RawPort;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::event::{Event, Which};
use crate::matcher::Matcher;

/// Polls between two updates of the queue depths that `bcl stat` shows.
const POLLS_PER_REPORT: u32 = 1 << 16;
/// Empty polls between two looks whether the bell was rung for nothing, once the descriptor is in use.
const POLLS_PER_BELL_CHECK: u32 = 16;

impl<M: Matcher> RawPort<M> {
    /// Gives a system message back to its sender; false if it was given back before.
    #[inline]
    pub fn release(&mut self, message: &SystemHandle) -> Result<bool, Error> {
        self.check()?;
        Ok(self.tiers.release(message))
    }

    /// Takes an event if there is one. No system call, unless the descriptor was asked for.
    #[inline]
    pub fn poll(&mut self, which: Which) -> Result<Option<Event>, Error> {
        match self.look(which)? {
            true => Ok(self.take(which)),
            false => Ok(None),
        }
    }

    /// Whether there is an event to take; if there was none, looks at what has come first.
    #[inline]
    pub fn look(&mut self, which: Which) -> Result<bool, Error> {
        self.check()?;
        let found = self.bring(which);
        if !found {
            if self.watchers > 0 {
                self.after_watched_poll(false);
            }
            self.check_background()?;
        }
        Ok(found)
    }

    /// Whether there is an event to take that a look has brought.
    #[inline]
    pub fn has(&self, which: Which) -> bool {
        self.state.has(which)
    }

    /// Takes an event that a look has brought, if there is one: without another look, which may take a system call.
    #[inline]
    pub fn take(&mut self, which: Which) -> Option<Event> {
        let event = self.state.pop(which);
        if self.watchers > 0 {
            self.after_watched_poll(event.is_some());
        }
        event
    }

    #[inline]
    pub(crate) fn poll_once(&mut self, which: Which) -> Option<Event> {
        match self.bring(which) {
            true => self.state.pop(which),
            false => None,
        }
    }

    // The programs that wait come by here over and over: as a call of its own it costs 7 instructions each time. And it is told
    // apart from taking, for events are long: to move one that is none costs as much as all of the look.
    #[inline(always)]
    fn bring(&mut self, which: Which) -> bool {
        if self.state.has(which) {
            return true;
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_PER_REPORT) {
            self.report();
        }
        self.tiers.poll(&mut self.state);
        self.state.has(which)
    }

    #[cold]
    fn after_watched_poll(&mut self, found: bool) {
        if !found && !self.state.has_events() {
            let rung = self.rang_myself
                || (self.polls.is_multiple_of(POLLS_PER_BELL_CHECK)
                    && self.tiers.shared().was_rung());
            if rung || !self.tiers.is_armed() {
                self.wake();
            }
        }
        self.mind_watchers();
    }

    /// Whether what is above the port has events of its own, which wake those who sleep on it like the port's.
    #[inline]
    pub fn set_news_above(&mut self, above: bool) {
        let before = std::mem::replace(&mut self.state.above, above);
        if self.watchers > 0 && before != above {
            self.after_watched_poll(above);
        }
    }

    /// Whether the end of a peer, or a send that failed, is among the events to be taken. What is sent to such a peer now goes
    /// by a new connection, or a new attempt at one: who has more to do with peers than to send to them takes events first.
    #[inline]
    pub fn owes_ends(&self) -> bool {
        self.state.ends > 0
    }

    /// Whether peers have something to finish for us.
    pub(crate) fn expects_completions(&self) -> bool {
        self.state.expects_completions()
    }

    /// Waits for an event, at most so long; `None` for ever.
    pub fn wait(
        &mut self,
        which: Which,
        timeout: Option<Duration>,
    ) -> Result<Option<Event>, Error> {
        let mut deadline = Deadline::after(timeout);
        let mut waiter = Waiter::default();
        loop {
            self.check()?;
            if let Some(event) = self.poll_once(which) {
                self.mind_watchers();
                return Ok(Some(event));
            }
            self.check_background()?;
            if deadline.is_now() {
                self.mind_watchers();
                return Ok(None);
            }
            let state = &self.state;
            let core = self.tiers.bed().core();
            match waiter.after_empty_poll(core, || state.expects_completions()) {
                Advice::Again => {}
                Advice::Yielded => {
                    self.count(Counter::Yields);
                    if deadline.is_over() {
                        self.mind_watchers();
                        return Ok(None);
                    }
                }
                Advice::Sleep => {
                    if deadline.is_over() {
                        self.mind_watchers();
                        return Ok(None);
                    }
                    if self.fall_asleep(which) {
                        let slept = self.tiers.bed().sleep(deadline.at());
                        self.wake();
                        slept?;
                    }
                    waiter = Waiter::default();
                }
            }
        }
    }

    /// Arms the port for sleep; false if there is an event of that kind to take first. Then it is armed only for those who watch
    /// the bell: for others each packet would cost a call to wake somebody who does not sleep.
    pub(crate) fn fall_asleep(&mut self, which: Which) -> bool {
        self.report();
        let armed = self.arm();
        let has_event = self.state.has(which) || which == Which::Any && self.state.above;
        let sleeps = armed && !has_event && self.check_background().is_ok();
        if sleeps {
            self.count(Counter::Sleeps);
        } else if armed && self.watchers == 0 {
            self.wake();
        }
        sleeps
    }

    /// Asleep in the eyes of the peers, with all that they have to ring for. False: something has moved,
    /// and the bell was silenced.
    fn arm(&mut self) -> bool {
        let armed = self.tiers.arm(&mut self.state);
        if !armed {
            self.rang_myself = false;
        }
        armed
    }

    /// Awake: peers need not ring.
    pub(crate) fn wake(&mut self) {
        self.tiers.disarm();
        self.rang_myself = false;
    }

    /// A thread is about to sleep on the bell without holding the port. False: take an event first.
    pub(crate) fn enter_sleep(&mut self, which: Which) -> bool {
        if self.check().is_err() || !self.fall_asleep(which) {
            self.mind_watchers();
            return false;
        }
        self.watchers += 1;
        self.mind_watchers();
        true
    }

    /// That thread is awake again. The bell is silenced for the others, and rung again if there is something for them.
    pub(crate) fn leave_sleep(&mut self) {
        self.watchers -= 1;
        if self.closed {
            return;
        }
        self.wake();
        self.mind_watchers();
    }

    /// Leaves the port as those who watch the bell need it: armed, and rung if there are events for them.
    #[inline]
    pub(crate) fn mind_watchers(&mut self) {
        if self.watchers > 0 {
            self.mind_watchers_now();
        }
    }

    #[cold]
    fn mind_watchers_now(&mut self) {
        if self.closed {
            return;
        }
        while !self.state.has_events() && !self.arm() {}
        if self.state.has_events() && !self.rang_myself {
            self.rang_myself = true;
            bell::ring(self.tiers.shared().bell.ringer());
        }
    }

    /// A descriptor that is readable while there are events, for `select`, `poll` and `epoll`.
    pub fn fd(&mut self) -> Result<BorrowedFd<'_>, Error> {
        self.check()?;
        if !self.descriptor_taken {
            self.descriptor_taken = true;
            self.watchers += 1;
        }
        self.mind_watchers();
        self.tiers.bed().descriptor()
    }
}

#[cfg(test)]
mod tests {
    use bcl_tier::{Pieces, Source};

    use crate::event::Which;
    use crate::options::Options;

    /// Else each packet would have its sender wake somebody who does not sleep: 6 us.
    #[test]
    fn a_port_with_an_event_to_take_is_not_left_armed() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            folder: Some(folder.path().to_owned()),
            ..Options::default()
        };
        let mut port = options.open().unwrap();
        let source = Source {
            memory: Pieces::one(std::ptr::null_mut(), 0),
            region: None,
        };
        let to = port.address();
        // SAFETY: there is no memory.
        let op = unsafe { port.send(to, 1, source, 0, None, 0) }.unwrap();
        let _ = port.cancel_send_op(to, op);
        while !port.look(Which::Any).unwrap() {}
        for _ in 0..100 {
            assert!(!port.fall_asleep(Which::Any));
            assert!(!port.tiers.is_armed());
        }
    }
}
