//! Properties of the rings and of the segment, for correct peers and for hostile ones.
//!
//! Miri runs what needs no segment:
//!
//!     MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p bcl-shm --test rings
#![cfg(not(loom))]

mod cells;
mod hostile;
mod memory;
mod payload;
#[cfg(not(miri))]
mod segment;
mod threads;

use proptest::test_runner::Config;

/// Miri is some hundred times slower.
fn cases() -> Config {
    Config {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..Config::default()
    }
}
