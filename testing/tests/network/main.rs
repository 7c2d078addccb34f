//! Tests between hosts, which are network namespaces on this machine. They need root; without it each says that it
//! checked nothing.

mod crowd;
mod faults;
mod forged;
mod hardship;
mod hosts;
mod keys;
mod killed;
mod lab;
mod own_network;
mod refused;
mod regions;
mod remade;
mod silence;
mod told;
mod traffic;
mod unreliable;
mod windows;
mod wire;
