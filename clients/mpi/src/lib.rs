//! `libbcl_fi.so`: BCL as a provider of libfabric, so that programs written for that, MPI libraries first of all, run on it
//! unmodified.
//!
//! - [`abi`]: what both sides have agreed on.

pub mod abi;
