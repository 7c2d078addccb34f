//! What the machine has free.

use rustix::io::Errno;

use crate::file;
use crate::memfd::Want;

pub(super) fn check(len_bytes: u64) -> Result<(), Want> {
    let meminfo = file::of_kernel("/proc/meminfo").unwrap_or_default();
    match available_bytes(&meminfo) {
        Some(available) if len_bytes > available => Err(Want::Kernel(Errno::NOMEM)),
        _ => Ok(()),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let available = file::field(meminfo, "MemAvailable:")?;
    let kib: u64 = available.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
