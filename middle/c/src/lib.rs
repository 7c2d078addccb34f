//! The C library, of which [`bcl_capi`] has the calls of `bcl.h`; here are those of `bcl_adi.h`, `bcl_reflect.h`, `bbp.h` and
//! `bcl_coll.h`, which say what they promise.
//!
//! Read [`types`] (what both languages see), [`endpoint`] (what a program holds, and errors), then the calls in the order of the
//! header: [`messages`], [`probing`], [`completions`], [`one_sided`]; and [`mod@reflect`], [`bbp`] and [`coll`].

/// Its calls are part of the library.
extern crate bcl_capi as _;

mod bbp;
mod coll;
mod completions;
mod endpoint;
#[cfg(test)]
mod header;
mod messages;
mod one_sided;
mod probing;
mod reflect;
mod types;
