//! What a program has of a billboard.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bcl_reflect::{Life, Region, Waited};

use crate::error::Error;
use crate::events::{Event, Events};
use crate::layout::Layout;
use crate::members::Members;
use crate::receiving::{Received, Receiving};
use crate::sending::{PARTS, Sending};

/// A billboard that this process is a member of.
///
/// Threads may share it: those that post, and those that receive, take turns, but none while another waits. Dropping it is leaving:
/// what was posted stays for those it is for.
///
/// A `timeout` of `None` is for ever, and one of zero is not to wait at all.
#[derive(Debug)]
pub struct Billboard {
    region: Region,
    layout: Layout,
    sending: Mutex<Sending>,
    receiving: Mutex<Receiving>,
    events: Mutex<Events>,
}

impl Billboard {
    pub(crate) fn over(region: Region, layout: Layout) -> Result<Self, Error> {
        let sending = Mutex::new(Sending::resume(&region, layout)?);
        let receiving = Mutex::new(Receiving::resume(&region, layout)?);
        let events = Mutex::default();
        let board = Self {
            region,
            layout,
            sending,
            receiving,
            events,
        };
        // What the process before had posted for those who have ended since.
        for member in (0..board.members()).filter(|member| board.is_gone(*member)) {
            lock(&board.sending).take_back(&board.region, member)?;
        }
        Ok(board)
    }

    /// Which member this process is.
    pub fn member(&self) -> u16 {
        self.region.member()
    }

    /// How many members there can be.
    pub fn members(&self) -> u16 {
        self.region.members()
    }

    /// Length of the longest message, in bytes.
    pub fn message_max_bytes(&self) -> usize {
        self.layout.data_bytes as usize
    }

    /// The name of the other host that a member is, or was last, on; 0 for this one, and for one that has never come.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such member.
    pub fn host_of(&self, member: u16) -> Result<u64, Error> {
        self.check(member)?;
        Ok(self.region.host_of(member)?)
    }

    /// What is known of a member.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is no such member.
    pub fn life(&self, member: u16) -> Result<Life, Error> {
        self.check(member)?;
        Ok(self.region.life(member)?)
    }

    /// Posts a message for a member, which need not have come yet. Returns when it is posted: the data may be changed. Waits while there
    /// is no room. Messages of one member to another arrive in the order in which they were posted.
    ///
    /// # Errors
    /// [`Error::Full`] if there is no room within the time, [`Error::Gone`] if the member has ended; [`Error::InvalidArgument`] and
    /// [`Error::Region`].
    pub fn send(&self, to: u16, data: &[u8], timeout: Option<Duration>) -> Result<(), Error> {
        self.check(to)?;
        self.post(&Members::one(to), [data, &[]], timeout)
    }

    /// The same for several members at once: one message, which each of them reads.
    ///
    /// # Errors
    /// As [`send`](Self::send): nothing is posted if any of them has ended.
    pub fn multicast(
        &self,
        to: &[u16],
        data: &[u8],
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        self.multicast_parts(to, [data, &[]], timeout)
    }

    /// The same, of a message in two parts, the one behind the other.
    ///
    /// # Errors
    /// As [`multicast`](Self::multicast).
    pub fn multicast_parts(
        &self,
        to: &[u16],
        data: [&[u8]; PARTS],
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        to.iter().try_for_each(|member| self.check(*member))?;
        self.post(&to.iter().copied().collect(), data, timeout)
    }

    /// The same for all others that have not ended, whether they have come yet or not.
    ///
    /// # Errors
    /// As [`send`](Self::send), but that somebody has ended is no error.
    pub fn broadcast(&self, data: &[u8], timeout: Option<Duration>) -> Result<(), Error> {
        loop {
            let others = (0..self.members()).filter(|member| *member != self.member());
            let to = others.filter(|member| !self.is_gone(*member)).collect();
            match self.post(&to, [data, &[]], timeout) {
                Err(Error::Gone { .. }) => {}
                posted => return posted,
            }
        }
    }

    /// Takes the next message, of a member or of whichever has one: of several, in turn. `None` if there is none within the time.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is too short; the message stays. If there is no message: [`Error::Gone`] if it was to be of a
    /// member that has ended, else [`Error::MemberGone`] if [`event`](Self::event) has still to tell of an end, so that nobody waits for ever for what a
    /// dead member was to send. [`Error::Senseless`], [`Error::InvalidArgument`] and [`Error::Region`].
    pub fn receive(
        &self,
        from: Option<u16>,
        buffer: &mut [u8],
        timeout: Option<Duration>,
    ) -> Result<Option<Received>, Error> {
        self.until_received(from, timeout, |receiving| {
            receiving.take(&self.region, from, buffer)
        })
    }

