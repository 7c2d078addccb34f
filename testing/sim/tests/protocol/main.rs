//! What `spec/wire.md` says of the protocol between ports, tried with two or three of them on the simulated network.
//!
//! A world of the simulator lives by its seed; here a test says what happens: who sends what, which cable is pulled,
//! which packet is played back. Read `world` first.

mod connections;
mod crowded;
mod entered;
mod keys;
mod lengths;
mod memory;
mod messages;
mod pushing;
mod told;
mod windows;
mod world;
