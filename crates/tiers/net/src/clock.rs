//! The time that the protocol is given: nanoseconds of the monotonic clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Now.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How long it is until then; zero if it is over.
pub fn until(time_ns: u64) -> Duration {
    Duration::from_nanos(time_ns.saturating_sub(now_ns()))
}
