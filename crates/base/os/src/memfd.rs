//! Memory that processes share by descriptor: nothing in `/dev/shm`, nothing left after a crash.

use std::os::fd::{AsFd, BorrowedFd};

use crate::Fd;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;

use crate::mapping::Mapping;
use crate::room;
use crate::signals::without_signal;

/// Why shared memory could not be made or mapped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no memory left for it, or a limit of this process or its control group is reached.
    #[error("no memory for a shared segment of {len_bytes} bytes: {want}")]
    NoMemory {
        /// Size asked for.
        len_bytes: usize,
        /// Why.
        want: Want,
    },
    /// The table of open files is full.
    #[error("no file descriptor left for a shared segment: {0}; raise the limit (ulimit -n)")]
    NoDescriptors(Errno),
    /// A descriptor that a peer sent is not what it has to be.
    #[error("a peer sent a descriptor that is not a sealed shared segment: {0}")]
    Unsafe(&'static str),
    /// Anything else.
    #[error("{what}: {errno}")]
    System {
        /// The call that failed.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
}

/// What stands in the way of more memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Want {
    /// The kernel refuses.
    #[error("{0}; free memory or raise the limit (ulimit -v, memory cgroup)")]
    Kernel(Errno),
    /// The process may make no file of that size, and a segment is one to the kernel.
    #[error("the limit of file sizes is lower (RLIMIT_FSIZE): raise it (ulimit -f)")]
    FileSize,
    /// A memory cgroup that the process is in, or one that contains it, has less left than that.
    #[error(
        "{left_bytes} of {limit_bytes} bytes are left in the memory cgroup: free memory there or raise its limit ({group})"
    )]
    Group {
        /// The file that holds the limit.
        group: String,
        /// What it allows.
        limit_bytes: u64,
        /// What is left of that, and not needed for other things.
        left_bytes: u64,
    },
}

fn classify(what: &'static str, len_bytes: usize, errno: Errno) -> Error {
    match errno {
        Errno::NOMEM | Errno::NOSPC | Errno::DQUOT => Error::NoMemory {
            len_bytes,
            want: Want::Kernel(errno),
        },
        Errno::FBIG => Error::NoMemory {
            len_bytes,
            want: Want::FileSize,
        },
        Errno::MFILE | Errno::NFILE => Error::NoDescriptors(errno),
        _ => Error::System { what, errno },
    }
}

/// Who may write a segment besides the process that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// Whoever is given the descriptor.
    Anybody,
    /// Nobody: later mappings are read-only, whatever the receiver of the descriptor tries.
    OnlyMe,
}

/// Makes a segment with its memory reserved, so that a full machine is an error now and never a
/// `SIGBUS` later, and sealed so that nobody can shrink it under a reader ([SHM-1.2]).
pub fn create(name: &str, len_bytes: usize, writers: Writers) -> Result<(Fd, Mapping), Error> {
    room::check(len_bytes).map_err(|want| Error::NoMemory { len_bytes, want })?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = Fd::make(|| rustix::fs::memfd_create(name, flags))
        .map_err(|errno| classify("memfd_create", len_bytes, errno))?;
    let len = len_bytes as u64;
    within_file_size(|| rustix::fs::ftruncate(&fd, len))
        .map_err(|errno| classify("sizing a shared segment", len_bytes, errno))?;
    within_file_size(|| rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, len))
        .map_err(|errno| classify("reserving a shared segment", len_bytes, errno))?;
    let mapping = map(fd.as_fd(), len_bytes, true)?;
    seal(fd.as_fd(), SealFlags::SHRINK | SealFlags::GROW)?;
    if writers == Writers::OnlyMe {
        seal_read_only(fd.as_fd())?;
    }
    Ok((fd, mapping))
}

/// Beyond the limit of file sizes there is a signal besides the error ([SEM-9.1]).
fn within_file_size(call: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    without_signal(libc::SIGXFSZ, Errno::FBIG, call)
}

/// From now on nobody can map the segment writable; mappings that exist stay as they are.
pub fn seal_read_only(fd: BorrowedFd<'_>) -> Result<(), Error> {
    seal(fd, SealFlags::FUTURE_WRITE | SealFlags::SEAL)
}

/// From now on the seals are final: nobody who is given the descriptor can take the right to write from others.
pub fn seal_as_it_is(fd: BorrowedFd<'_>) -> Result<(), Error> {
    seal(fd, SealFlags::SEAL)
}

