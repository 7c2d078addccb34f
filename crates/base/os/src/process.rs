//! What tells this process from its children, and from whoever has its number or its address space after it.
//!
//! All of it lies in a page that the kernel empties in every child, however it is made (`MADV_WIPEONFORK`): `fork` runs the
//! handlers of pthread_atfork(3), while `_Fork` and `clone` run nothing of ours.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::fork::{self, Gate};

#[repr(C)]
struct Page {
    /// 0: this process has not looked yet.
    generation: AtomicU64,
    beacon: [AtomicU64; 2],
    gate: Gate,
}

static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());
/// In the place of a page that cannot be had or emptied. Then only `fork` is noticed, and there is no beacon.
static STAND_IN: Page = Page {
    generation: AtomicU64::new(0),
    beacon: [const { AtomicU64::new(0) }; 2],
    gate: Gate::new(),
};
/// The last generation of this process or of those that it comes from.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number that differs between a process and the children it forks; never 0.
#[inline]
pub fn generation() -> u64 {
    let page = PAGE.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: once set, it stays mapped for good.
        let generation = unsafe { &*page }.generation.load(Ordering::Relaxed);
        if generation != 0 {
            return generation;
        }
    }
    begin()
}

/// Whether this process is a forked child of the one into which the library was loaded.
pub fn is_forked() -> bool {
    generation() != LOADED_IN.load(Ordering::Relaxed)
}

/// Proof of identity: 16 random bytes at an address of this process.
///
/// Whoever finds them there reads the memory of this process, and not of its child, of a program that it has become by
/// exec, or of a process that got its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beacon {
    /// Where they lie.
    pub address: u64,
    /// What lies there.
    pub bytes: [u8; 16],
}

/// The beacon of this process; `None` if the kernel gives no random bytes or no page that it empties in children.
pub fn beacon() -> Option<Beacon> {
    generation();
    let page = page();
    if ptr::eq(page, &raw const STAND_IN) {
        return None;
    }
    let drawn = page.beacon[1].load(Ordering::Acquire);
    if drawn == 0 {
        draw(page)?;
    }
    let mut bytes = [0; 16];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(&page.beacon) {
        chunk.copy_from_slice(&word.load(Ordering::Acquire).to_ne_bytes());
    }
    Some(Beacon {
        address: page.beacon.as_ptr() as u64,
        bytes,
    })
}

/// Each word is set once: threads that draw at the same time end up with the same beacon.
fn draw(page: &Page) -> Option<()> {
    for place in &page.beacon {
        let mut word = [0; 8];
        crate::random(&mut word).ok()?;
        // Not 0, which is what a child's page says. Lost if another thread was faster.
        let word = u64::from_ne_bytes(word) | 1;
        let _ = place.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire);
    }
    Some(())
}

/// The first look of this process, or of a child that came to be without the handlers of `fork`.
#[cold]
fn begin() -> u64 {
    let page = page();
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    match page
        .generation
        .compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed)
    {
        Ok(_) => next,
        // Another thread was faster.
        Err(generation) => generation,
    }
}

/// Who keeps forks of this process off.
pub(crate) fn gate() -> &'static Gate {
    &page().gate
}

/// In the child of a `fork`, where the page may be the stand-in, which nobody has emptied.
pub(crate) fn begin_in_child() {
    let page = page();
    page.gate.clear();
    page.beacon
        .iter()
        .for_each(|word| word.store(0, Ordering::Relaxed));
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    page.generation.store(next, Ordering::Relaxed);
}

fn page() -> &'static Page {
    let page = PAGE.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: once set, it stays mapped for good.
        return unsafe { &*page };
    }
    let new = map().unwrap_or((&raw const STAND_IN).cast_mut());
    match PAGE.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            fork::watch();
            // SAFETY: a mapping that is never taken back, of zeros, which are a page; or the static.
            unsafe { &*new }
        }
        Err(first) => {
            if !ptr::eq(new, &raw const STAND_IN) {
                // SAFETY: just mapped, and nobody else knows of it.
                unsafe { libc::munmap(new.cast(), size_of::<Page>()) };
            }
            // SAFETY: as above, of the thread that was faster.
            unsafe { &*first }
        }
    }
}

fn map() -> Option<*mut Page> {
    let len = size_of::<Page>();
    let (rights, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping, wherever the kernel likes.
    let page = unsafe { libc::mmap(ptr::null_mut(), len, rights, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: advice on the mapping just made, whose length the kernel rounds up as it did before.
    if unsafe { libc::madvise(page, len, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: nobody knows of it.
        unsafe { libc::munmap(page, len) };
        return None;
    }
    Some(page.cast())
}

static LOADED_IN: AtomicU64 = AtomicU64::new(0);

/// Run by the loader with the library, before the program can have forked.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        LOADED_IN.store(generation(), Ordering::Relaxed);
    }
    at_load
};
