//! Latency as the median over batches of round trips: the clock costs little, and the moments in which
//! the kernel takes the core away do not count.

use std::convert::Infallible;
use std::time::Instant;

use crate::stats::median;

/// Round trips between two looks at the clock.
const BATCH: usize = 10;

/// One-way time in us, the median over `round_trips` in batches.
pub fn one_way_us(round_trips: usize, mut round_trip: impl FnMut()) -> f64 {
    let measured = try_one_way_us(round_trips, || {
        round_trip();
        Ok::<(), Infallible>(())
    });
    match measured {
        Ok(us) => us,
        Err(never) => match never {},
    }
}

/// [`one_way_us`] of something that can fail.
///
/// # Errors
/// Those of `round_trip`.
pub fn try_one_way_us<E>(
    round_trips: usize,
    mut round_trip: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    let mut one_way_us = Vec::with_capacity(batches(round_trips));
    for _ in 0..batches(round_trips) {
        let begin = Instant::now();
        for _ in 0..BATCH {
            round_trip()?;
        }
        one_way_us.push(begin.elapsed().as_secs_f64() * 1e6 / (2 * BATCH) as f64);
    }
    Ok(median(&one_way_us).unwrap_or(0.0))
}

/// How many round trips the two above really make: whole batches.
pub fn whole(round_trips: usize) -> usize {
    batches(round_trips) * BATCH
}

fn batches(round_trips: usize) -> usize {
    (round_trips / BATCH).max(1)
}

#[test]
fn makes_as_many_round_trips_as_it_says() {
    for asked in [1, 10, 37, 100] {
        let mut made = 0;
        one_way_us(asked, || made += 1);
        assert_eq!(made, whole(asked));
    }
}
