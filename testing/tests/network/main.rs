//! Tests between hosts, which are network namespaces on this machine. They need root; without it each says that it
//! checked nothing.

mod faults;
mod hosts;
