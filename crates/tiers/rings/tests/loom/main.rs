//! Models of the lock-free structures: loom runs them in every order that the memory model permits.
//!
//!     make test-loom
//!
//! Each ordering and fence of `cells.rs`, `bytes.rs`, `fence.rs`, `sleep.rs` and the handled count has been
//! weakened by hand, one at a time, and each time a model failed.
//!
//! Memory that one word's release hands over is a plain cell here (`sync::Guarded`, the payload in
//! `memory.rs`), so an order that has a hole fails a model even where no wrong value shows.
#![cfg(loom)]

mod cells;
mod handled;
mod memory;
mod payload;
mod sleep;
