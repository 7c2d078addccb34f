//! The rules of `spec/semantics.md`, each checked on every fixture: `cargo nextest run --test conformance`.

mod buffers;
mod closing;
mod ends;
mod events;
mod jobs;
mod keys;
mod looked_after;
mod matching;
mod messages;
mod one_sided;
mod party;
mod ports;
mod system;
mod tagged;
mod tiers;
mod unreliable;
mod windows;
