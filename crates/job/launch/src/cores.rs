//! The cores that processes may be kept on.

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::error::{Error, Result};

/// The numbers of the cores that this process may run on, in order.
pub fn allowed_cores() -> Result<Vec<usize>> {
    let set = sched_getaffinity(None).map_err(|errno| Error::system("ask for the cores", errno))?;
    let all = 0..CpuSet::MAX_CPU;
    Ok(all.filter(|core| set.is_set(*core)).collect())
}
