//! A port without a lock: the tiers, the books, and the way of waiting.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use bcl_os::bell;
use bcl_os::sync::{AtomicU64, Ordering, bump};
use bcl_os::wait::{Advice, Waiter};
use bcl_tier::page::Counter;
use bcl_tier::{
    Action, Arrival, LinkInfo, NormalSend, PIECES_MAX, Piece, Pieces, RmaOp, Source, SystemHandle,
    Target, Upcalls,
};
use bcl_types::{Access, Address, OpError, OpId, SYSTEM_MAX};

use crate::bed::Bed;
use crate::buffer::Buffer;
use crate::channels::Channels;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::event::{Event, SystemMessage, Which};
use crate::matcher::Matcher;
use crate::open::PortTiers;
use crate::ops::Op;
use crate::state::State;

/// Operations under way, and completions not taken, that a port may have.
pub const QUEUE_DEPTH: usize = 4096;
const _: () = assert!(QUEUE_DEPTH <= bcl_tier_shm::DEFERRED_MAX);
/// Posts that a port may have waiting.
pub const POSTS_MAX: usize = 65536;
/// Polls between two updates of the queue depths that `bcl stat` shows.
const POLLS_PER_REPORT: u32 = 1 << 16;
/// How long a port that closes waits for peers on other nodes to take what it has sent them.
const LINGER: Duration = Duration::from_secs(3);
/// Empty polls between two looks whether the bell was rung for nothing, once the descriptor is in use.
const POLLS_PER_BELL_CHECK: u32 = 16;

/// A port on raw memory, for one thread at a time ([SEM-1]). Callers vouch for the memory they give it; what keeps it where it
/// is can be handed along as a [`Buffer`], which comes back with the event.
///
/// No call blocks but [`wait`](Self::wait) and [`close`](Self::close).
#[derive(Debug)]
pub struct RawPort<M: Matcher = Channels> {
    tiers: PortTiers,
    state: State<M>,
    waiter: Waiter,
    generation: u64,
    closed: bool,
    polls: u32,
    /// Threads asleep on the bell, and the program's own `epoll`, which counts as one: while there are any,
    /// the port stays armed, and rings its own bell when there are events for them.
    watchers: usize,
    descriptor_taken: bool,
    rang_myself: bool,
}

impl<M: Matcher> RawPort<M> {
    pub(crate) fn new(tiers: PortTiers, matcher: M) -> Self {
        Self {
            tiers,
            state: State::new(next_number(), matcher),
            waiter: Waiter::new(),
            generation: bcl_os::process::generation(),
            closed: false,
            polls: 0,
            watchers: 0,
            descriptor_taken: false,
            rang_myself: false,
        }
    }

    fn count(&self, counter: Counter) {
        bump(self.tiers.shared().page.counter(counter), 1);
    }

    /// Whether this port holds the message: another's may lie nowhere any more.
    pub fn holds(&self, message: &SystemMessage) -> bool {
        message.port == self.state.port
    }

    /// Where others reach the port.
    pub fn address(&self) -> Address {
        self.tiers.shared().address
    }

    /// What a thread needs to sleep until something comes, without holding the port.
    pub fn bed(&self) -> Bed {
        self.tiers.bed().clone()
    }

    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.generation != bcl_os::process::generation() {
            return Err(Error::Forked);
        }
        if self.closed {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Whether anything still happens on the port by itself.
    #[inline]
    fn check_background(&self) -> Result<(), Error> {
        match self.tiers.shared().failure() {
            None => Ok(()),
            Some(why) => Err(Error::Background(why.to_owned())),
        }
    }

    #[inline]
    fn check_room(&self) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        let posts = self.state.matcher.posted();
        if self.state.ops.len() - posts.min(self.state.ops.len()) + self.state.sends.len()
            >= QUEUE_DEPTH
        {
            return Err(Error::QueueFull { limit: QUEUE_DEPTH });
        }
        Ok(())
    }

    /// Sends a small message to the peer's system channel, and 64 bits with it. The data may be changed at once.
    #[inline]
    pub fn send_system(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        cookie: u64,
    ) -> Result<(), Error> {
        self.check_room()?;
        check_peer(to)?;
        if data.len() > SYSTEM_MAX {
            return Err(Error::invalid(format!(
                "{} bytes for the system channel, which takes at most {SYSTEM_MAX}: use a normal channel",
                data.len()
            )));
        }
        let name = |state: &mut State<M>| state.ops.insert(Op::new(cookie, None));
        let sent = self
            .tiers
            .send_system(to, data, immediate, &mut self.state, name);
        if sent {
            self.state.sent_at_once(to, cookie, data.len() as u64);
        }
        self.mind_watchers();
        Ok(())
    }

