//! The others: what users would take today instead of BCL.

pub mod iperf;
pub mod jobs;
pub mod libfabric;
pub mod mpi;
pub mod pair;
mod program;
pub mod ucx;
mod ucx_output;