    /// The message that [`receive`](Self::receive) would take, which stays where it is.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn available(
        &self,
        from: Option<u16>,
        timeout: Option<Duration>,
    ) -> Result<Option<Received>, Error> {
        self.until_received(from, timeout, |receiving| {
            receiving.peek(&self.region, from)
        })
    }

    /// Waits until all that this process has posted has been read by all it was for, but for those who have ended. False if it has not,
    /// within the time.
    ///
    /// # Errors
    /// [`Error::Region`].
    pub fn wait_until_read(&self, timeout: Option<Duration>) -> Result<bool, Error> {
        let deadline = Deadline::new(timeout);
        loop {
            let words = {
                let mut sending = lock(&self.sending);
                sending.reclaim(&self.region)?;
                if sending.is_read() {
                    return Ok(true);
                }
                sending.awaited().1
            };
            if !self.wait(&words, &deadline)? {
                return Ok(false);
            }
        }
    }

    /// What messages there are for this process now, for [`wait_for_change`](Self::wait_for_change).
    pub fn watch_messages(&self) -> Watch {
        Watch(lock(&self.receiving).awaited(None))
    }

    /// The same, and which of those that it has posted had not been read when there was no room for another: for who waits for room, and
    /// may not stop reading meanwhile.
    pub fn watch_messages_and_room(&self) -> Watch {
        let Watch(mut words) = self.watch_messages();
        words.extend(lock(&self.sending).awaited().1);
        Watch(words)
    }

    /// Waits until there is a message that was not there when was looked, or something has been read since then that was looked at, or
    /// somebody has ended. False if the time is over.
    ///
    /// # Errors
    /// [`Error::Region`].
    pub fn wait_for_change(&self, watch: &Watch, timeout: Option<Duration>) -> Result<bool, Error> {
        self.wait(&watch.0, &Deadline::new(timeout))
    }

    /// A member that has come or ended since this process has joined and was told so the last time; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Region`].
    pub fn event(&self) -> Result<Option<Event>, Error> {
        self.hear()?;
        Ok(lock(&self.events).take())
    }

    /// Leaves, as dropping does, and ends the waits of other threads.
    ///
    /// # Errors
    /// [`Error::Region`] if it was left before, or belongs to the parent process.
    pub fn leave(&self) -> Result<(), Error> {
        Ok(self.region.leave()?)
    }

    fn check(&self, member: u16) -> Result<(), Error> {
        let members = self.members();
        match member < members {
            true => Ok(()),
            false => Err(Error::InvalidArgument(format!(
                "member {member} of a billboard of {members}: they have the numbers from 0"
            ))),
        }
    }

    fn is_gone(&self, member: u16) -> bool {
        matches!(self.region.life(member), Ok(Life::Gone(_)))
    }

    fn check_life(&self, member: u16) -> Result<(), Error> {
        match self.region.life(member)? {
            Life::Gone(cause) => Err(Error::Gone { member, cause }),
            _ => Ok(()),
        }
    }

    fn post(
        &self,
        to: &Members,
        data: [&[u8]; PARTS],
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        let max_bytes = self.message_max_bytes();
        let len_bytes = data.iter().map(|part| part.len()).sum::<usize>();
        if len_bytes > max_bytes {
            return Err(Error::InvalidArgument(format!(
                "a message of {len_bytes} bytes: this billboard has {max_bytes} for each member's"
            )));
        }
        if to.is_empty() {
            return Ok(());
        }
        let mut deadline = None;
        loop {
            to.iter().try_for_each(|member| self.check_life(member))?;
            let (late, words) = {
                let mut sending = lock(&self.sending);
                if sending.post(&self.region, to, data)? {
                    return Ok(());
                }
                sending.awaited()
            };
            let deadline = deadline.get_or_insert_with(|| Deadline::new(timeout));
            if !self.wait(&words, deadline)? {
                return Err(Error::Full(self.describe(&late)));
            }
        }
    }

    /// Who keeps the board full.
    fn describe(&self, late: &Members) -> String {
        let one = |member: u16| match self.region.life(member) {
            Ok(Life::Never) => format!("member {member} has not come"),
            Ok(Life::There) => format!("member {member} has not read what was posted for it"),
            _ => format!("member {member} has ended"),
        };
        let named: Vec<String> = late.iter().take(4).map(one).collect();
        let more = match late.len().saturating_sub(4) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("{}{more}", named.join(", "))
    }

    fn until_received(
        &self,
        from: Option<u16>,
        timeout: Option<Duration>,
        mut look: impl FnMut(&mut Receiving) -> Result<Option<Received>, Error>,
    ) -> Result<Option<Received>, Error> {
        if let Some(from) = from {
            self.check(from)?;
        }
        let mut deadline = None;
        loop {
            // Before the look: what a member has posted, it has posted before its end.
            let ended = from.map(|from| self.check_life(from));
            let words = {
                let mut receiving = lock(&self.receiving);
                if let Some(received) = look(&mut receiving)? {
                    return Ok(Some(received));
                }
                receiving.awaited(from)
            };
            ended.unwrap_or(Ok(()))?;
            if from.is_none() && lock(&self.events).has_ends() {
                return Err(Error::MemberGone);
            }
            let deadline = deadline.get_or_insert_with(|| Deadline::new(timeout));
            if !self.wait(&words, deadline)? {
                return Ok(None);
            }
        }
    }

    /// Until one of the words has changed, or somebody has ended; false if the time is over.
    fn wait(&self, words: &[(u64, u64)], deadline: &Deadline) -> Result<bool, Error> {
        match self.region.wait_any(words, deadline.left())? {
            Waited::Changed(_) => {}
            Waited::MemberGone => self.hear()?,
            Waited::TimedOut => return Ok(false),
        }
        Ok(true)
    }

    /// Of members that have come and ended.
    fn hear(&self) -> Result<(), Error> {
        while let Some(news) = self.region.news() {
            let (member, life) = (news.member, news.life);
            let taken_back = match life {
                Life::Gone(_) => lock(&self.sending).take_back(&self.region, member)?,
                _ => 0,
            };
            lock(&self.events).add(Event {
                member,
                life,
                taken_back,
            });
        }
        Ok(())
    }
}

/// What there was on a billboard at some moment; of a default one, nothing, so that only the end of a member is a change.
#[derive(Debug, Default)]
pub struct Watch(Vec<(u64, u64)>);

/// When a wait is over.
struct Deadline(Option<Instant>);

impl Deadline {
    /// Longer than the clock can count is for ever.
    fn new(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    fn left(&self) -> Option<Duration> {
        self.0
            .map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
