//! Sleeping on a word that processes share, where there is no descriptor to sleep on and many may sleep.

use std::time::Duration;

use crate::sync::AtomicU32;

/// Sleeps until somebody [wakes](wake_all) those at this word, the time is over, or a signal comes; not at all if the word is not
/// what it was seen to be. So who sees it as it was before it looked at what it waits for, and is woken by those who change the
/// word first, misses nothing.
pub fn sleep(word: &AtomicU32, seen: u32, timeout: Option<Duration>) {
    // Longer than the kernel can count is for ever.
    let timeout = timeout.and_then(|time| {
        Some(libc::timespec {
            tv_sec: time.as_secs().try_into().ok()?,
            tv_nsec: time.subsec_nanos().into(),
        })
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word lives as long as the reference, and the time as long as this call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            std::ptr::from_ref(word),
            libc::FUTEX_WAIT,
            seen,
            timeout,
        )
    };
}

/// Wakes all that sleep on the word, in any process.
pub fn wake_all(word: &AtomicU32) {
    // SAFETY: the word lives as long as the reference.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            std::ptr::from_ref(word),
            libc::FUTEX_WAKE,
            i32::MAX,
        )
    };
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::sync::Ordering;

    #[test]
    fn sleeps_until_woken_or_late_and_not_if_something_has_changed() {
        let word = AtomicU32::new(7);
        let start = Instant::now();
        sleep(&word, 8, None);
        sleep(&word, 7, Some(Duration::from_millis(5)));
        assert!(start.elapsed() >= Duration::from_millis(5));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Relaxed) == 7 {
                    sleep(&word, 7, None);
                }
            });
            std::thread::sleep(Duration::from_millis(5));
            word.store(8, Ordering::Relaxed);
            wake_all(&word);
        });
    }
}
