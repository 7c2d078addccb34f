//! The others: what users would take today instead of BCL.

pub mod iperf;
pub mod libfabric;
pub mod mpi;
pub mod pair;
pub mod ucx;
mod ucx_output;
