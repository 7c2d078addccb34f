//! Keeping a thread on a core.

use bcl_launch::allowed_cores;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::failure::{Failure, Result};

/// Keeps this thread on one core.
pub fn pin(core: usize) -> Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(Failure::usage(format!("there is no core {core}")));
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|errno| match errno {
        Errno::INVAL => Failure::usage(format!(
            "core {core} is not one this process may use: choose from {:?}",
            allowed_cores().unwrap_or_default()
        )),
        errno => Failure::system(format!("pin to core {core}"), errno),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_has_one_core() {
        let first = allowed_cores().unwrap()[0];
        std::thread::spawn(move || {
            pin(first).unwrap();
            assert_eq!(allowed_cores().unwrap(), [first]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_core_that_is_not_there_is_refused() {
        assert!(pin(CpuSet::MAX_CPU).unwrap_err().text.contains("no core"));
    }
}
