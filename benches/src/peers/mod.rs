//! The others: what users would take today instead of BCL.

pub mod mpi;
pub mod ucx;
mod ucx_output;
