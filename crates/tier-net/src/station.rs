//! The engine of a port, as its program and the background thread share it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bcl_port::{Shared, SystemHandle, Upcalls};
use bcl_shm::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use crate::clock;
use crate::deferred::Deferred;
use crate::engine::Engine;
use crate::watcher::Mailbox;

/// The thread looks again by itself, and soon.
const SOON: u64 = 0;
/// The thread does not look by itself.
const NEVER: u64 = u64::MAX;
/// The thread need not be told of a timer that is earlier than its next look by less than this.
const SLACK_NS: u64 = 4_000_000;

/// See the module.
#[derive(Debug)]
pub struct Station {
    engine: Mutex<Engine>,
    port: Arc<Shared>,
    watcher: Arc<Mailbox>,
    /// A second descriptor of each source of packets, so that sleeping on them needs no lock.
    descriptors: Vec<OwnedFd>,
    /// Counts what the program does here; while it moves, the thread keeps away.
    visits: AtomicU32,
    /// Threads that sleep on the sources themselves.
    sleepers: AtomicU32,
    /// Connections, and attempts at one.
    peers: AtomicU32,
    /// Whether the thread has kept news for the program.
    has_news: AtomicBool,
    /// When the thread looks next, in ns of [`clock`], or [`SOON`], or [`NEVER`].
    next_look_ns: AtomicU64,
    /// For programs that wait on a descriptor: the bell and the sources in one.
    descriptor: OnceLock<OwnedFd>,
}

impl Station {
    pub(crate) fn new(
        engine: Engine,
        port: Arc<Shared>,
        watcher: Arc<Mailbox>,
    ) -> Result<Self, Errno> {
        let descriptors = engine
            .descriptors()
            .into_iter()
            .map(|descriptor| rustix::io::fcntl_dupfd_cloexec(descriptor, 0))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            engine: Mutex::new(engine),
            port,
            watcher,
            descriptors,
            visits: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            peers: AtomicU32::new(0),
            has_news: AtomicBool::new(false),
            next_look_ns: AtomicU64::new(SOON),
            descriptor: OnceLock::new(),
        })
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
        let mut engine = self.lock();
        let visits = self.visits.load(Ordering::Relaxed);
        self.visits.store(visits.wrapping_add(1), Ordering::Relaxed);
        if self.has_news.load(Ordering::Relaxed) {
            self.has_news.store(false, Ordering::Relaxed);
            engine.replay(up);
        }
        let result = act(&mut engine, up);
        self.peers.store(engine.peers(), Ordering::Relaxed);
        let timer_ns = engine.next_timeout_ns();
        let next_look_ns = self.next_look_ns.load(Ordering::Relaxed);
        if timer_ns.is_some_and(|timer_ns| timer_ns.saturating_add(SLACK_NS) < next_look_ns) {
            self.call_the_watcher();
        }
        result
    }

    /// Looks at something without changing it.
    pub(crate) fn inspect<R>(&self, look: impl FnOnce(&Engine) -> R) -> R {
        look(&self.lock())
    }

    pub(crate) fn release(&self, message: &SystemHandle) -> bool {
        self.lock().release(message)
    }

    /// Says goodbye to all peers, and waits up to `linger` until they have what was sent to them.
    pub(crate) fn close(&self, linger: Duration) {
        let deadline_ns = clock::now_ns() + linger.as_nanos() as u64;
        // For good: the thread shall not take packets that are waited for here.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Nobody hears of what happens from now on.
        let mut unheard = Deferred::default();
        self.lock().close(&mut unheard);
        loop {
            // Not locked while it waits: the thread would stand at the lock, and other ports of the process with it.
            let timer_ns = {
                let engine = self.lock();
                if engine.is_drained() || clock::now_ns() >= deadline_ns {
                    break;
                }
                engine.next_timeout_ns().unwrap_or(deadline_ns)
            };
            let patience = clock::until(timer_ns.min(deadline_ns));
            let _ = bcl_port::wait_for(self.descriptors(), Some(patience));
            self.lock().turn(&mut unheard);
            unheard = Deferred::default();
        }
    }

    /// The thread's turn: packets and timers. Returns the time until it has to come back.
    pub(crate) fn stand_in(&self) -> Option<Duration> {
        let mut engine = self.lock();
        if self.is_asleep() {
            // Since the thread has looked.
            self.look_soon();
            return Some(Duration::from_nanos(SLACK_NS));
        }
        let has_news = engine.stand_in();
        self.has_news.store(has_news, Ordering::Relaxed);
        self.peers.store(engine.peers(), Ordering::Relaxed);
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

    /// Sleeps until the bell rings, a packet comes, a timer of the protocol has run off, or the time has passed; meanwhile
    /// the thread keeps away. Several threads can sleep at once.
    ///
    /// # Errors
    /// What poll(2) says.
    pub fn sleep(&self, patience: Option<Duration>) -> Result<(), Errno> {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let timer = self.lock().next_timeout_ns().map(clock::until);
        let timeout = patience.into_iter().chain(timer).min();
        let slept = self.port.wait(self.descriptors(), timeout);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.next_look_ns.load(Ordering::Relaxed) == NEVER {
            self.call_the_watcher();
        }
        slept.map(drop)
    }

    pub(crate) fn is_asleep(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
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
        self.descriptors.iter().map(AsFd::as_fd)
    }

    /// A descriptor that is readable when the bell rings or a packet comes.
    ///
    /// # Errors
    /// What the kernel says when it is made.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>, Errno> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let all = epoll::create(CreateFlags::CLOEXEC)?;
        for source in self.descriptors().chain([self.port.bell.as_fd()]) {
            let data = EventData::new_u64(0);
            epoll::add(&all, source, data, EventFlags::IN)?;
        }
        Ok(self.descriptor.get_or_init(|| all).as_fd())
    }
}
