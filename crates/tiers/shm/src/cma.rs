//! Single copy: the kernel copies between two processes (`process_vm_readv`, "cross memory attach").
//!
//! Whether it is permitted depends on users, Yama, seccomp and pid namespaces, so it is tried when a
//! connection is made. A refusal is reported and never fatal: the stream ring always works.
//!
//! The kernel takes a process number, and reads whoever has that number now: the peer, the program that the peer has
//! become by exec, or a stranger. So each call reads the peer's beacon as well. All of a call is read from one address
//! space, and what came with the right beacon is the peer's ([SHM-4.11]).

mod detour;

use bcl_os::process::Beacon;
use bcl_tier::Piece;
use bcl_tier::pieces::ranges;
use rustix::io::Errno;

/// A peer whose memory the kernel lets us read.
#[derive(Debug, Clone, Copy)]
pub struct PeerMemory {
    pid: libc::pid_t,
    beacon: Beacon,
}

/// Why memory was not copied. What lies at the target may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// The peer is there, but has no such memory.
    NotMapped,
    /// Who has the process number is not the peer, or not any more.
    NotThePeer,
    /// The kernel does not let us, or cannot.
    Refused(Errno),
}

impl PeerMemory {
    /// Tries to read the peer's beacon; an error says why single copy is off.
    pub fn probe(pid: i32, beacon: Option<Beacon>) -> Result<Self, String> {
        if pid <= 0 {
            return Err("the peer's process is not visible from this pid namespace".into());
        }
        let Some(beacon) = beacon else {
            return Err("the peer's kernel does not let it show that it is itself".into());
        };
        let peer = Self { pid, beacon };
        match peer.look() {
            Ok(()) => Ok(peer),
            Err(ReadError::Refused(Errno::PERM)) => Err(format!(
                "process_vm_readv of process {pid} is not permitted (users differ, kernel.yama.ptrace_scope, or a container without SYS_PTRACE)"
            )),
            Err(ReadError::Refused(errno)) => {
                Err(format!("process_vm_readv of process {pid}: {errno}"))
            }
            Err(ReadError::NotThePeer | ReadError::NotMapped) => {
                Err(format!("process {pid} is not the peer"))
            }
        }
    }

    /// Copies a range of bytes that lie in some pieces of the peer's address space to the same range of bytes in pieces of
    /// ours. Both lists are as long as the range asks.
    ///
    /// The caller owns the memory in `to`.
    pub fn read(
        &self,
        from: &[Piece],
        to: &[Piece],
        offset: usize,
        len_bytes: usize,
    ) -> Result<(), ReadError> {
        match detour::is_quicker(from, to) {
            Some((from, to)) => self.read_by_detour(from, to, offset, len_bytes),
            None => self.read_directly(from, to, offset, len_bytes),
        }
    }

    fn read_directly(
        &self,
        from: &[Piece],
        to: &[Piece],
        offset: usize,
        len_bytes: usize,
    ) -> Result<(), ReadError> {
        let mut done = 0;
        loop {
            let (mut local, mut remote, mut seen) = (Parts::new(), Parts::new(), [0u8; 16]);
            let left = (offset + done, len_bytes - done);
            // As much as both lists have room for.
            let wanted = remote.fill(from, left.0, left.1);
            let wanted = local.fill(to, left.0, wanted);
            remote.fill(from, left.0, wanted);
            if wanted == 0 && left.1 > 0 {
                return Err(ReadError::NotMapped);
            }
            local.add(seen.as_mut_ptr(), seen.len());
            remote.add(self.beacon.address as usize as *mut u8, seen.len());
            let got = self.read_both(&local, &remote)?;
            if got >= wanted {
                if got != wanted + seen.len() || seen != self.beacon.bytes {
                    return Err(ReadError::NotThePeer);
                }
            } else if got == 0 {
                // Here is no memory: is it the peer's place where there is none?
                return Err(self.look().err().unwrap_or(ReadError::NotMapped));
            }
            done += got.min(wanted);
            if done == len_bytes {
                return Ok(());
            }
        }
    }

    /// Whether the process is the peer.
    fn look(&self) -> Result<(), ReadError> {
        self.read(&[], &[], 0, 0)
    }

    /// Copies what there is of some memory, and then of the beacon; 0 bytes if there is nothing at the very beginning.
    fn read_both(&self, local: &Parts, remote: &Parts) -> Result<usize, ReadError> {
        let (here, there) = (local.as_slice(), remote.as_slice());
        // SAFETY: the kernel checks all ranges; the local ones belong to the caller. A `Piece` is an `iovec`.
        let got = unsafe {
            libc::process_vm_readv(
                self.pid,
                here.as_ptr().cast(),
                here.len() as libc::c_ulong,
                there.as_ptr().cast(),
                there.len() as libc::c_ulong,
                0,
            )
        };
        match usize::try_from(got).map_err(|_| last_errno()) {
            Ok(got) => Ok(got),
            Err(Errno::FAULT) => Ok(0),
            // It has ended, or is about to.
            Err(Errno::SRCH) => Err(ReadError::NotThePeer),
            Err(errno) => Err(ReadError::Refused(errno)),
        }
    }
}

