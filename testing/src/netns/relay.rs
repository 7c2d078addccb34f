//! Holds packets back and lets them go when their time has come: a thread with a packet socket backstage.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Result;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::faults::Faults;
use super::tap::{FRAME_MAX, Tap};
use bcl_types::Random;

/// More than that are not held: what comes then is lost, as in a full queue.
const HELD_MAX: usize = 16_384;

/// The thread that holds packets back. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Relay {
    policy: Arc<Mutex<Policy>>,
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Policy {
    random: Random,
    late_by: RangeInclusive<Duration>,
}

/// A packet, ordered by when it is due; those due at the same time stay in order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    due: Instant,
    number: u64,
    frame: Vec<u8>,
}

impl Relay {
    /// Takes what arrives at an interface and sends it back there, late.
    ///
    /// # Errors
    /// When the socket cannot be made.
    pub(super) fn start(namespace: &str, interface: u32) -> Result<Self> {
        let tap = Tap::open(namespace, interface)?;
        let (until, end) = UnixStream::pair()?;
        let policy = Arc::new(Mutex::new(Policy {
            random: Random::new(0),
            late_by: Faults::NONE.late_by,
        }));
        let seen_by_thread = Arc::clone(&policy);
        let thread = thread::Builder::new()
            .name("relay".into())
            .spawn(move || hold(&tap, &until, &seen_by_thread))?;
        Ok(Self {
            policy,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// From now on, as `faults` say.
    pub(super) fn set(&self, faults: &Faults) {
        let mut policy = self.policy.lock().expect("the thread does not panic");
        policy.random = Random::new(faults.seed);
        policy.late_by = faults.late_by.clone();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // If it has panicked, its message has been printed.
            let _ = thread.join();
        }
    }
}

impl Policy {
    fn due(&mut self, now: Instant) -> Instant {
        let (least, most) = (self.late_by.start(), self.late_by.end());
        let span_ns = u64::try_from((*most - *least).as_nanos()).unwrap_or(u64::MAX - 1);
        now + *least + Duration::from_nanos(self.random.below(span_ns + 1))
    }
}

fn hold(tap: &Tap, until: &UnixStream, policy: &Mutex<Policy>) {
    let mut held: BinaryHeap<Reverse<Held>> = BinaryHeap::new();
    let mut number = 0;
    let mut buffer = vec![0; FRAME_MAX];
    while sleep(tap, until, held.peek().map(|Reverse(next)| next.due)) {
        while let Some(len) = tap.receive(&mut buffer) {
            if held.len() < HELD_MAX {
                let mut policy = policy.lock().expect("nobody panics with it");
                number += 1;
                held.push(Reverse(Held {
                    due: policy.due(Instant::now()),
                    number,
                    frame: buffer[..len].to_vec(),
                }));
            }
        }
        while held
            .peek()
            .is_some_and(|Reverse(next)| next.due <= Instant::now())
        {
            if let Some(Reverse(next)) = held.pop() {
                tap.send(&next.frame);
            }
        }
    }
}

/// Returns when there is something to do; false when the other end of `until` is closed.
fn sleep(tap: &Tap, until: &UnixStream, due: Option<Instant>) -> bool {
    let wanted = |fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let mut fds = [wanted(tap.as_raw_fd()), wanted(until.as_raw_fd())];
    let left = due.map(|due| due.saturating_duration_since(Instant::now()));
    let timeout = left.map(|left| libc::timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: i64::from(left.subsec_nanos()),
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both descriptors and the time outlive the call.
    unsafe { libc::ppoll(fds.as_mut_ptr(), 2, timeout, std::ptr::null()) };
    fds[1].revents == 0
}
