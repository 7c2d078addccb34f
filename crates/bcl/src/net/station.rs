//! The network tier of a port, as its program and the background thread share it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bcl_port::{Shared, SystemHandle};
use bcl_shm::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::clock;
use super::deferred::Deferred;
use super::inner::Inner;
use super::watcher::Mailbox;
use crate::error::Error;
use crate::state::State;

/// The thread looks again by itself, and soon.
const SOON: u64 = 0;
/// The thread does not look by itself.
const NEVER: u64 = u64::MAX;
/// The thread need not be told of a timer that is earlier than its next look by less than this.
const SLACK_NS: u64 = 4_000_000;

/// See the module.
#[derive(Debug)]
pub struct Station {
    inner: Mutex<Inner>,
    port: Arc<Shared>,
    watcher: Arc<Mailbox>,
    socket: OwnedFd,
    /// Counts what the program does here; while it moves, the thread keeps away.
    visits: AtomicU32,
    /// Threads that sleep on the socket themselves.
    sleepers: AtomicU32,
    /// Connections, and attempts at one.
    peers: AtomicU32,
    /// Whether the thread has kept news for the program.
    has_news: AtomicBool,
    /// When the thread looks next, in ns of [`clock`], or [`SOON`], or [`NEVER`].
    next_look_ns: AtomicU64,
    /// For programs that wait on a descriptor: the bell and the socket in one.
    descriptor: OnceLock<OwnedFd>,
}

impl Station {
    pub fn new(inner: Inner, port: Arc<Shared>, watcher: Arc<Mailbox>) -> Result<Self, Errno> {
        // A second descriptor, so that sleeping on the socket needs no lock.
        let socket = rustix::io::fcntl_dupfd_cloexec(inner.socket(), 0)?;
        Ok(Self {
            inner: Mutex::new(inner),
            port,
            watcher,
            socket,
            visits: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            peers: AtomicU32::new(0),
            has_news: AtomicBool::new(false),
            next_look_ns: AtomicU64::new(SOON),
            descriptor: OnceLock::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that the program does, with the port's books at hand.
    #[inline]
    pub fn visit<R>(&self, up: &mut State, act: impl FnOnce(&mut Inner, &mut State) -> R) -> R {
        let mut inner = self.lock();
        let visits = self.visits.load(Ordering::Relaxed);
        self.visits.store(visits.wrapping_add(1), Ordering::Relaxed);
        if self.has_news.load(Ordering::Relaxed) {
            self.has_news.store(false, Ordering::Relaxed);
            inner.replay(up);
        }
        let result = act(&mut inner, up);
        self.peers.store(inner.peers(), Ordering::Relaxed);
        let timer_ns = inner.next_timeout_ns();
        let next_look_ns = self.next_look_ns.load(Ordering::Relaxed);
        if timer_ns.is_some_and(|timer_ns| timer_ns.saturating_add(SLACK_NS) < next_look_ns) {
            self.call_the_watcher();
        }
        result
    }

    /// Looks at something without changing it.
    pub fn inspect<R>(&self, look: impl FnOnce(&Inner) -> R) -> R {
        look(&self.lock())
    }

    /// Where a system message lies; it stays there until it is released.
    pub fn data(&self, message: &SystemHandle) -> *const u8 {
        self.lock().data(message).as_ptr()
    }

    pub fn release(&self, message: &SystemHandle) -> bool {
        self.lock().release(message)
    }

    /// Says goodbye to all peers, and waits up to `linger` until they have what was sent to them.
    pub fn close(&self, linger: Duration) {
        let deadline_ns = clock::now_ns() + linger.as_nanos() as u64;
        // For good: the thread shall not take packets that are waited for here.
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Nobody hears of what happens from now on.
        let mut unheard = Deferred::default();
        self.lock().close(&mut unheard);
        loop {
            // Not locked while it waits: the thread would stand at the lock, and other ports of the process with it.
            let timer_ns = {
                let inner = self.lock();
                if inner.is_drained() || clock::now_ns() >= deadline_ns {
                    break;
                }
                inner.next_timeout_ns().unwrap_or(deadline_ns)
            };
            let patience = clock::until(timer_ns.min(deadline_ns));
            let timeout = Timespec {
                tv_sec: patience.as_secs() as i64,
                tv_nsec: i64::from(patience.subsec_nanos()),
            };
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, Some(&timeout));
            self.lock().work(&mut unheard);
            unheard = Deferred::default();
        }
    }

    /// The thread's turn: packets and timers. Returns the time until it has to come back.
    pub fn serve(&self) -> Option<Duration> {
        let mut inner = self.lock();
        if self.is_asleep() {
            // Since the thread has looked.
            self.look_soon();
            return Some(Duration::from_nanos(SLACK_NS));
        }
        let has_news = inner.serve();
        self.has_news.store(has_news, Ordering::Relaxed);
        self.peers.store(inner.peers(), Ordering::Relaxed);
        let timer_ns = inner.next_timeout_ns();
        self.next_look_ns
            .store(timer_ns.unwrap_or(NEVER), Ordering::Relaxed);
        drop(inner);
        if has_news {
            self.port.wake();
        }
        timer_ns.map(clock::until)
    }

    /// The thread looks again soon, whatever happens.
    pub fn look_soon(&self) {
        self.next_look_ns.store(SOON, Ordering::Relaxed);
    }

    /// The thread goes, because a program sleeps on the socket itself. False if it has just woken.
    pub fn leave_to_sleepers(&self) -> bool {
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

    /// Runs `sleep` with the time until the protocol's next timer; meanwhile the thread keeps away.
    pub fn while_asleep<R>(&self, sleep: impl FnOnce(Option<Duration>) -> R) -> R {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        let timer = self.lock().next_timeout_ns().map(clock::until);
        let result = sleep(timer);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.next_look_ns.load(Ordering::Relaxed) == NEVER {
            self.call_the_watcher();
        }
        result
    }

    pub fn is_asleep(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    pub fn visits(&self) -> u32 {
        self.visits.load(Ordering::Relaxed)
    }

    /// Whether a visit could find anything: there is somebody to talk to, or news of the thread.
    #[inline]
    pub fn is_worth_a_visit(&self) -> bool {
        self.has_peers() || self.has_news.load(Ordering::Relaxed)
    }

    /// Whether there is anybody to talk to. If not, the thread waits for the first to come.
    #[inline]
    pub fn has_peers(&self) -> bool {
        self.peers.load(Ordering::Relaxed) > 0
    }

    /// To be polled and watched, not to be read from.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// A descriptor that is readable when the bell rings or a packet comes.
    pub fn descriptor(&self, bell: BorrowedFd<'_>) -> Result<BorrowedFd<'_>, Error> {
        if let Some(descriptor) = self.descriptor.get() {
            return Ok(descriptor.as_fd());
        }
        let failed = |errno| Error::System {
            what: "making a descriptor for events",
            errno,
        };
        let both = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        for source in [bell, self.socket()] {
            let data = EventData::new_u64(0);
            epoll::add(&both, source, data, EventFlags::IN).map_err(failed)?;
        }
        Ok(self.descriptor.get_or_init(|| both).as_fd())
    }
}
