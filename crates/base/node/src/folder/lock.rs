//! One process at a time changes the folder.

use std::thread;
use std::time::{Duration, Instant};

use bcl_os::Fd;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::{Folder, FolderError};

/// The lock is held for microseconds; who has it for so long is stopped or hostile.
const PATIENCE: Duration = Duration::from_secs(10);

/// First and longest pause between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(5));

/// The lock on a folder, given back on drop or by the death of the process.
pub(super) struct Lock {
    dir: Fd,
}

impl Drop for Lock {
    /// Said, and not left to the descriptor's end: a child that came by `_Fork` or `clone` has it as well, and would keep
    /// all processes of the folder out for as long as it lives.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.dir, FlockOperation::Unlock);
    }
}

impl Folder {
    /// Waits for the lock, but not for ever.
    pub(super) fn lock(&self) -> Result<Lock, FolderError> {
        self.lock_within(PATIENCE)
    }

    fn lock_within(&self, patience: Duration) -> Result<Lock, FolderError> {
        let failed = |errno: Errno| FolderError::system("lock", &self.path, errno.into());
        // flock belongs to an open file, not to a thread: two threads that share `self.dir`
        // would both be let in, so each lock opens the directory anew.
        let dir = self.open_again().map_err(failed)?;
        let deadline = Instant::now() + patience;
        let (mut pause, longest_pause) = PAUSES;
        loop {
            match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { dir }),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    thread::sleep(pause);
                    pause = longest_pause.min(pause * 2);
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(FolderError::Locked {
                        folder: self.path.clone(),
                        waited: patience,
                    });
                }
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_exclusive_even_within_a_process() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::open(temporary.path()).unwrap();
        let held = folder.lock().unwrap();
        let refused = folder.lock_within(Duration::from_millis(1));
        assert!(matches!(refused, Err(FolderError::Locked { .. })));
        drop(held);
        assert!(folder.lock_within(Duration::ZERO).is_ok());
    }
}
