//! One-way time of a cache line between two cores: two threads hand a number to and fro.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::batches;
use crate::cores::{Cores, pin_thread};
use crate::error::Result;

/// A word alone in its line, and in the neighbour that the prefetcher fetches with it.
#[repr(align(128))]
struct Line(AtomicUsize);

static THERE: Line = Line(AtomicUsize::new(0));
static BACK: Line = Line(AtomicUsize::new(0));

/// One-way time in us, from `iterations` round trips.
///
/// # Errors
/// When the threads cannot be pinned.
pub fn measure_us(cores: Cores, iterations: usize) -> Result<f64> {
    THERE.0.store(0, Ordering::Relaxed);
    BACK.0.store(0, Ordering::Relaxed);
    thread::scope(|scope| {
        let partner = scope.spawn(move || answer(cores.second, iterations));
        let asker = scope.spawn(move || ask(cores.first, iterations));
        let outcome = asker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        partner
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        outcome
    })
}

fn ask(core: usize, iterations: usize) -> Result<f64> {
    let pinned = pin_thread(core);
    let mut number = 0;
    let one_way_us = batches::one_way_us(iterations, || {
        number += 1;
        THERE.0.store(number, Ordering::Release);
        wait_for(&BACK, number);
    });
    pinned?;
    Ok(one_way_us)
}

/// Answers even when it could not be pinned: the other thread would wait for ever.
fn answer(core: usize, iterations: usize) -> Result<()> {
    let pinned = pin_thread(core);
    for number in 1..=batches::whole(iterations) {
        wait_for(&THERE, number);
        BACK.0.store(number, Ordering::Release);
    }
    pinned
}

fn wait_for(line: &Line, number: usize) {
    while line.0.load(Ordering::Acquire) != number {
        spin_loop();
    }
}

#[test]
fn takes_some_time() {
    let cores = Cores::available().unwrap();
    assert!(measure_us(cores, 100).unwrap() > 0.0);
}
