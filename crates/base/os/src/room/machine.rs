//! What the machine has free.

use rustix::io::Errno;

use crate::memfd::Want;

pub(super) fn check(len_bytes: u64) -> Result<(), Want> {
    let meminfo = crate::file::of_kernel("/proc/meminfo").unwrap_or_default();
    match available_bytes(&meminfo) {
        Some(available) if len_bytes > available => Err(Want::Kernel(Errno::NOMEM)),
        _ => Ok(()),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