fn seal(fd: BorrowedFd<'_>, seals: SealFlags) -> Result<(), Error> {
    rustix::fs::fcntl_add_seals(fd, seals).map_err(|errno| Error::System {
        what: "sealing a shared segment",
        errno,
    })
}

/// Maps a segment that a peer sent, after making sure that touching it can never fault ([SHM-1.3]).
pub fn adopt(fd: BorrowedFd<'_>, len_bytes: usize, writable: bool) -> Result<Mapping, Error> {
    let seals = rustix::fs::fcntl_get_seals(fd).map_err(|_| Error::Unsafe("it has no seals"))?;
    // Huge pages can be sealed too, but they come from a pool that can be empty when one is touched.
    if rustix::fs::fstatfs(fd).map_or(true, |fs| fs.f_type != TMPFS_MAGIC) {
        return Err(Error::Unsafe("it is not made of ordinary pages"));
    }
    if !seals.contains(SealFlags::SHRINK) {
        return Err(Error::Unsafe("it could be shrunk"));
    }
    let stat = rustix::fs::fstat(fd).map_err(|errno| Error::System {
        what: "looking at a shared segment",
        errno,
    })?;
    if len_bytes == 0 || u64::try_from(stat.st_size).is_ok_and(|size| size < len_bytes as u64) {
        return Err(Error::Unsafe("it is shorter than announced"));
    }
    // The hole a peer punches, or never filled, would be allocated on touch; a segment whose pages
    // are all there cannot fault for want of memory.
    if (stat.st_blocks as u64).saturating_mul(512) < len_bytes as u64 {
        return Err(Error::Unsafe("its memory is not reserved"));
    }
    map(fd, len_bytes, writable)
}

fn map(fd: BorrowedFd<'_>, len_bytes: usize, writable: bool) -> Result<Mapping, Error> {
    Mapping::new(fd, 0, len_bytes, writable)
        .map_err(|errno| classify("mapping a shared segment", len_bytes, errno))
}

const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_reserved_and_cannot_be_shrunk() {
        let (fd, mapping) = create("bcl-test", 64 << 10, Writers::Anybody).unwrap();
        assert!(rustix::fs::fstat(&fd).unwrap().st_blocks as usize * 512 >= 64 << 10);
        assert_eq!(rustix::fs::ftruncate(&fd, 0), Err(Errno::PERM));
        assert_eq!(mapping.len_bytes(), 64 << 10);
    }

    #[test]
    fn only_the_maker_writes_a_read_only_segment() {
        let (fd, _mapping) = create("bcl-test", 4096, Writers::OnlyMe).unwrap();
        assert!(adopt(fd.as_fd(), 4096, true).is_err());
        assert!(adopt(fd.as_fd(), 4096, false).is_ok());
    }

    #[test]
    fn final_seals_cannot_be_added_to() {
        let (fd, _mapping) = create("bcl-test", 4096, Writers::Anybody).unwrap();
        seal_as_it_is(fd.as_fd()).unwrap();
        assert!(seal_read_only(fd.as_fd()).is_err());
        assert!(adopt(fd.as_fd(), 4096, true).is_ok());
    }

    #[test]
    fn descriptors_that_could_fault_are_refused() {
        let unsealed =
            rustix::fs::memfd_create("x", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&unsealed, 4096).unwrap();
        assert!(matches!(
            adopt(unsealed.as_fd(), 4096, false),
            Err(Error::Unsafe("it could be shrunk"))
        ));
        seal(unsealed.as_fd(), SealFlags::SHRINK).unwrap();
        assert!(matches!(
            adopt(unsealed.as_fd(), 4096, false),
            Err(Error::Unsafe("its memory is not reserved"))
        ));
        let (short, _mapping) = create("x", 4096, Writers::Anybody).unwrap();
        assert!(adopt(short.as_fd(), 8192, false).is_err());
    }

    #[test]
    fn huge_pages_are_refused() {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB;
        // A kernel without huge pages has nothing to refuse.
        let Ok(fd) = rustix::fs::memfd_create("x", flags) else {
            return;
        };
        rustix::fs::ftruncate(&fd, 2 << 20).unwrap();
        seal(fd.as_fd(), SealFlags::SHRINK).unwrap();
        assert!(matches!(
            adopt(fd.as_fd(), 4096, false),
            Err(Error::Unsafe("it is not made of ordinary pages"))
        ));
    }

    #[test]
    fn too_much_is_an_error_that_says_so() {
        let error = create("x", 1 << 50, Writers::Anybody).unwrap_err();
        assert!(
            matches!(error, Error::NoMemory { .. } | Error::System { .. }),
            "{error}"
        );
    }
}
