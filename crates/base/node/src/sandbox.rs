//! Which system calls this process may not make, as under a seccomp filter.
//!
//! Most are needed long after a port was opened, many by a background thread, where a refusal would look like a peer that
//! is not there. So opening a port tries all of them, with arguments that no call accepts, a descriptor that cannot exist
//! for instance: a call that is permitted says that, one that is refused says that it is. Not tried is what the library
//! has another way for: process_vm_readv, pwritev2, membarrier, pidfd_open, getrandom.

use rustix::io::Errno;

/// A refused call: a sentence that names it.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{what}: {errno}")]
pub struct Refused {
    /// The sentence.
    pub what: &'static str,
    /// What the filter says in place of the kernel.
    pub errno: Errno,
}

/// A system call that is tried.
struct Probe {
    what: &'static str,
    number: libc::c_long,
    /// Its first two arguments; the others are 0.
    arguments: [libc::c_long; 2],
}

/// No descriptor has this number, and no flags of a call are these.
const NONE: libc::c_long = -1;

macro_rules! probes {
    ($($number:ident($first:expr, $second:expr) $name:literal,)*) => {
        &[$(Probe {
            what: concat!(
                "the system call ", $name,
                " is refused to this process; BCL needs it: allow it in the sandbox (seccomp filter, container)",
            ),
            number: libc::$number,
            arguments: [$first, $second],
        }),*]
    };
}

/// What every port needs.
const LOCAL: &[Probe] = probes![
    SYS_read(NONE, 0) "read",
    SYS_write(NONE, 0) "write",
    SYS_openat(NONE, 0) "openat",
    SYS_mkdirat(NONE, 0) "mkdirat",
    SYS_unlinkat(NONE, 0) "unlinkat",
    SYS_fstat(NONE, 0) "fstat",
    SYS_newfstatat(NONE, 0) "newfstatat",
    SYS_fstatfs(NONE, 0) "fstatfs",
    SYS_fchmod(NONE, 0) "fchmod",
    SYS_flock(NONE, 0) "flock",
    SYS_fcntl(NONE, libc::F_GET_SEALS as libc::c_long) "fcntl",
    SYS_memfd_create(0, NONE) "memfd_create",
    SYS_ftruncate(NONE, 0) "ftruncate",
    SYS_fallocate(NONE, 0) "fallocate",
    SYS_pipe2(0, NONE) "pipe2",
    SYS_eventfd2(0, NONE) "eventfd2",
    SYS_ppoll(NONE, 1) "ppoll",
    SYS_epoll_create1(NONE, 0) "epoll_create1",
    SYS_epoll_ctl(NONE, 0) "epoll_ctl",
    SYS_epoll_pwait(NONE, 0) "epoll_pwait",
    SYS_socket(libc::AF_UNIX as libc::c_long, NONE) "socket",
    SYS_connect(NONE, 0) "connect",
    SYS_bind(NONE, 0) "bind",
    SYS_listen(NONE, 0) "listen",
    SYS_accept4(NONE, 0) "accept4",
    SYS_sendmsg(NONE, 0) "sendmsg",
    SYS_recvmsg(NONE, 0) "recvmsg",
    SYS_getsockopt(NONE, 0) "getsockopt",
];

/// ... where it is a call of its own, and not openat with other arguments.
#[cfg(target_arch = "x86_64")]
const LOCAL_OPEN: &[Probe] = probes![SYS_open(0, 0) "open",];
#[cfg(not(target_arch = "x86_64"))]
const LOCAL_OPEN: &[Probe] = &[];

/// What a port needs besides to reach other nodes.
const UDP: &[Probe] = probes![
    SYS_setsockopt(NONE, 0) "setsockopt",
    SYS_getsockname(NONE, 0) "getsockname",
    SYS_sendto(NONE, 0) "sendto",
    SYS_recvfrom(NONE, 0) "recvfrom",
    SYS_sendmmsg(NONE, 0) "sendmmsg",
];

/// Whether a port can be opened.
///
/// # Errors
/// Names the first call that is refused.
pub fn check_local() -> Result<(), Refused> {
    LOCAL.iter().chain(LOCAL_OPEN).try_for_each(check)
}

/// Whether a port can have a UDP socket.
///
/// # Errors
/// Names the first call that is refused.
pub fn check_udp() -> Result<(), Refused> {
    UDP.iter().try_for_each(check)
}

fn check(probe: &Probe) -> Result<(), Refused> {
    let [first, second] = probe.arguments;
    // SAFETY: with such arguments none of these calls does anything: there is no such descriptor, or there are no such
    // flags, and no pointer leads anywhere.
    let done = unsafe { libc::syscall(probe.number, first, second, 0, 0, 0, 0) };
    let said = std::io::Error::last_os_error();
    match Errno::from_io_error(&said) {
        Some(errno @ (Errno::PERM | Errno::ACCESS | Errno::NOSYS)) if done < 0 => Err(Refused {
            what: probe.what,
            errno,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_refused_here_and_trying_leaves_nothing_behind() {
        let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
        check_local().unwrap();
        check_udp().unwrap();
        assert_eq!(std::fs::read_dir("/proc/self/fd").unwrap().count(), before);
    }

    #[test]
    fn every_probe_is_turned_down_by_the_kernel() {
        for probe in LOCAL.iter().chain(LOCAL_OPEN).chain(UDP) {
            let [first, second] = probe.arguments;
            // SAFETY: as in `check`.
            let done = unsafe { libc::syscall(probe.number, first, second, 0, 0, 0, 0) };
            assert_eq!(done, -1, "{}", probe.what);
        }
    }
}
