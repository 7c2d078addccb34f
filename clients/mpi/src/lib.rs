//! `libbcl_fi.so`: BCL as a provider of libfabric, so that programs written for that, MPI libraries first of all, run on it
//! unmodified.
//!
//! libfabric loads the library from `FI_PROVIDER_PATH` and calls [`fi_prov_ini`](provider::fi_prov_ini), the one thing that
//! it exports; all else is reached by tables of functions. Read:
//!
//! - [`abi`]: what both sides have agreed on;
//! - [`provider`] and [`host`]: how we are found, and what we ask of the libfabric that found us;
//! - [`getinfo`]: what a program asks for, and what it gets or why not;
//! - [`fabric`] and [`domain`]: the objects that others are made of;
//! - [`av`], [`cq`], [`cntr`], [`eq`] and [`mr`]: those. Of each, what it does is plain Rust, in a file of its own, and its
//!   calls are around that;
//! - [`ep`] and [`progress`]: endpoints, over the middle layer `bcl-adi`, and who makes them go on;
//! - [`name`] and [`keys`]: what endpoints are called, and how that keeps others away;
//! - [`call`], [`log`], [`lock`], [`object`], [`wait`], [`settings`], [`text_of_error`]: what all have in common.
//!
//! A program talks to all this by `extern "C"` functions; a panic in one ends the process (Rust sees to that), for it must
//! not unwind into C.

pub mod abi;
pub mod av;
pub mod call;
pub mod cntr;
pub mod cq;
pub mod domain;
pub mod ep;
pub mod eq;
pub mod fabric;
pub mod getinfo;
pub mod host;
pub mod keys;
#[cfg(test)]
mod lab;
pub mod lock;
pub mod log;
pub mod mr;
pub mod name;
pub mod object;
pub mod progress;
pub mod provider;
pub mod settings;
pub mod text_of_error;
pub mod wait;
