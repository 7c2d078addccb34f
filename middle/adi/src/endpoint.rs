//! An endpoint: the books and the port that they are kept for.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_raw::slab::Id;
use bcl_raw::{Event, HasPort, Options, RawPort, Which};
use bcl_types::Address;

use crate::bodies::Bodies;
use crate::completion::{Completion, Probed};
use crate::engine::{Engine, OneSided, Receive, Send, Wanted};
use crate::error::Error;
use crate::memory::Memory;
use crate::own::Heard;
use crate::regions::Regions;

/// Events of the port that one poll takes, at most, before it says that nothing has ended; or a receive before it asks.
const EVENTS_MAX: usize = 16;

/// ... and of one in the place of the program.
const STAND_IN_EVENTS_MAX: usize = 4096;

/// Between two questions whether those are there who are waited for ([ADI-6.5]).
pub const ASKED_EACH: Duration = Duration::from_secs(1);

/// Completions taken one after the other before it is looked at what has come, though there are more: a program whose own
/// operations end at once, as those on its own memory do, would never do what its peers ask for.
const TAKEN_MAX: u32 = 16;

/// Looks between two at the clock.
const LOOKS_PER_CLOCK: u64 = 4096;

/// Sends and receives tagged messages over a port of its own ([ADI-1]). For one thread at a time. Callers vouch for the memory
/// that they lend.
///
/// No call blocks but [`wait`](Self::wait), [`drain`](Self::drain) and [`close`](Self::close).
#[derive(Debug)]
pub struct Endpoint {
    /// It goes before what the engine keeps, which it may be about to send.
    port: RawPort<Bodies>,
    engine: Engine,
    /// How often the program has looked at what has come.
    turns: u64,
    /// How often it was told of completions since.
    taken: u32,
    asked_at: Instant,
}

