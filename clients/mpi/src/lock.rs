//! The lock of an object, unless the program has promised not to need one.

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bcl_os::cancel;

/// How long a thread sleeps before it looks again, where nobody can wake it.
const NAP: Duration = Duration::from_millis(1);

/// A value that is used by one thread at a time.
pub struct Lock<T>(Kind<T>);

enum Kind<T> {
    /// The program's promise stands for a lock.
    OneThread(UnsafeCell<T>),
    Threads(Mutex<Shared<T>>, Condvar),
}

struct Shared<T> {
    value: T,
    /// Threads that sleep. Waking is a system call, even if nobody does, and completions come by the million.
    sleepers: usize,
}

// SAFETY: the mutex lets one thread in at a time; without it, the maker has promised that there is only one.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// With a lock.
    pub fn new(value: T) -> Self {
        let shared = Shared { value, sleepers: 0 };
        Self(Kind::Threads(Mutex::new(shared), Condvar::new()))
    }

    /// Without one.
    ///
    /// # Safety
    /// No two threads are in calls on it at the same time.
    pub unsafe fn of_one_thread(value: T) -> Self {
        Self(Kind::OneThread(UnsafeCell::new(value)))
    }

    /// Runs `body` with the value; it must not come back here.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        match &self.0 {
            // SAFETY: no other thread is here, by the promise, and `body` does not come back.
            Kind::OneThread(value) => body(unsafe { &mut *value.get() }),
            Kind::Threads(mutex, _) => body(&mut lock(mutex).value),
        }
    }

    /// Looks until something is found, first at once and then whenever the value may have changed; `None` when `timeout`
    /// has passed. Without a timeout it looks for ever.
    pub fn wait<R>(
        &self,
        timeout: Option<Duration>,
        mut look: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R> {
        let _off = cancel::Off::new();
        // A time too long to be reckoned with is for ever.
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let left = || {
            until.map_or(Duration::MAX, |until| {
                until.saturating_duration_since(Instant::now())
            })
        };
        match &self.0 {
            Kind::OneThread(_) => loop {
                if let Some(found) = self.with(&mut look) {
                    return Some(found);
                }
                if left().is_zero() {
                    return None;
                }
                std::thread::sleep(left().min(NAP));
            },
            Kind::Threads(mutex, changed) => {
                let mut shared = lock(mutex);
                loop {
                    if let Some(found) = look(&mut shared.value) {
                        return Some(found);
                    }
                    let left = left();
                    if left.is_zero() {
                        return None;
                    }
                    shared.sleepers += 1;
                    let woken = changed.wait_timeout(shared, left);
                    shared = woken.unwrap_or_else(PoisonError::into_inner).0;
                    shared.sleepers -= 1;
                }
            }
        }
    }

    /// As [`with`](Self::with), for a body that those who wait may have waited for.
    pub fn change<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        let Kind::Threads(mutex, changed) = &self.0 else {
            return self.with(body);
        };
        let mut shared = lock(mutex);
        let result = body(&mut shared.value);
        if shared.sleepers > 0 {
            changed.notify_all();
        }
        result
    }
}

/// A panic ends the process before anybody else gets here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}

/// A timeout as libfabric writes it: in milliseconds, and for ever if negative.
pub fn timeout_of(timeout_ms: i32) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_sees_each_change() {
        let lock = Lock::new(0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| lock.wait(None, |value| (*value == 100).then_some(())));
            (0..100).for_each(|_| lock.change(|value| *value += 1));
            assert_eq!(waiter.join().unwrap(), Some(()));
        });
    }

    /// Each thread sleeps until the other has had its turn.
    #[test]
    fn a_single_sleeper_is_woken() {
        let lock = Lock::new(0);
        let take_turns = |whose: u32| {
            for _ in 0..1000 {
                lock.wait(None, |value| (*value % 2 == whose).then_some(()));
                lock.change(|value| *value += 1);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| take_turns(0));
            take_turns(1);
        });
        assert_eq!(lock.with(|value| *value), 2000);
    }

    #[test]
    fn without_a_change_the_time_passes() {
        let patience = Duration::from_millis(5);
        // SAFETY: this thread only.
        for lock in [Lock::new(0), unsafe { Lock::of_one_thread(0) }] {
            let start = Instant::now();
            let mut looks = 0;
            let found: Option<()> = lock.wait(Some(patience), |_| {
                looks += 1;
                None
            });
            assert_eq!(found, None);
            assert!(looks > 1 && start.elapsed() >= patience);
            assert_eq!(lock.wait(Some(Duration::ZERO), |_| Some(7)), Some(7));
        }
    }

    #[test]
    fn timeouts_are_milliseconds() {
        assert_eq!(timeout_of(-1), None);
        assert_eq!(timeout_of(0), Some(Duration::ZERO));
        assert_eq!(timeout_of(1500), Some(Duration::from_millis(1500)));
    }
}
