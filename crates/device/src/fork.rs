//! Noticing that this process is the child of a `fork`: what it inherited is its parent's.

use std::sync::Once;

use bcl_shm::sync::{AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A number that differs between a process and the children it forks.
#[inline]
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Begins to count; call before the first port opens.
pub(crate) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler only adds to an atomic, which is allowed in a forked child.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
