//! What a program's opaque pointer points to: the object, and its lock unless the program promised not to need one.

use std::cell::UnsafeCell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bcl_os::process::generation;
use bcl_raw::Error;

use crate::call::{Face, Failure};
use crate::retired::retire;

/// An object that a program holds pointers to.
pub trait Inside: Send + 'static {
    /// The library that it belongs to.
    type Face: Face;
    /// In the first word of all handles of this kind, and of no others.
    const MAGIC: u64;
    /// What the program's sentences call it.
    const NAME: &str;
    /// The call that makes one.
    const OPENER: &str;

    /// Ends what it does. From then on all that is done with it, closing too, fails with [`Error::Closed`], and threads that
    /// wait for it wake; what they have in hand stays until it is dropped.
    fn close(&mut self) -> Result<(), Error>;
}

/// What a call on an object comes to.
pub(crate) type Outcome<T, R> = Result<R, Failure<<T as Inside>::Face>>;

/// An object, or the empty shell of one that was closed.
#[repr(C)]
pub struct Handle<T> {
    /// The first word, whatever is inside: it says that.
    magic: u64,
    generation: u64,
    pub(crate) lock: Lock<T>,
    /// Told when the last guest has left.
    left: Condvar,
}

pub(crate) enum Lock<T> {
    /// The program's promise stands for a lock.
    OneThread(UnsafeCell<Option<T>>),
    Threads(Mutex<Shared<T>>),
}

pub(crate) struct Shared<T> {
    inside: Option<T>,
    /// Threads that wait for the object without the lock.
    guests: usize,
    /// A thread waits until they have left. To tell it is a system call, even if there is none, and waits come by the million.
    is_emptied: bool,
}

impl<T: Inside> Handle<T> {
    /// A pointer for the program, good until [`close`](Self::close). `one_thread`: it promises to be in no two calls at a
    /// time, and no lock is taken.
    pub fn open(inside: T, one_thread: bool) -> *mut Self {
        Box::into_raw(Box::new(Self {
            magic: T::MAGIC,
            generation: generation(),
            lock: if one_thread {
                Lock::OneThread(UnsafeCell::new(Some(inside)))
            } else {
                Lock::Threads(Mutex::new(Shared {
                    inside: Some(inside),
                    guests: 0,
                    is_emptied: false,
                }))
            },
            left: Condvar::new(),
        }))
    }

    /// The handle behind a pointer of the program's.
    ///
    /// # Safety
    /// If not null, `handle` leads to a word that can be read and, if that is [`Inside::MAGIC`], came from
    /// [`open`](Self::open). One closed long ago is the program's mistake, which cannot always be noticed; the last that were
    /// closed are kept for that.
    #[inline]
    pub unsafe fn check<'a>(handle: *const Self) -> Outcome<T, &'a Self> {
        if handle.is_null() || !handle.is_aligned() {
            return Err(not_one::<T>("is NULL, or not"));
        }
        // SAFETY: not null and aligned, and the word that can be read by the contract.
        if unsafe { (&raw const (*handle).magic).read() } != T::MAGIC {
            return Err(not_one::<T>("is not"));
        }
        // SAFETY: from `open`, by the contract.
        let handle = unsafe { &*handle };
        // Before the lock: a thread of the parent may have held it at the time of the fork.
        if handle.generation != generation() {
            return Err(forked::<T>());
        }
        Ok(handle)
    }

