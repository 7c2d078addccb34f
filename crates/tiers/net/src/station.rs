//! The engine of a port, as its program and the background thread share it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bcl_os::Fd;
use bcl_os::cancel;
use bcl_os::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use bcl_tier::{Shared, SystemHandle, Upcalls, WaitSet};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::clock;
use crate::deferred::Deferred;
use crate::engine::{Engine, Look};
use crate::watcher::Mailbox;

/// The thread looks again by itself, and soon.
const SOON: u64 = 0;
/// The thread does not look by itself.
const NEVER: u64 = u64::MAX;
/// The thread need not be told of a timer that is earlier than its next look by less than this.
const SLACK_NS: u64 = 4_000_000;

/// An engine under its lock, and what can be known of it without.
#[derive(Debug)]
pub struct Station {
    engine: Mutex<Engine>,
    port: Arc<Shared>,
    watcher: Arc<Mailbox>,
    /// A second descriptor of each source of packets, so that sleeping on them needs no lock.
    descriptors: Vec<Fd>,
    ring: Option<Fd>,
    /// Readable when the agent has answered; one of `descriptors` as well.
    agent: Option<Fd>,
    /// The ring is readable, and nothing can be taken from it: nobody is to sleep on it.
    ring_is_stuck: AtomicBool,
    /// Counts what the program does here; while it moves, the thread keeps away.
    visits: AtomicU32,
    /// Threads that sleep on the sources themselves, and how often any has begun to.
    sleepers: AtomicU32,
    sleeps: AtomicU32,
    /// Connections, and attempts at one.
    peers: AtomicU32,
    /// Whether the thread has kept news for the program.
    has_news: AtomicBool,
    /// When the thread looks next, in ns of [`clock`], or [`SOON`], or [`NEVER`].
    next_look_ns: AtomicU64,
    /// For programs that wait on a descriptor: the bell and the sources in one.
    descriptor: OnceLock<Fd>,
}

impl Station {
    pub(crate) fn new(
        engine: Engine,
        port: Arc<Shared>,
        watcher: Arc<Mailbox>,
    ) -> Result<Self, Errno> {
        let descriptors = engine
            .descriptors()
            .map(Fd::second)
            .collect::<Result<_, _>>()?;
        let ring = engine.ring().map(Fd::second).transpose()?;
        let agent = engine.agent().map(Fd::second).transpose()?;
        Ok(Self {
            engine: Mutex::new(engine),
            port,
            watcher,
            descriptors,
            ring,
            agent,
            ring_is_stuck: AtomicBool::new(false),
            visits: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            sleeps: AtomicU32::new(0),
            peers: AtomicU32::new(0),
            has_news: AtomicBool::new(false),
            next_look_ns: AtomicU64::new(SOON),
            descriptor: OnceLock::new(),
        })
    }

    /// What all tiers of the port share.
    pub(crate) fn port(&self) -> &Arc<Shared> {
        &self.port
    }

    /// The way to the thread that watches the port.
    pub(crate) fn watcher(&self) -> &Arc<Mailbox> {
        &self.watcher
    }

    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that the program does, which hears at once of what happens.
    #[inline]
    pub(crate) fn visit<U: Upcalls, R>(
        &self,
        up: &mut U,
        act: impl FnOnce(&mut Engine, &mut U) -> R,
    ) -> R {
        let _off = cancel::Off::new();
        let mut engine = self.lock();
        let visits = self.visits.load(Ordering::Relaxed);
        self.visits.store(visits.wrapping_add(1), Ordering::Relaxed);
        if self.has_news.load(Ordering::Relaxed) {
            self.has_news.store(false, Ordering::Relaxed);
            engine.replay(up);
        }
        let result = act(&mut engine, up);
        self.note(&engine);
        let next_look_ns = self.next_look_ns.load(Ordering::Relaxed);
        if next_look_ns != SOON
            && let Some(timer_ns) = engine.next_timeout_ns()
            && timer_ns.saturating_add(SLACK_NS) < next_look_ns
        {
            self.call_the_watcher();
        }
        result
    }

    /// What threads that do not hold the lock go by.
    #[inline]
    fn note(&self, engine: &Engine) {
        self.peers.store(engine.peers(), Ordering::Relaxed);
        let is_stuck = engine.ring_is_stuck();
        if is_stuck != self.ring_is_stuck.load(Ordering::Relaxed) {
            self.note_stuck(is_stuck);
        }
    }

    #[cold]
    fn note_stuck(&self, is_stuck: bool) {
        self.ring_is_stuck.store(is_stuck, Ordering::Relaxed);
        if let Some((all, ring)) = self.descriptor.get().zip(self.ring.as_ref()) {
            // It was in the set, or not, as it has to be: anything else would be a fault of the kernel's.
            let _ = match is_stuck {
                true => epoll::delete(all, ring),
                false => epoll::add(all, ring, EventData::new_u64(0), EventFlags::IN),
            };
        }
        if !is_stuck {
            // It may have been watching without the ring.
            self.call_the_watcher();
        }
    }

    /// What comes is to wake who sleeps here, from now on. To be said before the last look.
    pub(crate) fn listen(&self) {
        self.lock().listen();
    }

    /// Somebody who listened does so no longer.
    pub(crate) fn stop_listening(&self) {
        self.lock().stop_listening();
    }

