//! The C API of BCL. What it promises is said in `include/bcl.h`; here is how.
//!
//! Read [`bcl_cface`] (how every call begins and ends, handles and their locks), [`types`] (what both languages see),
//! [`code`] (the numbers of errors), [`handle`] (a port), then the calls in the order of the header: [`port`], [`message`],
//! [`pieces`], [`rma`], [`events`], [`memory`], [`job`].
//!
//! What is public is for other headers of libbcl, which have the same addresses, options, errors and texts.

pub mod code;
pub mod events;
mod handle;
#[cfg(test)]
mod header;
mod job;
mod memory;
mod message;
pub mod pieces;
pub mod port;
mod rma;
pub mod text;
pub mod translate;
pub mod types;
