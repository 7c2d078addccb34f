//! What the kernel, or the container around us, permits.

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::Resource;

use super::{Fact, fact};

/// `membarrier` commands; the library uses the expedited global ones.
const QUERY: libc::c_int = 0;
const GLOBAL_EXPEDITED: libc::c_long = 1 << 1;
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

pub fn facts() -> Vec<Fact> {
    let (memfd, memfd_remark) = memfd();
    let (membarrier, membarrier_remark) = membarrier();
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let hard = limit
        .maximum
        .map_or("no".into(), |maximum| maximum.to_string());
    vec![
        fact(
            "kernel",
            rustix::system::uname().release().to_string_lossy(),
            "",
        ),
        fact("memfd", memfd, memfd_remark),
        fact("membarrier", membarrier, membarrier_remark),
        fact(
            "yama_ptrace_scope",
            yama(),
            "above 0, single copy works only where the peers permit it",
        ),
        fact(
            "open_files_max",
            limit.current,
            format!("RLIMIT_NOFILE; the hard limit is {hard}"),
        ),
        fact("dev_shm_needed", false, "memory is had from memfd_create"),
    ]
}

/// Sealed shared memory: without it there is no connection at all.
fn memfd() -> (bool, String) {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let sealed = rustix::fs::memfd_create("bcl-info", flags).and_then(|fd| {
        rustix::fs::ftruncate(&fd, 4096)?;
        rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::FUTURE_WRITE)
    });
    match sealed {
        Ok(()) => (true, "shared memory with seals".into()),
        Err(errno) => (
            false,
            format!("memfd_create with seals: {errno}; BCL needs Linux 5.1 or newer"),
        ),
    }
}

fn membarrier() -> (bool, String) {
    // SAFETY: membarrier takes integers and touches no memory of ours.
    let commands = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    match commands >= 0 && commands & GLOBAL_EXPEDITED != 0 {
        true => (true, "senders need no fence".into()),
        false => (false, "each send costs a fence".into()),
    }
}

/// `null` where the kernel has no Yama.
fn yama() -> Option<i64> {
    let text = std::fs::read_to_string(YAMA).ok()?;
    text.trim().parse().ok()
}