    /// Longest unreliable message that this peer can be sent now.
    pub fn unreliable_max(&mut self, to: Address) -> Result<usize, Error> {
        self.check()?;
        check_peer(to)?;
        Ok(self.tiers.unreliable_max(to, &mut self.state))
    }

    /// Sends a message to the peer's system channel that may be lost.
    #[inline]
    pub fn send_unreliable(&mut self, to: Address, data: &[u8]) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        check_peer(to)?;
        let sent = self.tiers.send_unreliable(to, data, &mut self.state);
        let was_taken = sent.map_err(|limit| {
            Error::invalid(format!(
                "{} bytes for an unreliable message to {to}, which takes at most {limit}: send less, or a message that is reliable",
                data.len()
            ))
        })?;
        if !was_taken {
            self.count(Counter::UnreliableUnsent);
        }
        self.mind_watchers();
        Ok(())
    }

    /// Sends on a normal channel, and 64 bits with the message, which the receiver is told before it gives a buffer.
    /// Returns the name of the operation, which may be complete.
    ///
    /// # Safety
    /// The source stays valid and unchanged until the completion event.
    #[inline]
    pub unsafe fn send(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        immediate: u64,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<OpId, Error> {
        // SAFETY: by the contract.
        unsafe { self.start_send(to, channel, source, immediate, Op::new(cookie, buffer)) }
    }

    /// Sends a message that is gathered from several pieces of memory, at most
    /// [`PIECES_MAX`](crate::PIECES_MAX).
    ///
    /// # Safety
    /// The pieces stay valid and unchanged until the completion event.
    pub unsafe fn send_pieces(
        &mut self,
        to: Address,
        channel: u16,
        pieces: Arc<[Piece]>,
        immediate: u64,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<OpId, Error> {
        let source = Source {
            // SAFETY: the operation keeps the table.
            memory: unsafe { memory_of(&pieces) }?,
            region: None,
        };
        let op = Op {
            pieces: Some(pieces),
            ..Op::new(cookie, buffer)
        };
        // SAFETY: by the contract; the operation keeps the table.
        unsafe { self.start_send(to, channel, source, immediate, op) }
    }

    /// # Safety
    /// The source stays valid and unchanged until the completion event.
    #[inline]
    unsafe fn start_send(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        immediate: u64,
        op: Op,
    ) -> Result<OpId, Error> {
        self.check_room()?;
        check_peer(to)?;
        check_channel(channel)?;
        let op = self.state.ops.insert(op);
        let send = NormalSend {
            op,
            channel,
            immediate,
            source,
        };
        self.tiers.send_normal(to, send, &mut self.state);
        self.mind_watchers();
        Ok(op)
    }

    /// Takes back the oldest send to this peer with this cookie, on a normal channel, that has not begun: neither a byte nor
    /// the announcement of it has left. It ends with *canceled* ([SEM-4.9]).
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none; a send that has begun goes on.
    pub fn cancel_send(&mut self, to: Address, cookie: u64) -> Result<(), Error> {
        let has_cookie =
            |state: &State<M>, op| state.ops.get(op).is_some_and(|op| op.cookie == cookie);
        self.cancel_first(to, &format!("send with cookie {cookie}"), has_cookie)
    }

    /// As [`cancel_send`](Self::cancel_send), by the name that [`send`](Self::send) has returned.
    ///
    /// # Errors
    /// As there.
    pub fn cancel_send_op(&mut self, to: Address, op: OpId) -> Result<(), Error> {
        self.cancel_first(to, &format!("send {op:#x}"), |_, other| other == op)
    }

    fn cancel_first(
        &mut self,
        to: Address,
        what: &str,
        wanted: impl Fn(&State<M>, OpId) -> bool,
    ) -> Result<(), Error> {
        self.check()?;
        check_peer(to)?;
        if !self.tiers.cancel_send(to, &mut self.state, wanted) {
            return Err(Error::NotFound(format!(
                "no {what} to {to} can be taken back: it has begun, has ended, or was never made"
            )));
        }
        self.mind_watchers();
        Ok(())
    }

    /// The matcher, which knows what is posted and what waits.
    pub fn matcher(&mut self) -> &mut M {
        &mut self.state.matcher
    }

    /// Names an operation for a buffer that the matcher is going to give to a message, or
    /// [`accept`](Self::accept) to one that waits.
    #[inline]
    pub fn begin_post(
        &mut self,
        start: *mut u8,
        capacity_bytes: usize,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<Target, Error> {
        let memory = Pieces::one(start, capacity_bytes);
        let op = self.start_post(Op::new(cookie, buffer))?;
        Ok(Target { memory, op })
    }

    /// The same for a buffer in several pieces, at most [`PIECES_MAX`](crate::PIECES_MAX): a message is scattered to them,
    /// and fills one after the other.
    pub fn begin_post_pieces(
        &mut self,
        pieces: Arc<[Piece]>,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<Target, Error> {
        // SAFETY: the operation keeps the table.
        let memory = unsafe { memory_of(&pieces) }?;
        let op = self.start_post(Op {
            pieces: Some(pieces),
            ..Op::new(cookie, buffer)
        })?;
        Ok(Target { memory, op })
    }

    #[inline]
    fn start_post(&mut self, op: Op) -> Result<OpId, Error> {
        self.check()?;
        self.check_background()?;
        if self.state.matcher.posted() >= POSTS_MAX {
            return Err(Error::QueueFull { limit: POSTS_MAX });
        }
        Ok(self.state.ops.insert(op))
    }

    /// Gives a buffer to a message that waits. False if the message has gone meanwhile.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    pub unsafe fn accept(&mut self, arrival: &Arrival, target: Target) -> bool {
        let ops = &mut self.state.ops;
        ops.note_immediate(target.op, arrival.immediate);
        let is_there = self.tiers.accept(arrival.message, target, &mut self.state);
        self.mind_watchers();
        is_there
    }

    /// The matcher has taken a buffer back that no message has met: ends its operation.
    pub fn end_post(&mut self, channel: u16, op: OpId) {
        let from = self.address();
        self.state
            .received(from, channel, op, 0, Err(OpError::Canceled));
        self.mind_watchers();
    }

    /// Binds memory to an open channel.
    ///
    /// # Safety
    /// The memory stays valid until it is unbound; peers read and write it meanwhile.
    pub unsafe fn bind(
        &mut self,
        window: u16,
        start: *mut u8,
        len_bytes: usize,
        access: Access,
    ) -> Result<(), Error> {
        self.check()?;
        self.check_background()?;
        if window >= bcl_tier::WINDOW_COUNT {
            let last = bcl_tier::WINDOW_COUNT - 1;
            return Err(Error::invalid(format!(
                "open channel {window}: they are numbered 0 to {last}"
            )));
        }
        let shared = self.tiers.shared();
        let mut windows = shared.windows();
        // SAFETY: the caller vouches for the memory.
        if unsafe { windows.bind(&shared.page, window, start, len_bytes, access) } {
            Ok(())
        } else {
            Err(Error::Busy(format!(
                "open channel {window} has memory bound to it: unbind it first"
            )))
        }
    }

    /// Ends a window. When this returns, no thread of this process acts on the memory for a peer any more;
    /// a peer that mapped a DMA buffer finds out before its next operation.
    pub fn unbind(&mut self, window: u16) -> Result<(), Error> {
        self.check()?;
        let shared = self.tiers.shared();
        if shared.windows().unbind(&shared.page, window) {
            Ok(())
        } else {
            Err(Error::NotFound(format!(
                "open channel {window} has no memory bound to it"
            )))
        }
    }

    /// Starts a one-sided operation.
    ///
    /// # Safety
    /// The memory in `action` stays valid until the completion event.
    #[inline]
    pub unsafe fn rma(
        &mut self,
        peer: Address,
        window: u16,
        offset: u64,
        action: Action,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        self.check_room()?;
        check_peer(peer)?;
        let op = self.state.ops.insert(Op::new(cookie, buffer));
        self.tiers.rma(
            peer,
            RmaOp {
                op,
                window,
                offset,
                action,
            },
            &mut self.state,
        );
        self.mind_watchers();
        Ok(())
    }

    /// Gives a system message back to its sender; false if it was given back before.
    #[inline]
    pub fn release(&mut self, message: &SystemHandle) -> Result<bool, Error> {
        self.check()?;
        Ok(self.tiers.release(message))
    }

    /// Takes an event if there is one. No system call, unless the descriptor was asked for.
    #[inline]
    pub fn poll(&mut self, which: Which) -> Result<Option<Event>, Error> {
        self.check()?;
        let event = self.poll_once(which);
        if self.watchers > 0 {
            self.after_watched_poll(event.is_some());
        }
        if event.is_none() {
            self.check_background()?;
        }
        Ok(event)
    }

    #[inline]
    pub(crate) fn poll_once(&mut self, which: Which) -> Option<Event> {
        let waiting = self.state.pop(which);
        if waiting.is_some() {
            return waiting;
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls % POLLS_PER_REPORT == 0 {
            self.report();
        }
        self.tiers.poll(&mut self.state);
        self.state.pop(which)
    }

    #[cold]
    fn after_watched_poll(&mut self, found: bool) {
        if !found && !self.state.has_events() {
            let rung = self.rang_myself
                || (self.polls % POLLS_PER_BELL_CHECK == 0 && self.tiers.shared().was_rung());
            if rung || !self.tiers.is_armed() {
                self.wake();
            }
        }
        self.mind_watchers();
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
        self.waiter.start();
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
            match self.waiter.after_empty_poll(|| state.expects_completions()) {
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
                    self.waiter.start();
                }
            }
        }
    }

    /// Arms the port for sleep; false if there is an event of that kind to take first.
    pub(crate) fn fall_asleep(&mut self, which: Which) -> bool {
        self.report();
        let armed = self.arm();
        let has_event = match which {
            Which::Send => !self.state.sends.is_empty(),
            Which::Recv => !self.state.recvs.is_empty(),
            Which::Any => self.state.has_events(),
        };
        let sleeps = armed && !has_event && self.check_background().is_ok();
        if sleeps {
            self.count(Counter::Sleeps);
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

    /// Connected peers, and how each is reached.
    pub fn peers(&self) -> Vec<(Address, LinkInfo)> {
        self.tiers.links()
    }

    fn report(&mut self) {
        self.tiers.publish();
        self.state.report_failures(&self.tiers.shared().page);
        let posted = self.state.matcher.posted() as u64;
        let page = &self.tiers.shared().page;
        page.counter(Counter::Posted)
            .store(posted, Ordering::Relaxed);
    }

    /// Gives everything back. In a forked child only memory is freed: the rest is the parent's.
    pub fn close(&mut self) -> Result<(), Error> {
        self.check()?;
        self.closed = true;
        self.tiers.close(LINGER);
        if self.watchers > 0 {
            // Nobody silences the bell any more: all who sleep on it wake, and find the port closed.
            bell::ring(self.tiers.shared().bell.ringer());
        }
        Ok(())
    }
}

impl<M: Matcher> Drop for RawPort<M> {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl RawPort {
    /// Posts a buffer on a normal channel.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    pub unsafe fn post(
        &mut self,
        channel: u16,
        start: *mut u8,
        capacity_bytes: usize,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        check_channel(channel)?;
        let target = self.begin_post(start, capacity_bytes, buffer, cookie)?;
        // SAFETY: by the contract.
        unsafe { self.place_post(channel, target) };
        Ok(())
    }

    /// Posts a buffer in several pieces, at most [`PIECES_MAX`](crate::PIECES_MAX), on a normal channel.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    pub unsafe fn post_pieces(
        &mut self,
        channel: u16,
        pieces: Arc<[Piece]>,
        buffer: Option<Buffer>,
        cookie: u64,
    ) -> Result<(), Error> {
        check_channel(channel)?;
        let target = self.begin_post_pieces(pieces, buffer, cookie)?;
        // SAFETY: by the contract; the operation keeps the table.
        unsafe { self.place_post(channel, target) };
        Ok(())
    }

    /// Gives a buffer to the oldest message on the channel, or keeps it for the next.
    ///
    /// # Safety
    /// The memory stays valid and untouched until the completion event.
    #[inline]
    unsafe fn place_post(&mut self, channel: u16, target: Target) {
        loop {
            let Some(arrival) = self.state.matcher.next_message(channel) else {
                self.state.matcher.post(channel, target);
                self.mind_watchers();
                return;
            };
            // SAFETY: by the contract.
            if unsafe { self.accept(&arrival, target) } {
                return;
            }
        }
    }

    /// Takes back the oldest post with this cookie that no message has met.
    pub fn cancel_post(&mut self, channel: u16, cookie: u64) -> Result<(), Error> {
        self.check()?;
        check_channel(channel)?;
        let State { matcher, ops, .. } = &mut self.state;
        let wanted = |target: &Target| ops.get(target.op).is_some_and(|op| op.cookie == cookie);
        let Some(target) = matcher.cancel(channel, wanted) else {
            return Err(Error::NotFound(format!(
                "no buffer with cookie {cookie} waits on channel {channel}: it was filled, is being filled, or was never posted"
            )));
        };
        self.end_post(channel, target.op);
        Ok(())
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a table of pieces names.
///
/// # Safety
/// The table is kept for as long as the result is used.
unsafe fn memory_of(pieces: &Arc<[Piece]>) -> Result<Pieces, Error> {
    // SAFETY: by the contract.
    unsafe { Pieces::several(pieces) }.ok_or_else(|| {
        Error::invalid(format!(
            "{} pieces of memory: there can be at most {PIECES_MAX}, which together are no longer than memory",
            pieces.len()
        ))
    })
}

fn check_channel(channel: u16) -> Result<(), Error> {
    if channel == 0 {
        return Err(Error::invalid(
            "channel 0 is the system channel: normal channels are numbered from 1",
        ));
    }
    Ok(())
}

#[inline]
fn check_peer(peer: Address) -> Result<(), Error> {
    if peer.port == 0 {
        return Err(Error::invalid(format!(
            "{peer} is not the address of a port: port 0 does not exist"
        )));
    }
    Ok(())
}
