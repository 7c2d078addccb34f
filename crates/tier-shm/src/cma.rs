//! Single copy: the kernel copies between two processes (`process_vm_readv`, "cross memory attach").
//!
//! Whether it is permitted depends on users, Yama, seccomp and pid namespaces, so it is tried when a
//! connection is made. A refusal is reported and never fatal: the stream ring always works.

use std::sync::OnceLock;

use rustix::io::Errno;

/// Proof of identity: 16 random bytes at a known address of this process ([HSK] offer).
///
/// Whoever reads them there with the pid that the kernel names has the right process and the permission.
#[derive(Debug)]
pub struct Beacon([u8; 16]);

impl Beacon {
    /// The beacon of this process.
    pub fn mine() -> &'static Self {
        static MINE: OnceLock<Beacon> = OnceLock::new();
        MINE.get_or_init(|| {
            let mut bytes = [0; 16];
            // SAFETY: the kernel fills at most the 16 bytes it is given.
            let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
            debug_assert_eq!(got, 16);
            Self(bytes)
        })
    }

    /// Where it lies.
    pub fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    /// What lies there.
    pub fn bytes(&self) -> [u8; 16] {
        self.0
    }
}

/// A peer whose memory the kernel lets us read.
#[derive(Debug, Clone, Copy)]
pub struct PeerMemory {
    pid: libc::pid_t,
}

impl PeerMemory {
    /// Tries to read the peer's beacon; an error says why single copy is off.
    pub fn probe(pid: i32, beacon_address: u64, beacon: [u8; 16]) -> Result<Self, String> {
        if pid <= 0 {
            return Err("the peer's process is not visible from this pid namespace".into());
        }
        let peer = Self { pid };
        let mut seen = [0u8; 16];
        match peer.read(beacon_address, seen.as_mut_ptr(), seen.len()) {
            Ok(()) if seen == beacon => Ok(peer),
            Ok(()) => Err(format!("process {pid} is not the peer")),
            Err(Errno::PERM) => Err(format!(
                "process_vm_readv of process {pid} is not permitted (users differ, kernel.yama.ptrace_scope, or a container without SYS_PTRACE)"
            )),
            Err(errno) => Err(format!("process_vm_readv of process {pid}: {errno}")),
        }
    }

    /// Copies `len_bytes` from the peer's address space to `to`.
    ///
    /// The caller owns the memory at `to`.
    pub fn read(&self, from: u64, to: *mut u8, len_bytes: usize) -> Result<(), Errno> {
        let mut done = 0;
        while done < len_bytes {
            let local = libc::iovec {
                iov_base: to.wrapping_add(done).cast(),
                iov_len: len_bytes - done,
            };
            let remote = libc::iovec {
                iov_base: (from as usize).wrapping_add(done) as *mut libc::c_void,
                iov_len: len_bytes - done,
            };
            // SAFETY: the kernel checks both ranges; the local one belongs to the caller.
            let got = unsafe {
                libc::process_vm_readv(self.pid, &raw const local, 1, &raw const remote, 1, 0)
            };
            match usize::try_from(got) {
                Ok(0) => return Err(Errno::FAULT),
                Ok(got) => done += got,
                Err(_) => return Err(last_errno()),
            }
        }
        Ok(())
    }
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_may_read_itself() {
        let beacon = Beacon::mine();
        let me =
            PeerMemory::probe(std::process::id() as i32, beacon.address(), beacon.bytes()).unwrap();
        let source = vec![7u8; 100_000];
        let mut target = vec![0u8; 100_000];
        me.read(source.as_ptr() as u64, target.as_mut_ptr(), target.len())
            .unwrap();
        assert_eq!(source, target);
        assert!(me.read(8, target.as_mut_ptr(), 8).is_err());
    }

    #[test]
    fn the_wrong_process_is_found_out() {
        let beacon = Beacon::mine();
        assert!(PeerMemory::probe(std::process::id() as i32, beacon.address(), [1; 16]).is_err());
        assert!(PeerMemory::probe(0, beacon.address(), beacon.bytes()).is_err());
    }
}
