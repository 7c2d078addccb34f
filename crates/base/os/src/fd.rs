//! Descriptors that children close: they say on whose behalf a number, a name or a lock is held.

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::{fork, process};

/// A descriptor of the library's. A child that the process forks closes it; in the child the value stands for nothing, and
/// dropping it does nothing.
#[derive(Debug)]
pub struct Fd {
    fd: ManuallyDrop<OwnedFd>,
    generation: u64,
}

impl Fd {
    /// Makes a descriptor that no child keeps, whenever the program forks.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn make<E>(make: impl FnOnce() -> Result<OwnedFd, E>) -> Result<Self, E> {
        fork::held_off(|| make().map(Self::own))
    }

    /// Takes over a descriptor, in the same [`held_off`](fork::held_off) in which it was made, where that is ours.
    pub fn own(fd: OwnedFd) -> Self {
        OURS.add(fd.as_raw_fd());
        hook::made();
        Self {
            fd: ManuallyDrop::new(fd),
            generation: process::generation(),
        }
    }

    /// A second descriptor of the same file.
    ///
    /// # Errors
    /// What fcntl(2) says.
    pub fn second(of: impl AsFd) -> Result<Self, rustix::io::Errno> {
        Self::make(|| rustix::io::fcntl_dupfd_cloexec(of, 3))
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        if self.generation != process::generation() {
            // Closed when this process began, or its number is somebody else's by now.
            return;
        }
        fork::held_off(|| {
            OURS.remove(self.fd.as_raw_fd());
            // SAFETY: it is being dropped, and nobody looks at it again.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        });
    }
}

/// To be given away: children keep it from now on, as any other.
impl From<Fd> for OwnedFd {
    fn from(fd: Fd) -> Self {
        let mut fd = ManuallyDrop::new(fd);
        OURS.remove(fd.as_raw_fd());
        // SAFETY: its owner is not dropped, so that it is taken once.
        unsafe { ManuallyDrop::take(&mut fd.fd) }
    }
}

impl AsFd for Fd {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Fd {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl io::Read for Fd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&*self, buffer)?)
    }
}

/// The numbers of a set of descriptors, in a form that a handler of `fork` may read.
struct Numbers {
    words: [AtomicU64; WORDS],
    /// Words in use: those behind are zero.
    used: AtomicUsize,
}

/// As many descriptors as a process can have unless fs.nr_open is raised. Those beyond are not closed in children.
const MOST: usize = 1 << 20;
const WORDS: usize = MOST / 64;

static OURS: Numbers = Numbers {
    words: [const { AtomicU64::new(0) }; WORDS],
    used: AtomicUsize::new(0),
};

impl Numbers {
    fn place(&self, fd: RawFd) -> Option<(&AtomicU64, u64)> {
        let number = usize::try_from(fd).ok()?;
        let word = self.words.get(number / 64)?;
        Some((word, 1 << (number % 64)))
    }

    fn add(&self, fd: RawFd) {
        if let Some((word, bit)) = self.place(fd) {
            self.used.fetch_max(fd as usize / 64 + 1, Ordering::Relaxed);
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn remove(&self, fd: RawFd) {
        if let Some((word, bit)) = self.place(fd) {
            word.fetch_and(!bit, Ordering::Relaxed);
        }
    }

    /// Takes all out.
    fn take_all(&self, mut take: impl FnMut(RawFd)) {
        for index in 0..self.used.swap(0, Ordering::Relaxed) {
            let mut bits = self.words[index].swap(0, Ordering::Relaxed);
            while bits != 0 {
                take((index * 64) as RawFd + bits.trailing_zeros() as RawFd);
                bits &= bits - 1;
            }
        }
    }
}

/// In a child: its copies of all that its parent's library holds.
pub(crate) fn close_inherited() {
    OURS.take_all(|fd| {
        // SAFETY: the child's copy of a descriptor of ours. Its `Fd` knows that it belongs to the parent, so that nobody
        // uses or closes it again.
        unsafe { libc::close(fd) };
    });
}

/// For tests, which fork wherever a descriptor is made.
pub mod hook {
    #[cfg(debug_assertions)]
    use std::{cell::Cell, sync::OnceLock};

    #[cfg(debug_assertions)]
    static CALLED: OnceLock<fn()> = OnceLock::new();

    #[cfg(debug_assertions)]
    thread_local! {
        static MADE: Cell<bool> = const { Cell::new(false) };
    }

    /// Has `hook` called by each thread that has made descriptors, at the first moment at which a fork is possible again.
    #[cfg(debug_assertions)]
    pub fn call(hook: fn()) {
        let _ = CALLED.set(hook);
    }

    #[inline]
    pub(super) fn made() {
        #[cfg(debug_assertions)]
        MADE.set(true);
    }

    #[inline]
    pub(crate) fn reached() {
        #[cfg(debug_assertions)]
        if let Some(hook) = CALLED.get().filter(|_| MADE.replace(false)) {
            hook();
        }
    }
}
