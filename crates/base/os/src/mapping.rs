//! Memory of a descriptor in this process's addresses.

use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// A mapping that is shared with whoever else has the descriptor; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: an address range of the whole process; who may touch which byte is decided by the structures built on it, not
// by the thread that made it.
unsafe impl Send for Mapping {}
// SAFETY: as above; `Mapping` itself only hands out addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len_bytes` from `offset` on, both multiples of the page size.
    ///
    /// # Errors
    /// What the kernel says: `EPERM` for a writable mapping of what may only be read, `ENOMEM` at a limit.
    pub fn new(
        fd: BorrowedFd<'_>,
        offset: usize,
        len_bytes: usize,
        is_writable: bool,
    ) -> Result<Self, Errno> {
        let prot = match is_writable {
            true => ProtFlags::READ | ProtFlags::WRITE,
            false => ProtFlags::READ,
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len_bytes,
                prot,
                MapFlags::SHARED,
                fd,
                offset as u64,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(Errno::FAULT)?;
        Ok(Self { start, len_bytes })
    }

    /// Puts the memory of another descriptor at the same addresses. Who reads there meanwhile finds the one or the other.
    ///
    /// # Errors
    /// What the kernel says; then nothing may be mapped there any more, and the earlier memory has to be put back.
    pub fn replace(&self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        // SAFETY: the addresses are this mapping's own, and stay mapped for as long.
        unsafe {
            rustix::mm::mmap(
                self.start.as_ptr().cast::<c_void>(),
                self.len_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::FIXED,
                fd,
                0,
            )
        }
        .map(drop)
    }

    /// First byte, aligned to a page.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes.
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing built on it outlives its owner.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast::<c_void>(), self.len_bytes) };
    }
}