    /// Runs `body` with the object if it is open, under the lock if there is one.
    #[inline]
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> Outcome<T, R>) -> Outcome<T, R> {
        match &self.lock {
            Lock::OneThread(inside) => {
                // SAFETY: the program promised that no other thread is inside a call, and `body` makes none.
                let inside = unsafe { &mut *inside.get() };
                body(inside.as_mut().ok_or_else(closed::<T>)?)
            }
            Lock::Threads(mutex) => body(lock(mutex).inside.as_mut().ok_or_else(closed::<T>)?),
        }
    }

    /// Takes something under the lock, and goes on with that alone: for what waits. Closing wakes it, if it does so by
    /// [`Inside::close`], and then waits for its end.
    pub fn aside<A, R>(
        &self,
        take: impl FnOnce(&mut T) -> Outcome<T, A>,
        body: impl FnOnce(A) -> Outcome<T, R>,
    ) -> Outcome<T, R> {
        match &self.lock {
            Lock::OneThread(_) => body(self.with(take)?),
            Lock::Threads(mutex) => match self.enter(mutex, |inside| take(inside).map(Some))? {
                Some((taken, _guest)) => body(taken),
                None => Err(closed::<T>()),
            },
        }
    }

    /// Runs `look` under the lock; if it returns something to do without it, this thread becomes a guest.
    pub(crate) fn enter<R>(
        &self,
        mutex: &Mutex<Shared<T>>,
        look: impl FnOnce(&mut T) -> Outcome<T, Option<R>>,
    ) -> Outcome<T, Option<(R, Guest<'_, T>)>> {
        let mut shared = lock(mutex);
        let found = look(shared.inside.as_mut().ok_or_else(closed::<T>)?)?;
        shared.guests += usize::from(found.is_some());
        drop(shared);
        Ok(found.map(|found| (found, Guest(self))))
    }

    /// Closes the object behind a pointer of the program's, which is good no more. What is inside is freed when all guests
    /// have left.
    ///
    /// # Safety
    /// As of [`check`](Self::check).
    pub unsafe fn close(handle: *mut Self) -> Outcome<T, ()> {
        // SAFETY: by the contract.
        unsafe { Self::check(handle) }?.empty()?;
        // SAFETY: made by `open`, and emptied just now, which succeeds once.
        unsafe { retire(handle) };
        Ok(())
    }

    fn empty(&self) -> Outcome<T, ()> {
        let inside = match &self.lock {
            Lock::OneThread(inside) => {
                // SAFETY: as in `with`.
                let inside = unsafe { &mut *inside.get() };
                inside.as_mut().ok_or_else(closed::<T>)?.close()?;
                inside.take()
            }
            Lock::Threads(mutex) => {
                let mut shared = lock(mutex);
                shared.inside.as_mut().ok_or_else(closed::<T>)?.close()?;
                shared.is_emptied = true;
                let mut shared = self
                    .left
                    .wait_while(shared, |shared| shared.guests > 0)
                    .unwrap_or_else(PoisonError::into_inner);
                shared.inside.take()
            }
        };
        drop(inside.ok_or_else(closed::<T>)?);
        Ok(())
    }
}

/// A thread that waits without the lock. The object may be closed meanwhile, but it stays until this is dropped.
pub(crate) struct Guest<'a, T: Inside>(&'a Handle<T>);

impl<T: Inside> Drop for Guest<'_, T> {
    fn drop(&mut self) {
        if let Lock::Threads(mutex) = &self.0.lock {
            let mut shared = lock(mutex);
            shared.guests -= 1;
            if shared.is_emptied {
                self.0.left.notify_all();
            }
        }
    }
}

/// After a panic the object goes on as well as it can; the call that panicked has said so.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn not_one<T: Inside>(how: &str) -> Failure<T::Face> {
    let (name, opener) = (T::NAME, T::OPENER);
    Failure::invalid(format!("{name} {how} one of {opener}'s"))
}

#[cold]
fn closed<T: Inside>() -> Failure<T::Face> {
    let text = format!("the {} is closed", T::NAME);
    Failure::new(T::Face::code_of(&Error::Closed), text)
}

#[cold]
fn forked<T: Inside>() -> Failure<T::Face> {
    let text = format!(
        "this {} was opened before fork() and belongs to the parent process: open one of its own in the child",
        T::NAME
    );
    Failure::new(T::Face::code_of(&Error::Forked), text)
}
