//! Whether the clock is right, and cheap to read: the protocol reads it for each packet.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::finding::{Finding, ok, warning};

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The first release: a clock before it has never been set.
const RELEASED: Duration = Duration::from_secs(1_790_000_000);

/// Above this, the kernel is asked instead of a register being read.
const CHEAP_NS: u128 = 250;

pub fn finding() -> Finding {
    let source = std::fs::read_to_string(CURRENT).unwrap_or_default();
    let source = source.trim();
    let read_ns = read_ns();
    let text = format!("clock {source} is read in {read_ns} ns");
    if read_ns > CHEAP_NS {
        let text = format!("{text}, which each packet pays for");
        return warning(
            "clock",
            text,
            format!("echo tsc > {CURRENT} (if the machine offers it)"),
        );
    }
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(now) if now > RELEASED => ok("clock", text),
        _ => warning(
            "clock",
            "the clock is years behind: it was never set",
            "timedatectl set-ntp true",
        ),
    }
}

fn read_ns() -> u128 {
    const READS: u32 = 1000;
    // The best of some, for the machine may be busy.
    let times = (0..10).map(|_| {
        let start = Instant::now();
        for _ in 0..READS {
            std::hint::black_box(Instant::now());
        }
        start.elapsed().as_nanos() / u128::from(READS)
    });
    times.min().unwrap_or_default()
}