    /// Looks at something without changing it.
    pub(crate) fn inspect<R>(&self, look: impl FnOnce(&Engine) -> R) -> R {
        look(&self.lock())
    }

    pub(crate) fn release(&self, message: &SystemHandle) -> bool {
        let was_held = self.lock().release(message);
        if self.ring_is_stuck.load(Ordering::Relaxed) {
            // There is room now, which nobody else will tell who sleeps.
            self.port.wake();
            self.call_the_watcher();
        }
        was_held
    }

    /// Until the agent has answered, or for so long.
    pub(crate) fn await_agent(&self, patience: Duration) {
        let agent = self.agent.as_ref().map(AsFd::as_fd);
        let _ = bcl_os::ready::wait_for(agent, Some(patience));
    }

    /// Says goodbye to all peers, and waits up to `linger` until they have what was sent to them.
    pub(crate) fn close(&self, linger: Duration) {
        let deadline_ns = clock::now_ns() + linger.as_nanos() as u64;
        // For good: the thread shall not take packets that are waited for here.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Nobody hears of what happens from now on.
        let mut unheard = Deferred::default();
        self.listen();
        self.lock().close(&mut unheard);
        loop {
            // Not locked while it waits: the thread would stand at the lock, and other ports of the process with it.
            let timer_ns = {
                let mut engine = self.lock();
                if engine.is_drained() || clock::now_ns() >= deadline_ns {
                    break;
                }
                engine.next_timeout_ns().unwrap_or(deadline_ns)
            };
            let patience = clock::until(timer_ns.min(deadline_ns));
            let _ = bcl_os::ready::wait_for(self.descriptors(), Some(patience));
            let mut engine = self.lock();
            engine.woke();
            engine.turn(Look::Everywhere, &mut unheard);
            drop(engine);
            unheard = Deferred::default();
        }
    }

    /// The thread's turn: packets and timers, for which it `has_listened` or not. Returns the time until it has to come back.
    pub(crate) fn stand_in(&self, has_listened: bool) -> Option<Duration> {
        let mut engine = self.lock();
        if has_listened {
            engine.woke();
        }
        if self.is_asleep() {
            // Since the thread has looked.
            self.look_soon();
            return Some(Duration::from_nanos(SLACK_NS));
        }
        let has_news = engine.stand_in();
        self.has_news.store(has_news, Ordering::Relaxed);
        self.note(&engine);
        let timer_ns = engine.next_timeout_ns();
        self.next_look_ns
            .store(timer_ns.unwrap_or(NEVER), Ordering::Relaxed);
        drop(engine);
        if has_news {
            self.port.wake();
        }
        timer_ns.map(clock::until)
    }

    /// The thread looks again soon, whatever happens.
    pub(crate) fn look_soon(&self) {
        self.next_look_ns.store(SOON, Ordering::Relaxed);
    }

    /// The thread goes, because a program sleeps on the sources itself. False if it has just woken.
    pub(crate) fn leave_to_sleepers(&self) -> bool {
        self.next_look_ns.store(NEVER, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.is_asleep() {
            return true;
        }
        self.look_soon();
        false
    }

    #[cold]
    fn call_the_watcher(&self) {
        self.look_soon();
        self.watcher.kick();
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn sleeps(&self) -> u32 {
        self.sleeps.load(Ordering::Relaxed)
    }

    pub(crate) fn visits(&self) -> u32 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Whether a visit could find anything: there is somebody to talk to, or news of the thread.
    #[inline]
    pub(crate) fn is_worth_a_visit(&self) -> bool {
        self.has_peers() || self.has_news.load(Ordering::Relaxed)
    }

    /// Whether there is anybody to talk to. If not, the thread waits for the first to come.
    #[inline]
    pub(crate) fn has_peers(&self) -> bool {
        self.peers.load(Ordering::Relaxed) > 0
    }

    /// One for each source of packets, to be slept on and watched, not to be read from.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let is_stuck = self.ring_is_stuck.load(Ordering::Relaxed);
        let ring = self.ring.iter().filter(move |_| !is_stuck);
        self.descriptors.iter().chain(ring).map(AsFd::as_fd)
    }

    /// All of them, whether they are to be slept on now or not.
    pub(crate) fn all_descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.descriptors.iter().chain(&self.ring).map(AsFd::as_fd)
    }
}

/// The bell, and the sources of packets. While a thread sleeps here, the background thread keeps away.
impl WaitSet for Station {
    fn sleep(&self, patience: Option<Duration>) -> Result<(), Errno> {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        let timer = self.lock().next_timeout_ns().map(clock::until);
        let timeout = patience.into_iter().chain(timer).min();
        let slept = self.port.wait(self.descriptors(), timeout);
        self.lock().woke();
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.next_look_ns.load(Ordering::Relaxed) == NEVER {
            self.call_the_watcher();
        }
        slept.map(drop)
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>, Errno> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let all = Fd::make(|| epoll::create(CreateFlags::CLOEXEC))?;
        // Locked, so that the ring is in the set exactly if it is not stuck.
        let _engine = self.lock();
        for source in self.descriptors().chain([self.port.bell.as_fd()]) {
            let data = EventData::new_u64(0);
            epoll::add(&all, source, data, EventFlags::IN)?;
        }
        Ok(self.descriptor.get_or_init(|| all).as_fd())
    }
}