impl Endpoint {
    /// Opens a port, and an endpoint on it.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(options: Options) -> Result<Self, Error> {
        let options = Options {
            takes_long: true,
            ..options
        };
        let port = options.open_with(Bodies::default())?;
        let first_name = RandomState::new().hash_one(0) as u32;
        let address = port.address();
        let mut endpoint = Self {
            engine: Engine::new(address, first_name),
            port,
            turns: 0,
            taken: 0,
            asked_at: Instant::now(),
        };
        endpoint.engine.peer_up(&mut endpoint.port, address)?;
        endpoint.hear_itself()?;
        Ok(endpoint)
    }

    /// Where others reach it.
    pub fn address(&self) -> Address {
        self.port.address()
    }

    /// Sends a message ([ADI-1.5]).
    ///
    /// # Errors
    /// [`Error::Again`] if the peer or the port has no room now; [`Error::Lost`] if a message before it was lost ([ADI-6.3]).
    /// Nothing was sent then.
    ///
    /// # Safety
    /// The memory can be read, and stays as it is until the completion.
    #[inline]
    pub unsafe fn send(&mut self, send: Send) -> Result<(), Error> {
        // SAFETY: by the contract.
        unsafe { self.engine.send(&mut self.port, send) }?;
        self.hear_itself()
    }

    /// Receives the oldest message that waits and is wanted, or the next that comes ([ADI-3]).
    ///
    /// # Safety
    /// The memory can be written, and is touched by nobody else until the completion that releases it.
    #[inline]
    pub unsafe fn receive(&mut self, receive: Receive) -> Result<(), Error> {
        // What it would ask for may have come, if the program receives faster than it looks.
        if self.engine.would_ask(&receive.wanted)? {
            self.take_events(EVENTS_MAX)?;
        }
        // SAFETY: by the contract.
        unsafe { self.engine.receive(&mut self.port, receive) }?;
        self.hear_itself()
    }

    /// Begins a one-sided operation on the exposed memory of a peer ([ADI-8]).
    ///
    /// # Errors
    /// As of [`send`](Self::send); [`Error::InvalidArgument`] if an atomic operation is too long, or its memory has another length.
    ///
    /// # Safety
    /// The memory can be read, or written, and nobody else touches it until the completion, or for as long as
    /// [`What`](crate::What) says.
    #[inline]
    pub unsafe fn one_sided(&mut self, asked: OneSided) -> Result<(), Error> {
        // SAFETY: by the contract.
        unsafe { self.engine.one_sided(&mut self.port, asked) }?;
        self.hear_itself()
    }

    /// The memory that peers may use.
    pub fn regions(&self) -> &Arc<Regions> {
        self.engine.regions()
    }

    /// Peers may use the same memory as those of other endpoints. What was exposed before they find no more.
    pub fn share_regions(&mut self, regions: Arc<Regions>) {
        self.engine.share_regions(regions);
    }

    /// Takes back a receive with this context that still waits for messages. It ends with *canceled*; what has met a
    /// multi-receive buffer before comes.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none.
    pub fn cancel(&mut self, space: u8, context: u64) -> Result<(), Error> {
        let canceled = self.engine.cancel(space, context);
        self.tell();
        canceled
    }

    /// The oldest message that waits and is wanted; it stays. Looks at what has come first.
    pub fn probe(&mut self, wanted: &Wanted) -> Result<Option<Probed>, Error> {
        self.progress()?;
        self.tell();
        self.engine.probe(wanted)
    }

    /// As [`probe`](Self::probe), and the message is kept for a [`receive_claimed`](Self::receive_claimed) or a
    /// [`discard_claimed`](Self::discard_claimed), which has to follow.
    pub fn claim(&mut self, wanted: &Wanted) -> Result<Option<(Probed, Id)>, Error> {
        self.progress()?;
        self.tell();
        self.engine.claim(wanted)
    }

    /// Receives a message that was claimed. Context and mark come back with the completion.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the name is not that of a claim, or was used before.
    ///
    /// # Safety
    /// As for [`receive`](Self::receive).
    pub unsafe fn receive_claimed(
        &mut self,
        claim: Id,
        memory: Memory,
        context: (u64, u8),
    ) -> Result<(), Error> {
        // SAFETY: by the contract.
        unsafe {
            self.engine
                .receive_claimed(&mut self.port, claim, memory, context)
        }?;
        self.hear_itself()
    }

    /// Gets rid of a message that was claimed. To its sender it has arrived.
    ///
    /// # Errors
    /// As for [`receive_claimed`](Self::receive_claimed).
    pub fn discard_claimed(&mut self, claim: Id) -> Result<(), Error> {
        self.engine.discard_claimed(&mut self.port, claim)?;
        self.hear_itself()
    }

    /// Takes a completion if there is one. Whatever has come is looked at only here, in [`wait`](Self::wait), by probes,
    /// and by receives that would ask for a message which may be among it.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Completion>, Error> {
        match self.engine.has_completions() {
            true => self.look_if_overdue()?,
            false => self.progress()?,
        }
        let completion = self.engine.next_completion();
        self.tell();
        Ok(completion)
    }

    /// Looks once at what has come, and tells of what has ended by it, or before: of as much as `room` says, which is asked only
    /// if there is something to tell of or to take. It is one look even if what it brings ends nothing.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    #[inline]
    pub fn look(
        &mut self,
        room: impl Fn() -> usize,
        mut tell: impl FnMut(&Completion),
    ) -> Result<(), Error> {
        if self.engine.has_completions() && self.tell_of_ended(room(), &mut tell) > 0 {
            self.look_if_overdue()?;
            self.tell();
            return Ok(());
        }
        self.begin_turn()?;
        if self.port.look(Which::Any)? {
            let mut left = room();
            while left > 0 && self.port.has(Which::Any) {
                let event = self.port.take(Which::Any);
                event.map_or(Ok(()), |event| self.handle(event))?;
                left -= self.tell_of_ended(left, &mut tell);
            }
        }
        self.catch_up()
    }

    #[inline]
    fn tell_of_ended(&mut self, most: usize, tell: &mut impl FnMut(&Completion)) -> usize {
        let mut told = 0;
        while told < most {
            let Some(completion) = self.engine.first_completion() else {
                break;
            };
            // Where it is: they are long.
            tell(completion);
            self.engine.next_completion();
            told += 1;
        }
        told
    }

    /// Waits for a completion, at most so long; `None` for ever.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<Completion>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(completion) = self.poll()? {
                return Ok(Some(completion));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let patience = left.map_or(ASKED_EACH, |left| left.min(ASKED_EACH));
            match self.port.wait(Which::Any, Some(patience))? {
                Some(event) => self.handle(event)?,
                None if left == Some(patience) => return self.poll(),
                None => self.ask_after_peers()?,
            }
        }
    }

    /// A descriptor that is readable while there are completions, or may be: [`poll`](Self::poll) until there is none before
    /// sleeping on it.
    pub fn fd(&mut self) -> Result<BorrowedFd<'_>, Error> {
        Ok(self.port.fd()?)
    }

    /// Waits until messages whose sends are complete have left, at most so long; `None` for as long as their receivers are
    /// there. Says how many have not, and whose they are.
    ///
    /// It is the last call but for [`close`](Self::close): nothing is received any more, what comes is discarded, and completions are
    /// told to nobody. So two endpoints that do so do not wait for each other ([ADI-6.4]).
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn drain(&mut self, timeout: Option<Duration>) -> Result<BTreeMap<Address, usize>, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        while self.engine.owes_messages() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            self.progress()?;
            self.engine.discard_all(&mut self.port)?;
            self.hear_itself()?;
            while self.engine.next_completion().is_some() {}
            if self.engine.owes_messages() {
                let patience = left.map_or(ASKED_EACH, |left| left.min(ASKED_EACH));
                match self.port.wait(Which::Any, Some(patience))? {
                    Some(event) => self.handle(event)?,
                    None => self.ask_after_peers()?,
                }
            }
        }
        Ok(self.engine.owed())
    }

    /// Closes the port, once messages whose sends are complete have left, or after `linger`: see [`drain`](Self::drain). What
    /// else is not complete is abandoned, and the memory that was lent for it is the program's again.
    pub fn close(&mut self, linger: Duration) -> Result<(), Error> {
        let drained = self.drain(Some(linger));
        self.port.close()?;
        drained.map(drop)
    }

    /// Whether anything is under way, or waited for.
    pub(crate) fn has_pending(&self) -> bool {
        self.engine.has_pending()
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns
    }

    /// Does what the program would do if it looked. Completions wait for it.
    pub(crate) fn stand_in(&mut self) -> Result<(), Error> {
        self.ask_after_peers()?;
        self.take_events(STAND_IN_EVENTS_MAX)?;
        self.tell();
        Ok(())
    }

    /// Looks at what has come, at so much at most, whatever ends by it.
    fn take_events(&mut self, most: usize) -> Result<(), Error> {
        self.catch_up()?;
        for _ in 0..most {
            let Some(event) = self.port.poll(Which::Any)? else {
                break;
            };
            self.handle(event)?;
        }
        self.catch_up()
    }

    /// Says what waits for room, and hears what it has said to itself.
    #[inline]
    fn catch_up(&mut self) -> Result<(), Error> {
        if self.engine.is_behind() {
            self.engine.catch_up(&mut self.port)?;
        }
        self.hear_itself()
    }

    /// What the endpoint has said to itself comes now, before all that others have said ([ADI-2.4]).
    #[inline]
    fn hear_itself(&mut self) -> Result<(), Error> {
        // Mostly nothing, and this is come by several times for each message.
        if !self.port.matcher().own.is_quiet() {
            self.hear_what_it_said()?;
        }
        self.tell();
        Ok(())
    }

    #[inline(never)]
    fn hear_what_it_said(&mut self) -> Result<(), Error> {
        let own = self.port.address();
        while let Some(heard) = self.port.matcher().own.next() {
            match heard {
                Heard::Message(tag, bytes) => {
                    self.engine.arrived(&mut self.port, own, tag, &bytes)?;
                }
                Heard::Sent(name, result) => self.engine.body_sent(name, result),
                Heard::Received(id, result) => self.engine.body_received(id, result),
            }
        }
        Ok(())
    }

    /// Those who watch the port are told of completions too.
    #[inline]
    fn tell(&mut self) {
        self.port.set_news_above(self.engine.has_completions());
    }

    /// What comes of it waits for the next look.
    #[inline]
    fn look_if_overdue(&mut self) -> Result<(), Error> {
        self.taken += 1;
        if self.taken < TAKEN_MAX {
            return Ok(());
        }
        self.begin_turn()?;
        self.take_events(EVENTS_MAX)
    }

    #[inline]
    fn begin_turn(&mut self) -> Result<(), Error> {
        self.taken = 0;
        self.turns = self.turns.wrapping_add(1);
        match self.turns % LOOKS_PER_CLOCK {
            0 => self.ask_after_peers(),
            _ => Ok(()),
        }
    }

    /// Asks whether those are there who are waited for, if it is time.
    #[cold]
    pub(crate) fn ask_after_peers(&mut self) -> Result<(), Error> {
        if self.asked_at.elapsed() < ASKED_EACH {
            return Ok(());
        }
        self.asked_at = Instant::now();
        self.engine.ask_after_peers(&mut self.port)
    }

    #[inline]
    fn progress(&mut self) -> Result<(), Error> {
        self.begin_turn()?;
        for _ in 0..EVENTS_MAX {
            let Some(event) = self.port.poll(Which::Any)? else {
                break;
            };
            self.handle(event)?;
            if self.engine.has_completions() {
                break;
            }
        }
        // Peers wait for answers, and the program may look no more for a while.
        self.catch_up()
    }

    #[inline]
    fn handle(&mut self, event: Event) -> Result<(), Error> {
        let Self { engine, port, .. } = self;
        match event {
            Event::Message(message) => {
                let (from, handle) = message.into_raw();
                // SAFETY: the port holds the message where it is until it is released.
                let bytes =
                    unsafe { std::slice::from_raw_parts(handle.start, handle.len_bytes as usize) };
                let arrived = engine.arrived(port, from, handle.immediate, bytes);
                port.release(&handle)?;
                arrived
            }
            Event::Received { cookie, result, .. } => {
                engine.body_received(cookie, result);
                Ok(())
            }
            Event::Sent {
                to,
                channel: 0,
                cookie,
                result,
                ..
            } => engine.system_sent(port, to, cookie as u32, result),
            Event::Sent { cookie, result, .. } => {
                engine.body_sent(cookie, result);
                Ok(())
            }
            Event::PeerUp { peer, .. } => engine.peer_up(port, peer),
            Event::PeerGone { peer, cause } => engine.peer_gone(port, peer, cause),
            // Nothing one-sided is done by ports here; what the caller does on the port by itself is reported elsewhere.
            _ => Ok(()),
        }
    }
}

/// The port, of which the system channel and channel 1 are the endpoint's own.
impl HasPort for Endpoint {
    type Matcher = Bodies;

    fn port(&mut self) -> &mut RawPort<Bodies> {
        &mut self.port
    }
}