/// Pieces that one call copies to or from, and the beacon.
struct Parts {
    parts: [Piece; Self::MAX],
    count: usize,
}

impl Parts {
    /// The kernel takes 1,024, and few have more than one.
    const MAX: usize = 64;

    fn new() -> Self {
        Self {
            parts: [Piece::to_read(std::ptr::null(), 0); Self::MAX],
            count: 0,
        }
    }

    /// Those of a range, of which as much as there is room for beside the beacon; returns how much.
    fn fill(&mut self, pieces: &[Piece], offset: usize, len_bytes: usize) -> usize {
        self.count = 0;
        let mut filled = 0;
        for part in ranges(pieces, offset, len_bytes).take(Self::MAX - 1) {
            self.add(part.start, part.len_bytes);
            filled += part.len_bytes;
        }
        filled
    }

    fn add(&mut self, start: *mut u8, len_bytes: usize) {
        self.parts[self.count] = Piece { start, len_bytes };
        self.count += 1;
    }

    fn as_slice(&self) -> &[Piece] {
        &self.parts[..self.count]
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_os::process;

    fn me() -> PeerMemory {
        PeerMemory::probe(std::process::id() as i32, process::beacon()).unwrap()
    }

    fn read(peer: &PeerMemory, from: *const u8, len: usize) -> Result<Vec<u8>, ReadError> {
        let mut target = vec![0u8; len];
        let to = Piece {
            start: target.as_mut_ptr(),
            len_bytes: len,
        };
        peer.read(&[Piece::to_read(from, len)], &[to], 0, len)
            .map(|()| target)
    }

    #[test]
    fn this_process_may_read_itself() {
        let source = vec![7u8; 100_000];
        assert_eq!(read(&me(), source.as_ptr(), source.len()), Ok(source));
    }

    #[test]
    fn the_wrong_process_is_found_out() {
        let pid = std::process::id() as i32;
        let right = process::beacon().unwrap();
        let wrong = [
            (
                pid,
                Beacon {
                    bytes: [1; 16],
                    ..right
                },
            ),
            (
                pid,
                Beacon {
                    address: 8,
                    ..right
                },
            ),
            (0, right),
        ];
        for (pid, beacon) in wrong {
            assert!(PeerMemory::probe(pid, Some(beacon)).is_err());
        }
        assert!(PeerMemory::probe(pid, None).is_err());
    }

    /// As after an exec: the number is right, the beacon is another's, or nowhere.
    #[test]
    fn what_came_without_the_right_beacon_is_no_success() {
        let source = [7u8; 5000];
        for beacon in [
            Beacon {
                bytes: [1; 16],
                ..me().beacon
            },
            Beacon {
                address: 8,
                ..me().beacon
            },
        ] {
            let other = PeerMemory { beacon, ..me() };
            let got = read(&other, source.as_ptr(), source.len());
            assert_eq!(got, Err(ReadError::NotThePeer));
            assert_eq!(read(&other, 8 as *const u8, 10), Err(ReadError::NotThePeer));
        }
    }

    /// Memory that ends in the middle is the peer's mistake, as long as it is the peer.
    #[test]
    fn memory_that_is_not_there_is_told_from_a_process_that_is_not() {
        let page = rustix::param::page_size();
        // SAFETY: a new mapping, of which the second page is taken back at once.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(
                std::ptr::null_mut(),
                2 * page,
                libc::PROT_READ,
                flags,
                -1,
                0,
            );
            libc::munmap(start.cast::<u8>().add(page).cast(), page);
            start.cast::<u8>()
        };
        assert!(read(&me(), start, page).is_ok());
        assert_eq!(read(&me(), start, 2 * page), Err(ReadError::NotMapped));
        assert_eq!(read(&me(), 8 as *const u8, 8), Err(ReadError::NotMapped));
        let dead = {
            let mut child = std::process::Command::new("true").spawn().unwrap();
            child.wait().unwrap();
            PeerMemory {
                pid: child.id() as i32,
                ..me()
            }
        };
        assert_eq!(read(&dead, start, page), Err(ReadError::NotThePeer));
    }

    /// A child has its parent's memory, but not its beacon.
    #[test]
    fn a_child_is_not_its_parent() {
        let source = [9u8; 64];
        // SAFETY: the child only sleeps, and is killed.
        let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child == 0 {
            loop {
                // SAFETY: a plain system call.
                unsafe { libc::pause() };
            }
        }
        let peer = PeerMemory {
            pid: child as i32,
            ..me()
        };
        let got = read(&peer, source.as_ptr(), source.len());
        // SAFETY: the child is ours.
        unsafe {
            libc::kill(child as i32, libc::SIGKILL);
            libc::waitpid(child as i32, std::ptr::null_mut(), 0);
        }
        assert_eq!(got, Err(ReadError::NotThePeer));
    }
}
