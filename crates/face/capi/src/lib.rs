//! The C API of BCL. What it promises is said in `include/bcl.h`; here is how.
//!
//! Read [`types`] (what both languages see), [`call`] (how every call begins and ends), [`handle`] (a port and its
//! lock), then the calls in the order of the header: [`port`], [`message`], [`pieces`],
//! [`rma`], [`events`], [`memory`], [`job`].

mod call;
mod code;
mod events;
mod handle;
#[cfg(test)]
mod header;
mod job;
mod memory;
mod message;
mod pieces;
mod port;
mod rma;
mod text;
mod translate;
mod types;
