//! What libfabric and its providers say to each other, as the headers of libfabric 1.17 have it, written anew in Rust.
//!
//! Names are libfabric's, and its manual (`man 7 fabric`, `man 3 fi_getinfo` and on) says what they mean. Structures have
//! only ever grown at their end, so those of 1.17 serve all versions to 2.5; where we need what came later, it says
//! `since`. What is not said by anybody to anybody here (collectives, wait and poll sets) is left out.
//!
//! Enumerations of C are plain numbers: what a program passes can be any of them.

#![allow(non_camel_case_types)]
#![allow(missing_docs)]

#[macro_use]
mod define;

mod atomics;
mod av;
mod cm;
mod cntr;
mod cq;
mod domain;
mod endpoint;
mod eq;
mod errno;
mod fabric;
mod flags;
mod info;
mod mr;
mod msg;
mod rma;
mod tagged;
#[cfg(test)]
mod tests;

pub use atomics::*;
pub use av::*;
pub use cm::*;
pub use cntr::*;
pub use cq::*;
pub use domain::*;
pub use endpoint::*;
pub use eq::*;
pub use errno::*;
pub use fabric::*;
pub use flags::*;
pub use info::*;
pub use mr::*;
pub use msg::*;
pub use rma::*;
pub use tagged::*;
