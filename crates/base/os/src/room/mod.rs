//! Whether there is room for more memory, looked at before it is taken.
//!
//! To reserve more than the machine or a memory cgroup has does not fail: it calls the kernel's OOM killer, and that
//! takes somebody else first. So each request is held against what is free ([SEM-6.2]).

mod group;
mod machine;
mod place;

use crate::memfd::Want;

/// Less is a few pages, which any program takes and gives back all the time.
const FEW_BYTES: u64 = 64 << 10;

/// Says what stands in the way of so much memory, if it can be seen.
pub(crate) fn check(len_bytes: usize) -> Result<(), Want> {
    let len_bytes = len_bytes as u64;
    if len_bytes < FEW_BYTES {
        return Ok(());
    }
    machine::check(len_bytes)?;
    place::groups()
        .iter()
        .try_for_each(|group| group.check(len_bytes))
}
