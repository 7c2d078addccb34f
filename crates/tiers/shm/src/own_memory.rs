//! Whether memory of the program's is there, asked of the kernel: a wrong pointer shall fail an operation, and not end
//! the process.
//!
//! `process_vm_readv` reads another process's pages by way of their page frames. Memory that has none to give (that of
//! `memfd_secret`, or of a device) cannot be read so, though its owner can. And the error is the same as for memory that
//! is not mapped, or a file that has become shorter. Copied between this process and itself, the *local* side is what
//! the processor can reach, which is the question.

use bcl_tier::Piece;
use bcl_tier::pieces::ranges;
use rustix::param::page_size;

/// Whether all of it can be read. Where the kernel does not answer, it is taken to be.
pub fn is_readable(memory: &[Piece]) -> bool {
    memory.iter().flat_map(pages).all(|byte| {
        let mut copy = 0u8;
        let [here, own] = [byte, &raw mut copy].map(iovec);
        // SAFETY: the kernel checks both ranges, and writes `copy` alone.
        is_there(unsafe { libc::process_vm_writev(libc::getpid(), &here, 1, &own, 1, 0) })
    })
}

/// Whether all of a range of it can be written. A byte of each page is.
pub fn is_writable(memory: &[Piece], offset: usize, len_bytes: usize) -> bool {
    let parts = ranges(memory, offset, len_bytes);
    parts.flat_map(|part| pages(&part)).all(|byte| {
        let mut zero = 0u8;
        let [here, own] = [byte, &raw mut zero].map(iovec);
        // SAFETY: the kernel checks both ranges; that at `byte` is the caller's to write.
        is_there(unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &own, 1, 0) })
    })
}

/// A byte of each page.
fn pages(&Piece { start, len_bytes }: &Piece) -> impl Iterator<Item = *mut u8> + use<> {
    let page = page_size();
    let to_next = page - start as usize % page;
    let later = (to_next..len_bytes).step_by(page);
    let first = (len_bytes > 0).then_some(0);
    first
        .into_iter()
        .chain(later)
        .map(move |at| start.wrapping_add(at))
}

fn iovec(byte: *mut u8) -> libc::iovec {
    libc::iovec {
        iov_base: byte.cast(),
        iov_len: 1,
    }
}

fn is_there(copied: isize) -> bool {
    copied == 1
        || (copied < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(len: usize, protection: i32, fd: i32) -> *mut u8 {
        let kind = match fd {
            -1 => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            _ => libc::MAP_SHARED,
        };
        // SAFETY: a new mapping where the kernel likes.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, kind, fd, 0) };
        assert_ne!(
            start,
            libc::MAP_FAILED,
            "{}",
            std::io::Error::last_os_error()
        );
        start.cast()
    }

    /// Readable, and writable, at each end of each page.
    fn what_is(start: *mut u8, len: usize) -> (bool, bool) {
        let memory = [Piece {
            start,
            len_bytes: len,
        }];
        (is_readable(&memory), is_writable(&memory, 0, len))
    }

    #[test]
    fn memory_is_there_or_not() {
        let page = page_size();
        let start = map(3 * page, libc::PROT_READ | libc::PROT_WRITE, -1);
        assert_eq!(what_is(start, 3 * page), (true, true));
        assert_eq!(what_is(start, 0), (true, true));
        // SAFETY: the last page of the mapping above.
        unsafe { libc::munmap(start.add(2 * page).cast(), page) };
        assert_eq!(what_is(start, 2 * page), (true, true));
        assert_eq!(what_is(start, 2 * page + 1), (false, false));
        assert_eq!(
            what_is(start.wrapping_add(page + 7), page - 7),
            (true, true)
        );
        assert_eq!(
            what_is(start.wrapping_add(page + 7), page - 6),
            (false, false)
        );
        assert_eq!(what_is(8 as *mut u8, 1), (false, false));
        let constant = map(page, libc::PROT_READ, -1);
        assert_eq!(what_is(constant, page), (true, false));
    }

    /// The descriptor stays open for as long as the test.
    fn file(fd: i64, len: usize) -> i32 {
        // SAFETY: the caller has made it.
        assert_eq!(unsafe { libc::ftruncate(fd as i32, len as i64) }, 0);
        fd as i32
    }

    #[test]
    fn a_file_that_has_become_shorter_is_not_there() {
        let page = page_size();
        // SAFETY: a plain system call.
        let fd = file(
            unsafe { libc::memfd_create(c"test".as_ptr(), 0) }.into(),
            2 * page,
        );
        let start = map(2 * page, libc::PROT_READ | libc::PROT_WRITE, fd);
        assert_eq!(what_is(start, 2 * page), (true, true));
        file(fd.into(), page);
        assert_eq!(what_is(start, 2 * page), (false, false));
        assert_eq!(what_is(start, page), (true, true));
    }

    /// What cannot be read from outside can be read from inside, if this kernel has such memory.
    #[test]
    fn secret_memory_is_there() {
        let page = page_size();
        // SAFETY: a plain system call.
        let fd = unsafe { libc::syscall(libc::SYS_memfd_secret, 0) };
        if fd < 0 {
            println!("no memfd_secret here: {}", std::io::Error::last_os_error());
            return;
        }
        let start = map(page, libc::PROT_READ | libc::PROT_WRITE, file(fd, page));
        assert_eq!(what_is(start, page), (true, true));
    }
}
